"""What the API's reference says of routes (contract 8), as `checkout.api.route_objects` makes them."""

from typing import Any

from rest_framework import serializers

from chains.serializers import AmountSerializer, TokenSerializer
from checkout.api.reference import CHAIN, CheckoutChainSerializer, dollars, number, text
from checkout.api.route_warnings import MAY_NEED_ACCEPTANCE
from config.api.schema.operations import described
from config.api.serializers import TimestampField
from payments.api import examples
from payments.models.route import PaymentType
from payments.providers.base import NoOfferCode

ROUTE_ID = "rt_3kYtq8WmZc5DvXn7RbLp2HsG"
EXPIRES = "2026-11-21T10:20:12.402881Z"
_REQUEST = examples.PAYMENT_REQUEST
_DAI = "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1"
_ROUTER = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
_SOURCE_CHAIN = {**CHAIN, "id": 42161, "name": "Arbitrum One", "explorer_url": "https://arbiscan.io"}
_FEE: dict[str, Any] = {
    "name": "Relayer fee",
    "token": {
        "symbol": "DAI",
        "decimals": 18,
        "contract_address": _DAI,
        "chain_id": 42161,
    },
    "amount": {"raw": "15000000000000000", "formatted": "0.015000000000000000", "decimals": 18},
    "usd": "0.02",
    "included": True,
}
_STEP = {
    "type": "bridge",
    "chain_id": 42161,
    "tool": "Across",
    "contract_address": _ROUTER,
    "spender": None,
    "recipient_address": None,
}
SIDE: dict[str, Any] = {
    "chain_id": 42161,
    "chain": _SOURCE_CHAIN,
    "token": {
        "id": 31,
        "symbol": "DAI",
        "name": "Dai Stablecoin",
        "decimals": 18,
        "contract_address": _DAI,
        "chain_id": 42161,
    },
    "amount": {"raw": "12560000000000000000", "formatted": "12.560000000000000000", "decimals": 18},
    "usd": "12.56",
}
_ARRIVING = {
    "chain_id": 8453,
    "chain": CHAIN,
    "token": {**_REQUEST["token"], "chain_id": 8453},
    "amount": {"raw": "12510000", "formatted": "12.510000", "decimals": 6},
    "usd": "12.51",
    "amount_min": _REQUEST["amount"],
}
_WARNING: dict[str, Any] = {
    "code": MAY_NEED_ACCEPTANCE,
    "message": (
        "This wallet is a contract account whose payments can't be verified automatically on Base. The merchant may "
        "have to accept this one first. To have it credited at once, pay from another wallet."
    ),
}
_ROUTE: dict[str, Any] = {
    "id": ROUTE_ID,
    "type": "swap",
    "from": SIDE,
    "to": _ARRIVING,
    "fees": [_FEE],
    "gas": {
        "token": {"symbol": "ETH"},
        "amount": {"raw": "21000000000000", "formatted": "0.000021000000000000", "decimals": 18},
        "usd": "0.05",
    },
    "duration_seconds": 12,
    "steps": [
        {**_STEP, "type": "approve", "tool": None, "contract_address": None, "spender": _ROUTER},
        _STEP,
        {
            **_STEP,
            "type": "transfer",
            "chain_id": 8453,
            "tool": None,
            "contract_address": None,
            "recipient_address": _REQUEST["recipient_address"],
        },
    ],
    "provider": "lifi",
    "tags": ["recommended", "cheapest", "fastest"],
    "warnings": [],
    "expires_at": EXPIRES,
}


@described("RouteToken", "A token, and the chain that it is on.", SIDE["token"])
class RouteTokenSerializer(TokenSerializer):
    """A token of a route, or of a wallet."""

    id = number(
        "Used as `token_id`; null for a token that only a routing provider lists, which is named by its address.",
        allow_null=True,
    )
    chain_id = number("The token's chain.")

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "chain_id")
        read_only_fields = fields


class _SideSerializer(serializers.Serializer[Any]):
    chain_id = number("The chain.")
    chain = CheckoutChainSerializer(read_only=True, help_text="The same chain in full.")
    token = RouteTokenSerializer(read_only=True, help_text="The token.")
    amount = AmountSerializer(read_only=True, help_text="How much of it; of what arrives, what is expected.")
    usd = dollars("What that is worth, as the provider says.")


@described("RouteFrom", "What leaves the customer's wallet.", SIDE)
class RouteFromSerializer(_SideSerializer):
    """`from` of a route."""


@described("RouteTo", "What arrives in the merchant's wallet.", _ROUTE["to"])
class RouteToSerializer(_SideSerializer):
    """`to` of a route."""

    amount_min = AmountSerializer(
        read_only=True, help_text="How much arrives at the least: never less than is due."
    )


@described("RouteFeeToken", "The token that a fee is taken in.", _FEE["token"])
class RouteFeeTokenSerializer(serializers.Serializer[Any]):
    """`token` of one of a route's fees."""

    symbol = text("Its symbol.")
    decimals = number("How many fraction digits it has.", min_value=0)
    contract_address = text("Its contract or mint; empty for the chain's own coin.")
    chain_id = number("Its chain.")


@described("RouteFee", "What somebody takes on the way.", _FEE)
class RouteFeeSerializer(serializers.Serializer[Any]):
    """One of a route's fees."""

    name = text("What it is for, in the provider's words.")
    token = RouteFeeTokenSerializer(read_only=True, help_text="The token that it is taken in.")
    amount = AmountSerializer(read_only=True, help_text="How much.")
    usd = dollars("What that is worth.")
    included = serializers.BooleanField(
        read_only=True, help_text="Whether it is part of `from.amount`; false means paid on top."
    )


@described("RouteGasToken", "The coin that the network's fee is paid in.", _ROUTE["gas"]["token"])
class RouteGasTokenSerializer(serializers.Serializer[Any]):
    """`gas.token` of a route."""

    symbol = text("Its symbol.")


@described("RouteGas", "The network's fee.", _ROUTE["gas"])
class RouteGasSerializer(serializers.Serializer[Any]):
    """`gas` of a route."""

    token = RouteGasTokenSerializer(read_only=True, help_text="The coin that it is paid in.")
    amount = AmountSerializer(
        read_only=True, allow_null=True, help_text="How much; null where the wallet will say so better."
    )
    usd = dollars("What that is worth.")


@described("RouteStep", "One thing that happens on the way.", _STEP)
class RouteStepSerializer(serializers.Serializer[Any]):
    """One of a route's steps."""

    type = text(
        "`approve`: the wallet allows the router to take the token, unless it has before. `swap`, `bridge`: the wallet "
        "sends the transaction, and the tool takes it from there. `transfer`: the money reaches the merchant."
    )
    chain_id = number("Where it happens.")
    tool = text("The exchange or the bridge; null where there is none.", allow_null=True)
    contract_address = text(
        "The contract that the wallet's transaction calls; null where it calls none, or several.",
        allow_null=True,
    )
    spender = text("Who is to be allowed to take the token, for `approve` alone.", allow_null=True)
    recipient_address = text("Who gets the money, for `transfer` alone.", allow_null=True)


@described("RouteWarning", "What the customer should know before paying by this route.", _WARNING)
class RouteWarningSerializer(serializers.Serializer[Any]):
    """One of a route's warnings."""

    code = serializers.ChoiceField(
        [MAY_NEED_ACCEPTANCE],
        read_only=True,
        help_text=(
            "`may_need_acceptance`: the wallet is a contract account whose payments the chain's nodes can't verify, so "
            "that the merchant may have to accept this one. More codes may come."
        ),
    )
    message = text("The same for people.")


@described("Route", "One way to pay exactly what remains.", _ROUTE)
class RouteSerializer(serializers.Serializer[Any]):
    """The answer of `route_object`."""

    id = text("`rt_` and 24 characters. Knowing it is what lets its transaction be built.")
    type = serializers.ChoiceField(PaymentType.choices, read_only=True, help_text="How the money travels.")
    to = RouteToSerializer(read_only=True, help_text="What arrives in the merchant's wallet.")
    fees = RouteFeeSerializer(
        many=True, read_only=True, help_text="What others take on the way; empty for a direct one."
    )
    gas = RouteGasSerializer(read_only=True, help_text="The network's fee.")
    duration_seconds = number(
        "How long it takes until the payment is confirmed; null where the chain's finality decides.",
        allow_null=True,
        min_value=0,
    )
    steps = RouteStepSerializer(many=True, read_only=True, help_text="What happens, in order.")
    provider = text("The routing provider; null for a direct one.", allow_null=True)
    tags = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="Among `recommended`, `cheapest`, `fastest`."
    )
    warnings = RouteWarningSerializer(
        many=True, read_only=True, help_text="What to know before paying; mostly empty."
    )
    expires_at = TimestampField(help_text="Until when its transaction can be built.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `from`, which Python keeps for itself."""
        leaving = RouteFromSerializer(read_only=True, help_text="What leaves the customer's wallet.")
        return {**super().get_fields(), "from": leaving}


@described(
    "NoRouteReason",
    "Why there is no way to pay with this token.",
    {
        "code": "amount_too_low",
        "message": (
            "This amount is too small to be paid with this token. Choose another token, or pay in USDC on Base."
        ),
    },
)
class NoRouteReasonSerializer(serializers.Serializer[Any]):
    """`reason` where there is no route."""

    code = serializers.ChoiceField(
        [code.value for code in NoOfferCode], read_only=True, help_text="For programs."
    )
    message = text("For people: why, and what to do instead.")


@described("Routes", "The ways to pay, best first; or none, and why.", {"routes": [_ROUTE]})
class RoutesAnswerSerializer(serializers.Serializer[Any]):
    """The answer of POST …/routes."""

    routes = RouteSerializer(many=True, read_only=True, help_text="The ways to pay. May be empty.")
    reason = NoRouteReasonSerializer(required=False, help_text="Only there if `routes` is empty: why.")
