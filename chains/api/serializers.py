"""Fields of request bodies with values of a chain."""

from typing import Any

from config.api.errors import ErrorCode
from config.api.serializers import TextField


class AddressField(TextField):
    """A wallet's or token's address as text; validated once its chain is known."""

    default_error_messages = {"blank": "This should be an address; got an empty string."}

    def __init__(self, **options: Any) -> None:
        super().__init__(code=ErrorCode.ADDRESS_INVALID, max_length=100, **options)
