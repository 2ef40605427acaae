"""How payment requests and payments are answered (spec 2.4, contract 5, 6 and 8)."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.conf import settings
from rest_framework import serializers

from chains.amounts import Amount, amount_object
from chains.serializers import TokenSerializer
from payments.models import Payment, PaymentRequest

NEWEST_PAYMENTS = 20


def timestamp(time: datetime | None) -> str | None:
    """Return `time` as RFC 3339 in UTC ending in Z."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z") if time else None


class TimestampField(serializers.ReadOnlyField):
    """A time as RFC 3339 in UTC."""

    def to_representation(self, value: datetime) -> str | None:
        """Return the text."""
        return timestamp(value)


class RequestAmountField(serializers.ReadOnlyField):
    """An amount in the requested token."""

    def get_attribute(self, instance: PaymentRequest) -> Amount:
        """Return the amount object."""
        return amount_object(getattr(instance, str(self.field_name)), instance.token.decimals)


class PaymentSerializer(serializers.ModelSerializer[Payment]):
    """The payment object of contract 6."""

    object = serializers.ReadOnlyField(default="payment")
    payment_request = serializers.UUIDField(source="request_id", read_only=True)
    chain_id = serializers.IntegerField(read_only=True)
    from_address = serializers.SerializerMethodField()
    token = serializers.SerializerMethodField()
    amount = serializers.SerializerMethodField()
    amount_received = serializers.SerializerMethodField()
    destination_chain_id = serializers.IntegerField(source="request.chain_id", read_only=True)
    destination_transaction_hash = serializers.SerializerMethodField()
    explorer_url = serializers.SerializerMethodField()
    bound_by = serializers.SerializerMethodField()
    provider = serializers.SerializerMethodField()
    provider_status = serializers.SerializerMethodField()
    failure_code = serializers.SerializerMethodField()
    failure_message = serializers.SerializerMethodField()
    created_at = TimestampField()
    completed_at = TimestampField()
    failed_at = TimestampField()

    class Meta:
        model = Payment
        fields = (
            "id",
            "object",
            "payment_request",
            "status",
            "type",
            "chain_id",
            "transaction_hash",
            "from_address",
            "token",
            "amount",
            "amount_received",
            "destination_chain_id",
            "destination_transaction_hash",
            "confirmations",
            "confirmations_required",
            "explorer_url",
            "bound_by",
            "reorged",
            "provider",
            "provider_status",
            "status_detail",
            "attempts",
            "retries_left",
            "failure_code",
            "failure_message",
            "created_at",
            "completed_at",
            "failed_at",
        )

    def get_from_address(self, payment: Payment) -> str | None:
        """Return the sender, once known."""
        return payment.from_address or None

    def get_token(self, payment: Payment) -> dict[str, Any] | None:
        """Return the token paid with, once known."""
        return dict(TokenSerializer(payment.token).data) if payment.token else None

    def get_amount(self, payment: Payment) -> Amount | None:
        """Return the amount paid, in the token paid with, once known."""
        token = payment.token or payment.request.token
        return None if payment.amount is None else amount_object(payment.amount, token.decimals)

    def get_amount_received(self, payment: Payment) -> Amount | None:
        """Return what counts, in the requested token, once verified."""
        received = payment.amount_received
        return None if received is None else amount_object(received, payment.request.token.decimals)

    def get_destination_transaction_hash(self, payment: Payment) -> str | None:
        """Return the delivering transaction; for a direct payment that is the payment itself, once completed."""
        if payment.type == Payment.Type.DIRECT and payment.status == Payment.Status.COMPLETED:
            return payment.transaction_hash
        return payment.destination_transaction_hash or None

    def get_explorer_url(self, payment: Payment) -> str | None:
        """Return the transaction's page on the chain's explorer, if the catalogue names one and it is on the chain."""
        base = "" if payment.is_simulated else payment.chain.explorer_url.rstrip("/")
        return f"{base}/tx/{payment.transaction_hash}" if base else None

    def get_bound_by(self, payment: Payment) -> str | None:
        """Return what tied the transaction to the request."""
        return payment.bound_by or None

    def get_provider(self, payment: Payment) -> str | None:
        """Return the routing provider of a swap."""
        return payment.provider or None

    def get_provider_status(self, payment: Payment) -> str | None:
        """Return the provider's own word for how far the swap is."""
        return payment.provider_status or None

    def get_failure_code(self, payment: Payment) -> str | None:
        """Return why it failed."""
        return payment.failure_code or None

    def get_failure_message(self, payment: Payment) -> str | None:
        """Return why it failed, for people."""
        return payment.failure_message or None


class PaymentRequestSerializer(serializers.ModelSerializer[PaymentRequest]):
    """The payment request object of spec 2.4 and contract 5, without its payments."""

    object = serializers.ReadOnlyField(default="payment_request")
    amount = RequestAmountField()
    amount_paid = RequestAmountField()
    amount_remaining = RequestAmountField()
    amount_overpaid = RequestAmountField()
    chain_id = serializers.IntegerField(read_only=True)
    token = TokenSerializer(read_only=True)
    payment_url = serializers.SerializerMethodField()
    expires_at = TimestampField()
    created_at = TimestampField()
    completed_at = TimestampField()
    cancelled_at = TimestampField()
    expired_at = TimestampField()

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

    def get_payment_url(self, request: PaymentRequest) -> str:
        """Return the checkout page's address."""
        return payment_url(request)


class PaymentRequestDetailSerializer(PaymentRequestSerializer):
    """The payment request with its newest 20 payments."""

    payments = serializers.SerializerMethodField()

    class Meta(PaymentRequestSerializer.Meta):
        fields = (*PaymentRequestSerializer.Meta.fields, "payments")

    def get_payments(self, request: PaymentRequest) -> list[dict[str, Any]]:
        """Return the newest payments first."""
        return [dict(PaymentSerializer(payment).data) for payment in newest_payments(request)]


def newest_payments(request: PaymentRequest) -> list[Payment]:
    """Return the newest 20 payments of `request`, newest first, with all that their representation needs."""
    payments = request.payments.select_related("chain", "token", "request__token")
    return list(payments.order_by("-created_at", "-id")[:NEWEST_PAYMENTS])


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
