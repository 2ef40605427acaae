"""The refund: money that a merchant sends back for a payment request."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from chains.fields import BaseUnitsField, base_units_constraint
from merchants.identifiers import prefixed_id, shortcode
from merchants.models import Merchant
from payments.models.payment import Payment
from payments.models.request import PaymentRequest


def new_refund_id() -> str:
    """Return a new `rf_` id."""
    return prefixed_id("rf_")


class Refund(models.Model):
    """An amount of the requested token that goes back to the customer. `amount` is in base units of that token.

    Once it has an address, its `carrier` is a payment request in the opposite direction: the merchant pays `amount` to
    that address. So a refund is built, found, verified, consumed and checked for finality exactly as a payment is, and
    its status follows from its carrier's payments (`payments.refunds.status`). `code` is the secret part of the page on
    which the customer names an address. `payment` limits the refund to what that payment delivered. `built_at` is when
    its transaction was last returned to be signed: only a payment that was submitted after that makes the refund fail,
    so that its amount stays reserved while the transaction may still be sent.

    `credited_payments`: the ids of the payments credited when the refund was created; only wallets that made them may
    name its address. `created_by` is who created it, as the history writes it; only the merchant may see it.
    `watched_until`: until then the chain is searched for its transaction (`payments.discovery.watches`), without a gap
    since `watched_from`; null in refunds that were never watched, or since an earlier release.
    """

    class Status(models.TextChoices):
        """The states of a refund. They follow from its carrier's payments, so none is stored."""

        REQUIRES_ADDRESS = "requires_address"
        READY = "ready"
        PROCESSING = "processing"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class AddressSource(models.TextChoices):
        """Who named the address."""

        MERCHANT = "merchant"
        CUSTOMER = "customer"

    id = models.CharField(max_length=27, primary_key=True, default=new_refund_id, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="refunds", db_index=False)
    request = models.ForeignKey(PaymentRequest, on_delete=models.PROTECT, related_name="refunds")
    payment = models.ForeignKey(
        Payment, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    carrier = models.OneToOneField(
        PaymentRequest, on_delete=models.PROTECT, null=True, blank=True, related_name="refund"
    )
    amount = BaseUnitsField()
    recipient_address = models.CharField(max_length=64, blank=True)
    address_source = models.CharField(max_length=8, choices=AddressSource.choices, blank=True)
    reason = models.CharField(max_length=500, null=True, blank=True)  # noqa: DJ001 - absent is not empty
    code = models.CharField(max_length=12, unique=True, default=shortcode, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    built_at = models.DateTimeField(null=True, blank=True, editable=False)
    credited_payments = models.JSONField(default=list, db_default=[], blank=True, editable=False)
    created_by = models.CharField(max_length=100, blank=True, default="", db_default="", editable=False)
    watched_from = models.DateTimeField(null=True, blank=True, editable=False)
    watched_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            base_units_constraint("amount", "refund"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="refund_amount_is_positive"),
            models.CheckConstraint(
                condition=Q(carrier__isnull=True) | ~Q(recipient_address=""),
                name="refund_with_a_carrier_has_an_address",
            ),
        )
        # tests/integration/payments/test_query_plans.py names the query that needs it.
        indexes = (
            models.Index(fields=("merchant", "-created_at", "-id"), name="refund_listed"),
            models.Index(
                fields=("watched_until",), condition=Q(watched_until__isnull=False), name="refund_watched"
            ),
        )

    def __str__(self) -> str:
        return self.id

    @property
    def claim_url(self) -> str:
        """The page on which the customer names an address."""
        return f"{settings.CHECKOUT_URL}/refunds/{self.code}"

    @property
    def refund_url(self) -> str | None:
        """The page on which the merchant signs the refund's transaction; None before there is an address."""
        return f"{settings.CHECKOUT_URL}/pay/{self.carrier.shortcode}" if self.carrier else None
