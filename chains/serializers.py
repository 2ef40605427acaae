"""How chains, tokens and amounts look from outside (spec 2.1, 2.2, 2.3)."""

from typing import Any

from rest_framework import serializers

from chains.models import Chain, Token
from config.api.errors import ErrorCode
from config.api.serializers import TextField


class AddressField(TextField):
    """A wallet's or a token's address, as text still: it is judged once its chain is known."""

    default_error_messages = {"blank": "This should be an address; got an empty string."}

    def __init__(self, **options: Any) -> None:
        super().__init__(code=ErrorCode.ADDRESS_INVALID, max_length=100, **options)


class ChainSerializer(serializers.ModelSerializer[Chain]):
    """A chain of the public catalogue."""

    class Meta:
        model = Chain
        fields = ("id", "name", "chain_type", "is_active")


class TokenSerializer(serializers.ModelSerializer[Token]):
    """A token of the public catalogue; `contract_address` is empty for a chain's native coin."""

    class Meta:
        model = Token
        fields = ("id", "symbol", "name", "decimals", "contract_address")
