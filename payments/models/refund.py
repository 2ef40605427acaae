"""The refund: an amount that a merchant sends back for a payment request."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from chains.fields import BaseUnitsField, base_units_constraint
from merchants.identifiers import prefixed_id, shortcode
from merchants.models import Merchant
from payments.models.payment import Payment
from payments.models.request import PaymentRequest, RefundTotals
from payments.staging import has_sandbox


def new_refund_id() -> str:
    return prefixed_id("rf_")


class RefundQuerySet(models.QuerySet["Refund"]):
    """Refunds, and the payments through which they are sent."""

    def totals(self) -> RefundTotals:
        """Makes two queries."""
        refunds = list(self)
        return totals_of(refunds, standings(refunds))


class Refund(models.Model):
    """Money that the merchant sends back to the customer: `amount` in base units of the requested token.

    Once a refund has an address, it has a `carrier`: an internal payment request by which the merchant pays `amount`
    to that address. So a refund is built, found and verified like a payment. The refund's status follows from the
    payments of its carrier (`standing_of`).

    - `code` is the secret part of the URL of the page on which the customer sets an address.
    - `payment` limits the refund to the amount of that payment.
    - `built_at` is when the refund's transaction was last returned for signing. The merchant may still send that
      transaction, so earlier failed payments don't make the refund fail, and its amount stays reserved.
    - `moved_to`: when a refund's address changes, a second, cancelled refund is created for the old address. Its
      `moved_to` points to the refund with the new address. Money that still reaches the old address reduces the
      amount that the refund with the new address sends.
    - `credited_payments` has the ids of the payments that were credited before the refund was created. Only the
      wallets that made these payments can set the refund's address.
    - `created_by` is the actor, as in the history. Only the merchant sees it.
    - `watched_from`, `watched_until`: between these times, every block is searched for the refund's transaction
      (`payments.discovery.watches`). `watched_from` is null if the refund was never watched, and in
      rows that are older than this column.
    """

    class Status(models.TextChoices):
        """Not stored: the payments through which the refund is sent decide its status."""

        REQUIRES_ADDRESS = "requires_address"
        READY = "ready"
        PROCESSING = "processing"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class AddressSource(models.TextChoices):
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
    moved_to = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        db_index=False,
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

    objects = RefundQuerySet.as_manager()

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
        # tests/integration/payments/query_plans/queries.py has the query that needs this index.
        indexes = (
            models.Index(fields=("merchant", "-created_at", "-id"), name="refund_listed"),
            models.Index(
                fields=("watched_until",), condition=Q(watched_until__isnull=False), name="refund_watched"
            ),
        )

    def __str__(self) -> str:
        return self.id

    @property
    def is_simulated(self) -> bool:
        """Whether the sandbox paid the request, or sent the refund."""
        return self.request.is_simulated or bool(self.carrier and self.carrier.is_simulated)

    @property
    def claim_url(self) -> str:
        """The page on which the customer enters an address."""
        return f"{settings.CHECKOUT_URL}/refunds/{self.code}"

    @property
    def refund_url(self) -> str | None:
        """The page on which the merchant signs the refund's transaction. None while there is no address."""
        return f"{settings.CHECKOUT_URL}/pay/{self.carrier.shortcode}" if self.carrier else None


@dataclass(frozen=True)
class Standing:
    """The progress of a refund, computed from its carrier's payments.

    `received` is the amount that reached the customer, in base units, but at most the refund's amount. `payment` is
    the payment that decides the status, if there is one. `failure_code` and `failure_message` are set only if the
    refund failed.
    """

    status: Refund.Status
    received: int = 0
    payment: Payment | None = None
    failure_code: str = ""
    failure_message: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the refund's transaction may still be sent. While it may, the refund's amount is reserved."""
        return self.status in (Refund.Status.REQUIRES_ADDRESS, Refund.Status.READY, Refund.Status.PROCESSING)


def standing_of(refund: Refund, payments: Sequence[Payment]) -> Standing:
    """Compute a refund's progress from the payments of its carrier. Pass the oldest payment first.

    A cancelled refund that was sent anyway is completed. Unbound transactions don't make a refund fail, because
    anyone with its link can submit them. Transactions that were submitted before `built_at` don't make it fail
    either.
    """
    counted = [payment for payment in payments if payment.status == Payment.Status.COMPLETED]
    received = min(sum(payment.amount_received or 0 for payment in counted), refund.amount)
    if received == refund.amount:
        return Standing(Refund.Status.COMPLETED, received, counted[-1])
    under_way = [payment for payment in payments if _is_under_way(refund, payment)]
    if under_way:
        return Standing(Refund.Status.PROCESSING, received, under_way[-1])
    if refund.cancelled_at is not None:
        return Standing(Refund.Status.CANCELLED, received)
    failed = [payment for payment in payments if _has_failed(refund, payment)]
    if failed:
        last = failed[-1]
        return Standing(Refund.Status.FAILED, received, last, last.failure_code, last.failure_message)
    return Standing(
        Refund.Status.READY if refund.recipient_address else Refund.Status.REQUIRES_ADDRESS, received
    )


def _is_under_way(refund: Refund, payment: Payment) -> bool:
    """Whether the payment may still complete the refund. If the refund is cancelled, only a bound transaction can."""
    is_bound = payment.is_in_flight or payment.is_bound_unmined
    return payment.is_open and (is_bound or refund.cancelled_at is None)


def _has_failed(refund: Refund, payment: Payment) -> bool:
    is_latest = refund.built_at is None or payment.created_at > refund.built_at
    return payment.status == Payment.Status.FAILED and not payment.is_anyones and is_latest


def standings(refunds: Sequence[Refund]) -> list[Standing]:
    """Compute each refund's progress, in the same order. Reads all their payments in one query."""
    carriers = [refund.carrier_id for refund in refunds if refund.carrier_id]
    payments: dict[uuid.UUID, list[Payment]] = defaultdict(list)
    if carriers:
        rows = Payment.objects.filter(request__in=carriers).select_related("chain", "request", "lookup")
        for payment in rows.order_by("created_at", "id"):
            payments[payment.request_id].append(payment)
    return [
        standing_of(refund, payments[refund.carrier_id] if refund.carrier_id else []) for refund in refunds
    ]


def totals_of(refunds: Iterable[Refund], standings: Iterable[Standing]) -> RefundTotals:
    """Add up the refunds. Without a sandbox, a refund whose transaction was simulated doesn't count."""
    completed = reserved = 0
    for refund, standing in zip(refunds, standings, strict=True):
        is_simulated = standing.payment is not None and standing.payment.is_simulated
        if standing.is_open:
            reserved += refund.amount
        elif has_sandbox() or not is_simulated:
            completed += standing.received
    return RefundTotals(completed, reserved)
