"""What the API's reference says of the checkout's answers (contract 8), as `checkout.representations` makes them."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from chains.models import ChainType
from chains.serializers import AmountSerializer, ChainSerializer, TokenSerializer
from config.api.schema import described
from config.api.serializers import TimestampField
from payments import examples
from payments.models import PaymentRequest
from payments.models.route import PaymentType
from payments.representations import PaymentSerializer

_REQUEST = examples.PAYMENT_REQUEST
_EXPIRES = "2026-11-21T10:20:12.402881Z"
_CHAIN: dict[str, Any] = {
    "id": 8453,
    "name": "Base",
    "chain_type": "evm",
    "network": "",
    "native_symbol": "ETH",
    "explorer_url": "https://basescan.org",
}
_MERCHANT: dict[str, Any] = {
    "name": "Harbour Coffee",
    "logo_url": "https://shop.example.com/logo.svg",
    "accent_colour": "#1f2a44",
    "background_colour": None,
    "support_url": None,
    "support_email": "help@shop.example.com",
    "default_language": "en",
}
_PAYMENT = {name: value for name, value in examples.PAYMENT.items() if name != "from_address"}
_MERCHANTS_OWN = {"external_id", "metadata", "webhook_url", "references", "cancelled_at", "expired_at"}
_SHOWN = {name: value for name, value in _REQUEST.items() if name not in _MERCHANTS_OWN}
_CHECKOUT: dict[str, Any] = {
    **_SHOWN,
    "object": "checkout",
    "chain": _CHAIN,
    "cancel_url": f"https://shop.example.com/basket?payment_request_id={_REQUEST['id']}&status=completed",
    "redirect_url": f"https://shop.example.com/orders/1001?payment_request_id={_REQUEST['id']}&status=completed",
    "merchant": _MERCHANT,
    "payments": [_PAYMENT],
    "is_final": True,
    "poll_in_ms": 60000,
    "server_time": "2026-11-21T10:07:00.000000Z",
}
_SIDE = {
    "chain_id": 8453,
    "chain": _CHAIN,
    "token": {**_REQUEST["token"], "chain_id": 8453},
    "amount": _REQUEST["amount"],
}
_ROUTE: dict[str, Any] = {
    "id": "rt_3kYtq8WmZc5DvXn7RbLp2HsG",
    "type": "direct",
    "from": _SIDE,
    "to": {**_SIDE, "amount_min": _REQUEST["amount"]},
    "fees": [],
    "gas": {"token": {"symbol": "ETH"}, "amount": None},
    "duration_seconds": 12,
    "steps": [{"type": "transfer", "chain_id": 8453, "recipient_address": _REQUEST["recipient_address"]}],
    "provider": None,
    "tags": ["recommended", "cheapest", "fastest"],
    "expires_at": _EXPIRES,
}
_QUANTITY = r"^0x(0|[1-9a-f][0-9a-f]*)$"


def _text(help_text: str, **options: Any) -> serializers.CharField:
    return serializers.CharField(read_only=True, help_text=help_text, **options)


def _number(help_text: str, **options: Any) -> serializers.IntegerField:
    return serializers.IntegerField(read_only=True, help_text=help_text, **options)


@described("CheckoutChain", "The chain, with what a wallet needs to know.", _CHAIN)
class CheckoutChainSerializer(ChainSerializer):
    """The answer of `chain_object`."""

    explorer_url = _text("Its block explorer; null if none is known.", allow_null=True)

    class Meta(ChainSerializer.Meta):
        fields = ("id", "name", "chain_type", "network", "native_symbol", "explorer_url")
        read_only_fields = fields
        extra_kwargs = {
            **ChainSerializer.Meta.extra_kwargs,
            "network": {"help_text": "Which Solana network, where it is not the main one; else empty."},
            "native_symbol": {"help_text": "The symbol of the coin that the network's fee is paid in."},
        }


@described("CheckoutMerchant", "Who asks for the money, and how the page is to look.", _MERCHANT)
class MerchantThemeSerializer(serializers.Serializer[Any]):
    """The answer of `merchant_object`."""

    name = _text("The merchant's name, for customers.")
    logo_url = _text("The logo; null for none.", allow_null=True)
    accent_colour = _text(
        "The colour of the buttons, such as `#1f2a44`; null for the page's own.", allow_null=True
    )
    background_colour = _text("The colour behind the page; null for the page's own.", allow_null=True)
    support_url = _text("Where the customer finds help; null if not told.", allow_null=True)
    support_email = _text("Whom the customer may write to; null if not told.", allow_null=True)
    default_language = _text("The language of the page where the browser asks for none that there is.")


@described("CheckoutPayment", "A payment without its sender, which only the merchant may know.", _PAYMENT)
class CheckoutPaymentSerializer(PaymentSerializer):
    """The answer of `public_payment`."""

    from_address = None  # type: ignore[assignment]

    class Meta(PaymentSerializer.Meta):
        fields = tuple(name for name in PaymentSerializer.Meta.fields if name != "from_address")
        read_only_fields = fields


@described("Checkout", "A payment request as its customer may see it.", _CHECKOUT)
class CheckoutSerializer(serializers.Serializer[Any]):
    """The answer of `checkout_object`."""

    object = serializers.ReadOnlyField(default="checkout", help_text="Always `checkout`.")
    id = serializers.UUIDField(read_only=True, help_text="The payment request's `id`.")
    shortcode = _text("The payment request's `shortcode`.")
    status = serializers.ChoiceField(
        PaymentRequest.Status.choices, read_only=True, help_text="How the payment request stands."
    )
    amount = AmountSerializer(read_only=True, help_text="What is asked for.")
    amount_paid = AmountSerializer(read_only=True, help_text="What has come, and was verified.")
    amount_remaining = AmountSerializer(read_only=True, help_text="What is still to be paid.")
    amount_overpaid = AmountSerializer(read_only=True, help_text="What came beyond the amount asked for.")
    token = TokenSerializer(read_only=True, help_text="The token that is to arrive.")
    chain_id = _number("The chain on which it is to arrive.")
    chain = CheckoutChainSerializer(read_only=True, help_text="The same chain in full.")
    recipient_address = _text("The merchant's wallet.")
    description = _text("What it is for; null if not told.", allow_null=True)
    created_at = TimestampField(help_text="When it was created.")
    expires_at = TimestampField(help_text="Until when it can be paid.")
    completed_at = TimestampField(allow_null=True, help_text="When it was paid in full; null until then.")
    paid_late = serializers.BooleanField(
        read_only=True, help_text="Whether the completing transfer's block is later than `expires_at`."
    )
    payment_url = _text("The checkout page.")
    cancel_url = _text("Where a customer who gives up goes; null for nowhere.", allow_null=True)
    redirect_url = _text("Where the customer goes once it is completed; null before that.", allow_null=True)
    merchant = MerchantThemeSerializer(read_only=True, help_text="Who asks for the money.")
    payments = CheckoutPaymentSerializer(
        many=True, read_only=True, help_text="The newest 20 payments, newest first."
    )
    is_final = serializers.BooleanField(
        read_only=True, help_text="Whether nothing more is expected to change."
    )
    poll_in_ms = _number("In how many milliseconds it is worth asking again.", min_value=0)
    server_time = TimestampField(help_text="The service's clock, to count down by. Not part of the ETag.")


@described("RouteToken", "A token, and the chain that it is on.", _SIDE["token"])
class RouteTokenSerializer(TokenSerializer):
    """A token of a route."""

    chain_id = _number("The token's chain.")

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "chain_id")
        read_only_fields = fields


class _SideSerializer(serializers.Serializer[Any]):
    chain_id = _number("The chain.")
    chain = CheckoutChainSerializer(read_only=True, help_text="The same chain in full.")
    token = RouteTokenSerializer(read_only=True, help_text="The token.")
    amount = AmountSerializer(read_only=True, help_text="How much of it.")


@described("RouteFrom", "What leaves the customer's wallet.", _SIDE)
class RouteFromSerializer(_SideSerializer):
    """`from` of a route."""


@described("RouteTo", "What arrives in the merchant's wallet.", _ROUTE["to"])
class RouteToSerializer(_SideSerializer):
    """`to` of a route."""

    amount_min = AmountSerializer(
        read_only=True, help_text="How much arrives at the least: never less than is due."
    )


@described("RouteGasToken", "The coin that the network's fee is paid in.", _ROUTE["gas"]["token"])
class RouteGasTokenSerializer(serializers.Serializer[Any]):
    """`gas.token` of a route."""

    symbol = _text("Its symbol.")


@described("RouteGas", "The network's fee.", _ROUTE["gas"])
class RouteGasSerializer(serializers.Serializer[Any]):
    """`gas` of a route."""

    token = RouteGasTokenSerializer(read_only=True, help_text="The coin that it is paid in.")
    amount = AmountSerializer(
        read_only=True, allow_null=True, help_text="How much; null where the wallet will say so better."
    )


@described("RouteStep", "One thing that happens on the way.", _ROUTE["steps"][0])
class RouteStepSerializer(serializers.Serializer[Any]):
    """One of a route's steps."""

    type = _text("`transfer`: the wallet sends straight to the merchant.")
    chain_id = _number("Where it happens.")
    recipient_address = _text("Who gets the money.")


@described("Route", "One way to pay exactly what remains.", _ROUTE)
class RouteSerializer(serializers.Serializer[Any]):
    """The answer of `route_object`."""

    id = _text("`rt_` and 24 characters. Knowing it is what lets its transaction be built.")
    type = serializers.ChoiceField(PaymentType.choices, read_only=True, help_text="How the money travels.")
    to = RouteToSerializer(read_only=True, help_text="What arrives in the merchant's wallet.")
    fees = serializers.ListField(
        child=serializers.DictField(),
        read_only=True,
        help_text="What others take on the way; empty for a direct one.",
    )
    gas = RouteGasSerializer(read_only=True, help_text="The network's fee.")
    duration_seconds = _number(
        "How long it takes until the payment is confirmed; null where the chain's finality decides.",
        allow_null=True,
        min_value=0,
    )
    steps = RouteStepSerializer(many=True, read_only=True, help_text="What happens, in order.")
    provider = _text("The routing provider; null for a direct one.", allow_null=True)
    tags = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="Among `recommended`, `cheapest`, `fastest`."
    )
    expires_at = TimestampField(help_text="Until when its transaction can be built.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `from`, which Python keeps for itself."""
        leaving = RouteFromSerializer(read_only=True, help_text="What leaves the customer's wallet.")
        return {**super().get_fields(), "from": leaving}


@described(
    "NoRouteReason",
    "Why there is no way to pay with this token.",
    {"code": "no_route", "message": "No way leads there."},
)
class NoRouteReasonSerializer(serializers.Serializer[Any]):
    """`reason` where there is no route."""

    code = _text("For programs.")
    message = _text("For people.")


@described("Routes", "The ways to pay, best first; or none, and why.", {"routes": [_ROUTE]})
class RoutesAnswerSerializer(serializers.Serializer[Any]):
    """The answer of POST …/routes."""

    routes = RouteSerializer(many=True, read_only=True, help_text="The ways to pay. May be empty.")
    reason = NoRouteReasonSerializer(required=False, help_text="Only there if `routes` is empty: why.")


_TRANSACTION: dict[str, Any] = {
    "chainId": "0x2105",
    "from": "0x8ba1f109551bD432803012645Ac136ddd64DBA72",
    "to": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "data": "0xa9059cbb",
    "value": "0x0",
    "gas": "0x11170",
    "maxFeePerGas": "0x59682f00",
    "maxPriorityFeePerGas": "0xf4240",
}


def _quantity(text: str) -> dict[str, Any]:
    return {"type": "string", "pattern": _QUANTITY, "description": text}


_EVM_TRANSACTION = {
    "type": "object",
    "description": "On EVM: ready for `eth_sendTransaction`, numbers as hex quantities.",
    "properties": {
        "chainId": _quantity("The chain."),
        "from": {"type": "string", "description": "The wallet that signs."},
        "to": {
            "type": "string",
            "description": "The token's contract; for native coin the merchant's wallet.",
        },
        "data": {
            "type": "string",
            "pattern": "^0x([0-9a-f]{2})*$",
            "description": "The call, with the reference.",
        },
        "value": _quantity("Native coin, in wei."),
        "gas": _quantity("The limit of gas."),
        "maxFeePerGas": _quantity("The most that a unit of gas may cost, in wei."),
        "maxPriorityFeePerGas": _quantity("What of it goes to the block's builder, in wei."),
    },
    "required": [*_TRANSACTION],
}
_SOLANA_TRANSACTION = {
    "type": "string",
    "contentEncoding": "base64",
    "description": "On Solana: a versioned transaction in base64, to be signed by the wallet.",
}


@extend_schema_field({"oneOf": [_EVM_TRANSACTION, _SOLANA_TRANSACTION]})
class _TransactionField(serializers.ReadOnlyField):
    pass


@described(
    "PayerProofOrder",
    "What the wallet is to sign, so that its transaction counts.",
    {
        "message": "shop.example.com wants you to sign in with your Ethereum account: …",
        "expires_at": _EXPIRES,
    },
)
class PayerProofOrderSerializer(serializers.Serializer[Any]):
    """`payer_proof` of a built transaction."""

    message = _text("The message to sign, byte for byte.")
    expires_at = TimestampField(help_text="Until when the proof is taken.")


@described(
    "BuiltTransaction",
    "An unsigned transaction, simulated first, and what binds it to the request.",
    {
        "route_id": _ROUTE["id"],
        "chain_type": "evm",
        "transaction": _TRANSACTION,
        "binding": "reference",
        "payer_proof": None,
        "expires_at": _EXPIRES,
    },
)
class BuiltTransactionSerializer(serializers.Serializer[Any]):
    """The answer of POST /api/public/build-transaction."""

    route_id = _text("The route.")
    chain_type = serializers.ChoiceField(
        ChainType.choices, read_only=True, help_text="How to read `transaction`."
    )
    transaction = _TransactionField(help_text="The unsigned transaction.")
    binding = serializers.ChoiceField(
        ("reference", "payer"),
        read_only=True,
        help_text="`reference`: the transaction carries it. `payer`: sign `payer_proof` as well.",
    )
    payer_proof = PayerProofOrderSerializer(
        read_only=True,
        allow_null=True,
        help_text="What to sign; null where the transaction carries the reference.",
    )
    expires_at = TimestampField(help_text="Until when the route is valid.")


@described(
    "PayerProof",
    "A wallet that proved that it pays.",
    {
        "route_id": _ROUTE["id"],
        "wallet_address": "0x8ba1f109551bD432803012645Ac136ddd64DBA72",
        "verified_at": "2026-11-21T10:06:30.000000Z",
    },
)
class PayerProofAnswerSerializer(serializers.Serializer[Any]):
    """The answer of POST …/payer-proof."""

    route_id = _text("The route.")
    wallet_address = _text("The wallet, in its chain's canonical form.")
    verified_at = TimestampField(help_text="When the signature was verified.")
