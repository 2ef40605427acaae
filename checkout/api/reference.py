"""The schema of the checkout's responses, which `checkout.api.representations` builds."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from chains.serializers import AmountSerializer, ChainSerializer, TokenSerializer
from config.api.schema.operations import described
from config.api.serializers import TimestampField
from payments.api import examples
from payments.api.representations import PaymentSerializer
from payments.models import FailureCode, Payment, PaymentRequest

_REQUEST = examples.PAYMENT_REQUEST
CHAIN: dict[str, Any] = {
    "id": 8453,
    "name": "Base",
    "chain_type": "evm",
    "network": "",
    "native_symbol": "ETH",
    "explorer_url": "https://basescan.org",
    "wallet_rpc_url": "https://mainnet.base.org",
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
_PAYMENT: dict[str, Any] = {
    **{name: value for name, value in examples.PAYMENT.items() if name != "from_address"},
    "is_seen": True,
    "is_bound": True,
    "likely_failure": None,
}
_MERCHANTS_OWN = {"external_id", "metadata", "webhook_url", "references", "cancelled_at", "expired_at"}
_SHOWN = {name: value for name, value in _REQUEST.items() if name not in _MERCHANTS_OWN}
_CHECKOUT: dict[str, Any] = {
    **_SHOWN,
    "object": "checkout",
    "chain": CHAIN,
    "cancel_url": f"https://shop.example.com/basket?payment_request_id={_REQUEST['id']}&status=completed",
    "redirect_url": f"https://shop.example.com/orders/1001?payment_request_id={_REQUEST['id']}&status=completed",
    "merchant": _MERCHANT,
    "payments": [_PAYMENT],
    "is_available": True,
    "is_test": False,
    "pay_with": {"is_routed": True},
    "is_final": True,
    "poll_in_ms": 60000,
    "server_time": "2026-11-21T10:07:00.000000Z",
}


def text(help_text: str, **options: Any) -> serializers.CharField:
    """Return a field of an answer that holds text."""
    return serializers.CharField(read_only=True, help_text=help_text, **options)


def number(help_text: str, **options: Any) -> serializers.IntegerField:
    """Return a field of an answer that holds a whole number."""
    return serializers.IntegerField(read_only=True, help_text=help_text, **options)


def dollars(help_text: str) -> serializers.CharField:
    """Return a field of an answer that holds US dollars, to the cent, or null."""
    return text(f"{help_text} In US dollars, as text; null where no price is known.", allow_null=True)


@described("CheckoutChain", "The chain, with what a wallet needs to know.", CHAIN)
class CheckoutChainSerializer(ChainSerializer):
    """The answer of `chain_object`."""

    explorer_url = text("Its block explorer; null if none is known.", allow_null=True)
    wallet_rpc_url = text(
        "A public node, for wallets that don't know the network yet; null if none is named.", allow_null=True
    )

    class Meta(ChainSerializer.Meta):
        fields = ("id", "name", "chain_type", "network", "native_symbol", "explorer_url", "wallet_rpc_url")
        read_only_fields = fields
        extra_kwargs = {
            **ChainSerializer.Meta.extra_kwargs,
            "network": {"help_text": "Which Solana network, where it is not the main one; else empty."},
            "native_symbol": {"help_text": "The symbol of the coin that the network's fee is paid in."},
        }


@described("CheckoutMerchant", "Who asks for the money, and how the page is to look.", _MERCHANT)
class MerchantThemeSerializer(serializers.Serializer[Any]):
    """The answer of `merchant_object`."""

    name = text("The merchant's name, for customers.")
    logo_url = text("The logo; null for none.", allow_null=True)
    accent_colour = text(
        "The colour of the buttons, such as `#1f2a44`; null for the page's own.", allow_null=True
    )
    background_colour = text("The colour behind the page; null for the page's own.", allow_null=True)
    support_url = text("Where the customer finds help; null if not told.", allow_null=True)
    support_email = text("Whom the customer may write to; null if not told.", allow_null=True)
    default_language = text("The language of the page where the browser asks for none that there is.")


@described("CheckoutPayment", "A payment without its sender, which only the merchant may know.", _PAYMENT)
class CheckoutPaymentSerializer(PaymentSerializer):
    """What the customer may see of a payment, and whether it counts on its way."""

    from_address = None  # type: ignore[assignment]
    is_seen = serializers.SerializerMethodField(
        help_text="Whether a node knows the transaction. Until then it may be mistyped or never sent."
    )
    is_bound = serializers.SerializerMethodField(
        help_text=(
            "Whether the transaction is known to pay this request: mined and bound to it or, not mined yet, by its own "
            "bytes. Only such a payment is a reason not to pay again."
        )
    )
    likely_failure = serializers.SerializerMethodField(
        help_text=(
            "The `failure_code` with which it will fail once its block is deep enough; null where none is expected. "
            "A reorganisation can still change it, so that the payment is `processing` until then."
        )
    )

    class Meta(PaymentSerializer.Meta):
        fields = (
            *(name for name in PaymentSerializer.Meta.fields if name != "from_address"),
            "is_seen",
            "is_bound",
            "likely_failure",
        )
        read_only_fields = fields

    def get_is_seen(self, payment: Payment) -> bool:
        """Return whether a node knows the transaction."""
        return payment.is_seen

    def get_is_bound(self, payment: Payment) -> bool:
        """Return whether the transaction is known to pay this request."""
        return payment.is_bound

    @extend_schema_field(serializers.ChoiceField(FailureCode.choices, allow_null=True))
    def get_likely_failure(self, payment: Payment) -> str | None:
        """Return what it will fail as once its block is deep enough."""
        return payment.likely_failure or None


@described("PayWith", "What a request can be paid with beside its own token.", {"is_routed": True})
class PayWithSerializer(serializers.Serializer[Any]):
    """`pay_with` of the checkout."""

    is_routed = serializers.BooleanField(
        read_only=True,
        help_text=(
            "Whether this deployment has a routing provider, so that other tokens and chains can be offered. It does "
            "not say whether one answers at the moment: `routes` does."
        ),
    )


@described("Checkout", "A payment request as its customer may see it.", _CHECKOUT)
class CheckoutSerializer(serializers.Serializer[Any]):
    """The answer of `checkout_object`."""

    object = serializers.ReadOnlyField(default="checkout", help_text="Always `checkout`.")
    id = serializers.UUIDField(read_only=True, help_text="The payment request's `id`.")
    shortcode = text("The payment request's `shortcode`.")
    status = serializers.ChoiceField(
        PaymentRequest.Status.choices, read_only=True, help_text="How the payment request stands."
    )
    amount = AmountSerializer(read_only=True, help_text="What is asked for.")
    amount_paid = AmountSerializer(read_only=True, help_text="What has come, and was verified.")
    amount_remaining = AmountSerializer(read_only=True, help_text="What is still to be paid.")
    amount_overpaid = AmountSerializer(read_only=True, help_text="What came beyond the amount asked for.")
    token = TokenSerializer(read_only=True, help_text="The token that is to arrive.")
    chain_id = number("The chain on which it is to arrive.")
    chain = CheckoutChainSerializer(read_only=True, help_text="The same chain in full.")
    recipient_address = text("The merchant's wallet.")
    description = text("What it is for; null if not told.", allow_null=True)
    created_at = TimestampField(help_text="When it was created.")
    expires_at = TimestampField(help_text="Until when it can be paid.")
    completed_at = TimestampField(allow_null=True, help_text="When it was paid in full; null until then.")
    paid_late = serializers.BooleanField(
        read_only=True, help_text="Whether the completing transfer's block is later than `expires_at`."
    )
    payment_url = text("The checkout page.")
    cancel_url = text("Where a customer who gives up goes; null for nowhere.", allow_null=True)
    redirect_url = text("Where the customer goes once it is completed; null before that.", allow_null=True)
    merchant = MerchantThemeSerializer(read_only=True, help_text="Who asks for the money.")
    payments = CheckoutPaymentSerializer(
        many=True,
        read_only=True,
        help_text="Up to 20 payments, newest first. Of more, bound ones are shown before open and failed ones.",
    )
    is_available = serializers.BooleanField(
        read_only=True,
        help_text=(
            "Whether the requested token and its chain are active. While they are not, there are no routes, and "
            "customers should send nothing; what was sent already is verified."
        ),
    )
    is_test = serializers.BooleanField(
        read_only=True,
        help_text="Whether this is no real money: the service runs as `staging`, or a payment was simulated.",
    )
    pay_with = PayWithSerializer(read_only=True, help_text="What it can be paid with beside its own token.")
    is_final = serializers.BooleanField(
        read_only=True, help_text="Whether nothing more is expected to change."
    )
    poll_in_ms = number("In how many milliseconds it is worth asking again.", min_value=0)
    server_time = TimestampField(help_text="The service's clock, to count down by. Not part of the ETag.")
