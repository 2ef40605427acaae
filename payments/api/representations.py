"""The answers with payment requests and payments."""

from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.db.models import Case, Q, Value, When
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from chains.amounts import Amount, amount_object
from chains.serializers import AmountSerializer, TokenSerializer
from config.api.schema.operations import described
from config.api.serializers import TimestampField
from payments.api import examples
from payments.models import FailureCode, Payment, PaymentRequest

NEWEST_PAYMENTS = 20


@extend_schema_field(AmountSerializer)
class RequestAmountField(serializers.ReadOnlyField):
    """An amount in the requested token."""

    def get_attribute(self, instance: PaymentRequest) -> Amount:
        """Return the amount object."""
        return amount_object(getattr(instance, str(self.field_name)), instance.token.decimals)


@described(
    "Payment", "One transaction that was submitted, or found, for a payment request.", examples.PAYMENT
)
class PaymentSerializer(serializers.ModelSerializer[Payment]):
    """The payment object."""

    object = serializers.ReadOnlyField(default="payment", help_text="Always `payment`.")
    payment_request = serializers.UUIDField(
        source="request_id", read_only=True, help_text="The payment request that it is for."
    )
    chain_id = serializers.IntegerField(read_only=True, help_text="The chain of the customer's transaction.")
    replaced_hashes = serializers.ListField(
        child=serializers.CharField(),
        read_only=True,
        help_text=(
            "The transactions that this one replaced with the same effect, as a wallet does to speed one up; oldest "
            "first."
        ),
    )
    from_address = serializers.SerializerMethodField(
        help_text="The wallet that paid. Null until known; always null in public answers."
    )
    token = serializers.SerializerMethodField(
        allow_null=True, help_text="The token paid with. Null until known."
    )
    amount = serializers.SerializerMethodField(
        allow_null=True, help_text="How much was paid, in the token paid with. Null until known."
    )
    amount_received = serializers.SerializerMethodField(
        allow_null=True, help_text="How much counts, in the requested token. Null until verified."
    )
    destination_chain_id = serializers.IntegerField(
        source="request.chain_id", read_only=True, help_text="The chain that the request asks for."
    )
    destination_transaction_hash = serializers.CharField(
        source="delivered_by",
        read_only=True,
        allow_null=True,
        help_text=(
            "The transaction that delivered: once completed, the same one for a direct payment. Until a swap is "
            "completed, the one that its provider names; null before."
        ),
    )
    destination_confirmations = serializers.IntegerField(
        read_only=True,
        allow_null=True,
        help_text="How many blocks deep the delivery lies; null until seen, and where no other transaction delivers.",
    )
    destination_confirmations_required = serializers.SerializerMethodField(
        help_text="How deep it has to lie; null where the chain's finality decides, or no other transaction delivers."
    )
    destination_explorer_url = serializers.SerializerMethodField(
        help_text="The delivery's page on the explorer of its chain, where there is one."
    )
    explorer_url = serializers.SerializerMethodField(
        help_text="The transaction's page on the chain's explorer, where there is one."
    )
    bound_by = serializers.SerializerMethodField(
        help_text=(
            "What ties the transaction to the request: the `reference` that it carries, the `payer`'s proof, the "
            "`provider`'s id in it, or, by the merchant's word, `manual`. Null until known."
        )
    )
    provider = serializers.SerializerMethodField(
        help_text="The routing provider of a swap; null for a direct payment."
    )
    provider_status = serializers.SerializerMethodField(
        help_text="The provider's own word for how far the swap is; null for a direct payment."
    )
    provider_url = serializers.SerializerMethodField(
        help_text="The provider's own page about the swap, where it has named one."
    )
    failure_code = serializers.SerializerMethodField(
        help_text="Why it failed, for programs; null unless it did. `retries_left` says whether a retry can help."
    )
    failure_message = serializers.SerializerMethodField(
        help_text="Why it failed, for people; null unless it did."
    )
    created_at = TimestampField(help_text="When it was submitted or found.")
    completed_at = TimestampField(allow_null=True, help_text="When it was verified; null until then.")
    failed_at = TimestampField(allow_null=True, help_text="When it failed; null unless it did.")

    class Meta:
        model = Payment
        fields: tuple[str, ...] = (
            "id",
            "object",
            "payment_request",
            "status",
            "type",
            "chain_id",
            "transaction_hash",
            "replaced_hashes",
            "from_address",
            "token",
            "amount",
            "amount_received",
            "destination_chain_id",
            "destination_transaction_hash",
            "confirmations",
            "confirmations_required",
            "explorer_url",
            "destination_confirmations",
            "destination_confirmations_required",
            "destination_explorer_url",
            "bound_by",
            "reorged",
            "provider",
            "provider_status",
            "provider_url",
            "status_detail",
            "attempts",
            "retries_left",
            "failure_code",
            "failure_message",
            "created_at",
            "completed_at",
            "failed_at",
        )
        read_only_fields = fields
        extra_kwargs = {
            "id": {"help_text": "`pay_` and 24 characters."},
            "status": {
                "help_text": (
                    "`pending` until a worker looks at it, `processing` while it is verified, then `completed` or "
                    "`failed`. A retried one is `pending` again."
                )
            },
            "type": {
                "help_text": "`direct`: the requested token on its chain. `swap`: anything else, by a provider."
            },
            "transaction_hash": {"help_text": "The customer's transaction, as its chain writes it."},
            "confirmations": {
                "help_text": "How many blocks deep the transaction lies, its own block included."
            },
            "confirmations_required": {
                "help_text": (
                    "How deep it has to lie; null where the chain's own finality decides. Of a swap to another chain "
                    "it is the delivery that has to lie deep: one is enough here."
                )
            },
            "reorged": {
                "help_text": "Whether its block vanished from the chain after it was completed: it then needs a person."
            },
            "status_detail": {
                "help_text": "One sentence for people: what is being waited for, or why not. May be empty."
            },
            "attempts": {"help_text": "How many looks at the chain found nothing; ten are made."},
            "retries_left": {
                "help_text": "How often a failed one may still be retried; 0 where that can't help."
            },
        }

    def get_from_address(self, payment: Payment) -> str | None:
        """Return the sender, once known."""
        return payment.from_address or None

    @extend_schema_field(TokenSerializer)
    def get_token(self, payment: Payment) -> dict[str, Any] | None:
        """Return the token paid with, once known."""
        return dict(TokenSerializer(payment.token).data) if payment.token else None

    @extend_schema_field(AmountSerializer)
    def get_amount(self, payment: Payment) -> Amount | None:
        """Return the amount paid, in the token paid with, once known."""
        token = payment.token or payment.request.token
        return None if payment.amount is None else amount_object(payment.amount, token.decimals)

    @extend_schema_field(AmountSerializer)
    def get_amount_received(self, payment: Payment) -> Amount | None:
        """Return what counts, in the requested token, once verified."""
        received = payment.amount_received
        return None if received is None else amount_object(received, payment.request.token.decimals)

    def get_destination_confirmations_required(self, payment: Payment) -> int | None:
        """Return how deep the delivery has to lie, if another transaction delivers and a number decides."""
        rule = payment.request.chain.confirmations
        return int(rule) if payment.has_delivery and rule.isdigit() else None

    def get_destination_explorer_url(self, payment: Payment) -> str | None:
        """Return the delivery's page on the explorer of the requested chain."""
        base = payment.request.chain.explorer_url.rstrip("/") if payment.has_delivery else ""
        return f"{base}/tx/{payment.destination_transaction_hash}" if base else None

    def get_explorer_url(self, payment: Payment) -> str | None:
        """Return the transaction's page on the chain's explorer, if the catalogue names one and it is on the chain."""
        base = "" if payment.is_simulated else payment.chain.explorer_url.rstrip("/")
        return f"{base}/tx/{payment.transaction_hash}" if base else None

    @extend_schema_field(serializers.ChoiceField(Payment.BoundBy.choices, allow_null=True))
    def get_bound_by(self, payment: Payment) -> str | None:
        """Return what tied the transaction to the request."""
        return payment.bound_by or None

    def get_provider(self, payment: Payment) -> str | None:
        """Return the routing provider of a swap."""
        return payment.provider or None

    def get_provider_status(self, payment: Payment) -> str | None:
        """Return the provider's own word for how far the swap is."""
        return payment.provider_status or None

    def get_provider_url(self, payment: Payment) -> str | None:
        """Return the provider's own page about the swap."""
        return payment.provider_url or None

    @extend_schema_field(serializers.ChoiceField(FailureCode.choices, allow_null=True))
    def get_failure_code(self, payment: Payment) -> str | None:
        """Return why it failed."""
        return payment.failure_code or None

    def get_failure_message(self, payment: Payment) -> str | None:
        """Return why it failed, for people."""
        return payment.failure_message or None


@described(
    "PaymentRequest",
    "An amount of one token, asked for on one chain to one wallet.",
    examples.PAYMENT_REQUEST,
)
class PaymentRequestSerializer(serializers.ModelSerializer[PaymentRequest]):
    """The payment request object of spec 2.4 and contract 5, without its payments."""

    object = serializers.ReadOnlyField(default="payment_request", help_text="Always `payment_request`.")
    amount = RequestAmountField(help_text="What was asked for.")
    amount_paid = RequestAmountField(help_text="What has come, and was verified.")
    amount_remaining = RequestAmountField(help_text="What is still to be paid; zero once it is paid in full.")
    amount_overpaid = RequestAmountField(help_text="What came beyond the amount asked for.")
    chain_id = serializers.IntegerField(read_only=True, help_text="The chain on which it is to arrive.")
    token = TokenSerializer(read_only=True, help_text="The token that is to arrive.")
    payment_url = serializers.SerializerMethodField(help_text="The checkout page: send the customer there.")
    metadata = serializers.DictField(
        child=serializers.CharField(allow_blank=True),
        read_only=True,
        help_text="Your own pairs, as sent; `{}` if left out.",
    )
    expires_at = TimestampField(help_text="Until when it can be paid.")
    created_at = TimestampField(help_text="When it was created.")
    completed_at = TimestampField(allow_null=True, help_text="When it was paid in full; null until then.")
    cancelled_at = TimestampField(allow_null=True, help_text="When it was cancelled; null unless it was.")
    expired_at = TimestampField(allow_null=True, help_text="When it expired; null unless it did.")

    class Meta:
        model = PaymentRequest
        fields: tuple[str, ...] = (
            "id",
            "object",
            "shortcode",
            "status",
            "amount",
            "amount_paid",
            "amount_remaining",
            "amount_overpaid",
            "chain_id",
            "token",
            "recipient_address",
            "payment_url",
            "redirect_url",
            "cancel_url",
            "webhook_url",
            "external_id",
            "description",
            "metadata",
            "references",
            "paid_late",
            "expires_at",
            "created_at",
            "completed_at",
            "cancelled_at",
            "expired_at",
        )
        read_only_fields = fields
        extra_kwargs: dict[str, dict[str, Any]] = {
            "id": {"help_text": "A UUID in order of time."},
            "shortcode": {"help_text": "12 characters, for the checkout page's address."},
            "status": {
                "help_text": (
                    "`active` until it is paid in full (`completed`), its time is over (`expired`) or you cancel it "
                    "(`cancelled`). Partly paid, it stays `active`."
                )
            },
            "recipient_address": {"help_text": "The wallet that is paid, in its chain's canonical form."},
            "redirect_url": {
                "help_text": "Where the customer goes once it is completed, as sent; null if left out."
            },
            "cancel_url": {"help_text": "Where a customer who gives up goes, as sent; null if left out."},
            "webhook_url": {
                "help_text": "Where its events go instead of your endpoint, as sent; null if left out."
            },
            "external_id": {"help_text": "Your own reference, as sent; null if left out."},
            "description": {
                "help_text": "What the customer reads on the checkout, as sent; null if left out."
            },
            "references": {
                "help_text": "Whether the transactions that are built for it carry its reference."
            },
            "paid_late": {"help_text": "Whether the completing transfer's block is later than `expires_at`."},
        }

    def get_payment_url(self, request: PaymentRequest) -> str:
        """Return the checkout page's address."""
        return payment_url(request)


@described(
    "PaymentRequestDetail", "A payment request with its newest 20 payments.", examples.PAYMENT_REQUEST_DETAIL
)
class PaymentRequestDetailSerializer(PaymentRequestSerializer):
    """The payment request with its newest 20 payments."""

    payments = serializers.SerializerMethodField(
        help_text="The newest 20 payments, newest first. `payments.list` has all of them."
    )

    class Meta(PaymentRequestSerializer.Meta):
        fields = (*PaymentRequestSerializer.Meta.fields, "payments")

    @extend_schema_field(PaymentSerializer(many=True))
    def get_payments(self, request: PaymentRequest) -> list[dict[str, Any]]:
        """Return the newest payments first."""
        return [dict(PaymentSerializer(payment).data) for payment in newest_payments(request)]


def newest_payments(request: PaymentRequest) -> list[Payment]:
    """Return the newest 20 payments of `request`, newest first, with all that their representation needs."""
    payments = request.payments.select_related("chain", "token", "request__token", "request__chain")
    return list(payments.order_by("-created_at", "-id")[:NEWEST_PAYMENTS])


def weightiest_payments(request: PaymentRequest) -> list[Payment]:
    """Return 20 payments of `request`, newest first: bound ones before open ones before failed ones.

    Anyone can submit hashes of transactions that pay nothing; they must not push a payment off the customer's page.
    """
    payments = request.payments.select_related("chain", "token", "request__token", "request__chain")
    is_open = Q(status__in=Payment.OPEN)
    is_bound = Q(status=Payment.Status.COMPLETED) | (
        is_open & (Q(is_in_flight=True) | Q(is_bound_unmined=True))
    )
    weight = Case(When(is_bound, then=Value(0)), When(is_open, then=Value(1)), default=Value(2))
    chosen = payments.order_by(weight, "-created_at", "-id")[:NEWEST_PAYMENTS]
    return sorted(chosen, key=lambda payment: (payment.created_at, payment.id), reverse=True)


def payment_url(request: PaymentRequest) -> str:
    """Return `{checkout_url}/pay/{shortcode}`."""
    return f"{settings.CHECKOUT_URL}/pay/{request.shortcode}"


def return_url(url: str | None, request: PaymentRequest) -> str | None:
    """Return the merchant's address with `payment_request_id` and `status` added, its own parameters kept."""
    if not url:
        return None
    parts = urlsplit(url)
    added = urlencode({"payment_request_id": str(request.id), "status": request.status})
    return urlunsplit(parts._replace(query=f"{parts.query}&{added}" if parts.query else added))
