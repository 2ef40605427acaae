"""How chains, tokens and amounts look from outside (spec 2.1, 2.2, 2.3)."""

from typing import Any

from rest_framework import serializers

from chains.models import Chain, Token
from config.api.errors import ErrorCode
from config.api.schema.operations import described
from config.api.serializers import TextField


class AddressField(TextField):
    """A wallet's or a token's address, as text still: it is judged once its chain is known."""

    default_error_messages = {"blank": "This should be an address; got an empty string."}

    def __init__(self, **options: Any) -> None:
        super().__init__(code=ErrorCode.ADDRESS_INVALID, max_length=100, **options)


@described(
    "Chain",
    "A network on which payments can be asked for.",
    {"id": 8453, "name": "Base", "chain_type": "evm", "is_active": True},
)
class ChainSerializer(serializers.ModelSerializer[Chain]):
    """A chain of the public catalogue."""

    class Meta:
        model = Chain
        fields: tuple[str, ...] = ("id", "name", "chain_type", "is_active")
        read_only_fields = fields
        extra_kwargs = {
            "id": {"help_text": "Used as `chain_id`. On EVM it is the EVM chain id. Needs 64 bits."},
            "name": {"help_text": "For people."},
            "chain_type": {"help_text": "Its family: how addresses and transactions look."},
            "is_active": {"help_text": "Always true here: inactive chains are not listed."},
        }


@described(
    "Token",
    "A token on one chain, or the chain's own coin.",
    {
        "id": 2,
        "symbol": "USDC",
        "name": "USD Coin",
        "decimals": 6,
        "contract_address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    },
)
class TokenSerializer(serializers.ModelSerializer[Token]):
    """A token of the public catalogue; `contract_address` is empty for a chain's native coin."""

    class Meta:
        model = Token
        fields: tuple[str, ...] = ("id", "symbol", "name", "decimals", "contract_address")
        read_only_fields = fields
        extra_kwargs = {
            "id": {"help_text": "Used as `token_id`. Differs between deployments."},
            "symbol": {
                "help_text": "For people, and no proof of anything: look-alike tokens bear the same symbols."
            },
            "name": {"help_text": "For people."},
            "decimals": {"help_text": "How many fraction digits an amount of it has."},
            "contract_address": {
                "help_text": "Its contract on EVM, its mint on Solana; empty for the chain's own coin."
            },
        }


@described("Amount", "An amount of one token.", {"raw": "12500000", "formatted": "12.500000", "decimals": 6})
class AmountSerializer(serializers.Serializer[Any]):
    """The amount object of spec 2.3, as `chains.amounts.amount_object` makes it."""

    raw = serializers.RegexField(
        r"^[0-9]+$",
        read_only=True,
        help_text="In the token's smallest unit, as a string: it may need 256 bits.",
    )
    formatted = serializers.RegexField(
        r"^[0-9]+(\.[0-9]+)?$",
        read_only=True,
        help_text="In human units, with exactly `decimals` fraction digits. Nothing is rounded.",
    )
    decimals = serializers.IntegerField(
        read_only=True, min_value=0, help_text="How many fraction digits the token has."
    )
