"""What the API's reference says of a wallet's balances (contract 8), as `checkout.api.wallet_views` tells them."""

from typing import Any

from rest_framework import serializers

from chains.serializers import AmountSerializer
from checkout.api.reference import CheckoutChainSerializer, dollars, number, text
from checkout.api.route_reference import SIDE, RouteTokenSerializer
from config.api.errors import ErrorCode
from config.api.schema.operations import described

_BALANCE: dict[str, Any] = {
    "chain_id": SIDE["chain_id"],
    "chain": SIDE["chain"],
    "token": SIDE["token"],
    "balance": SIDE["amount"],
    "usd": SIDE["usd"],
}
_ESSENTIAL = {**_BALANCE, "sufficient": True, "is_requested": False}
_HELD = {**_BALANCE, "price_usd": "1.0001", "logo_url": None}
_UNAVAILABLE = {"chain_id": 137, "code": "node_unavailable"}


@described("UnavailableChain", "A chain that told nothing; the others' answers stand.", _UNAVAILABLE)
class UnavailableSerializer(serializers.Serializer[Any]):
    """One of `unavailable`."""

    chain_id = number("The chain.")
    code = serializers.ChoiceField(
        [ErrorCode.NODE_UNAVAILABLE.value], read_only=True, help_text="Why; asking again later may help."
    )


class _BalanceSerializer(serializers.Serializer[Any]):
    chain_id = number("The token's chain.")
    chain = CheckoutChainSerializer(read_only=True, help_text="The same chain in full.")
    token = RouteTokenSerializer(read_only=True, help_text="The token.")
    balance = AmountSerializer(read_only=True, help_text="How much of it the wallet has.")
    usd = dollars("What that is worth.")


@described("EssentialBalance", "What a wallet has of one token that it could pay with.", _ESSENTIAL)
class EssentialBalanceSerializer(_BalanceSerializer):
    """One of `balances`."""

    sufficient = serializers.BooleanField(
        read_only=True,
        help_text=(
            "Whether it would pay what remains. Of other tokens than the requested one by their prices, and where "
            "those are not known whether there is any: `routes` says for sure."
        ),
    )
    is_requested = serializers.BooleanField(
        read_only=True, help_text="Whether it is the requested token itself."
    )


@described(
    "EssentialBalances",
    "The requested token first, then by value.",
    {"balances": [_ESSENTIAL], "unavailable": [_UNAVAILABLE]},
)
class EssentialBalancesSerializer(serializers.Serializer[Any]):
    """The answer of POST …/balances/essential."""

    balances = EssentialBalanceSerializer(
        many=True, read_only=True, help_text="The balances, those of nothing included."
    )
    unavailable = UnavailableSerializer(
        many=True, read_only=True, help_text="The chains that told nothing in time."
    )


@described("HeldToken", "A token that a wallet has some of.", _HELD)
class HeldTokenSerializer(_BalanceSerializer):
    """One of `tokens`."""

    price_usd = text(
        "What one of it costs in US dollars, as text; null where no price is known.", allow_null=True
    )
    logo_url = text(
        "Its logo, served from our own address; null where there is none. It answers 404 until it has been fetched.",
        allow_null=True,
    )


@described(
    "WalletTokens",
    "All that is known of what a wallet has.",
    {"tokens": [_HELD], "unavailable": [_UNAVAILABLE]},
)
class WalletTokensSerializer(serializers.Serializer[Any]):
    """The answer of POST /api/public/discover-wallet-tokens."""

    tokens = HeldTokenSerializer(many=True, read_only=True, help_text="The tokens, the most valuable first.")
    unavailable = UnavailableSerializer(
        many=True, read_only=True, help_text="The chains that told nothing in time."
    )
