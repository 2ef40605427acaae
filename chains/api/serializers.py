"""Serializer fields for values that depend on the chain, such as addresses."""

from typing import Any

from config.api.errors import ErrorCode
from config.api.serializers import TextField


class AddressField(TextField):
    """An address of a wallet or token, as text. The caller validates it once the chain is known."""

    default_error_messages = {"blank": "This should be an address; got an empty string."}

    def __init__(self, **options: Any) -> None:
        super().__init__(code=ErrorCode.ADDRESS_INVALID, max_length=100, **options)
