"""Payment requests: the requested amount, and how much of it was paid."""

import secrets
from dataclasses import dataclass
from datetime import datetime

from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models import F, Q, Sum
from django.db.models.functions import Greatest
from django.utils import timezone

from chains.fields import BaseUnitsField, base_units_constraint
from chains.models import Chain, Token
from chains.switches import Feature, is_offered, is_on
from merchants.identifiers import shortcode, uuid7
from merchants.models import Merchant
from payments.models.link import PaymentLink
from payments.staging import has_sandbox

REFERENCE_BYTES = 16
ENDED_AT = Greatest("completed_at", "expired_at", "cancelled_at")
"""The time at which a request was last completed, expired or cancelled; null if it never was."""

# The API lists a merchant's requests, newest first. The list can be filtered by these columns or by `external_id`.
_LISTED_BY = {
    "listed": (),
    "by_status": ("status",),
    "by_token": ("token",),
    "by_chain": ("chain",),
}


def new_reference() -> bytes:
    """Return 16 random bytes that bind a transaction to one request."""
    return secrets.token_bytes(REFERENCE_BYTES)


@dataclass(frozen=True)
class RefundTotals:
    """The sums of a request's refunds in base units.

    `completed` has reached the customer; `open` is reserved for open refunds.
    """

    completed: int = 0
    open: int = 0

    @property
    def taken(self) -> int:
        """The paid amount that refunds use. Open refunds count as sent."""
        return self.completed + self.open


class PaymentRequest(models.Model):
    """A request to pay an amount of one token on one chain to one wallet. Amounts are base units of `token`.

    The amount that was paid:

    - `amount_paid` is the sum of all credited payments. Only `payments.verification.storing` writes it.
    - `amount_reorged` is the part of `amount_paid` whose payments are flagged `reorged`.
    - `net` is `amount_paid` less refunds and reorganised payments. Completion, the remaining amount, routes, pages
      and events use it.

    Its progress:

    - `status` and its timestamps: only `payments.requests.transitions` writes them.
    - `expiry_check_at`: the time of the next expiry check, which is later than `expires_at` if a payment is in
      flight.
    - `late_price_mail_at`: when to e-mail the merchant about a payment that came after the price expired. If the
      payment was worth the price, the request is completed instead (`payments.deposits.late_arrivals`).
    - `unbound_failure_sent`: `payment.failed` was sent for an unbound, publicly submitted transaction. The event is
      sent at most once per request.
    - `success_sent`: `payment.succeeded` was sent although the request is cancelled. The event is sent at most once
      per request. A completed request needs no such mark, because it can't be completed again.
    - `link_shown_at`: when a wallet link with the reference was first shown. From then on, a wallet can send the
      reference.
    - `deposit_address`: null until it was shown (`DepositAddress`).

    The rest:

    - `price` consists of `currency` and an amount in it. `amount` is the price converted at `rate`. The price
      and the rate never change. They are null if the request is for an amount of tokens.
    - `is_refund`: the request carries a refund, so the merchant pays the customer. The API and the portal show the
      `Refund` instead.
    - `has_refunds`: at least one refund of the request was created.
    - `is_simulated`: the sandbox simulated a payment or the expiry, so no money moved.
    - `payment_link`: the payment link from which the request was created.
    - `receipts_mailed`: the number of receipts that customers requested by e-mail.
    """

    class Status(models.TextChoices):
        """For the allowed changes, see `payments.requests.transitions`."""

        ACTIVE = "active"
        COMPLETED = "completed"
        EXPIRED = "expired"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    merchant = models.ForeignKey(
        Merchant, on_delete=models.PROTECT, related_name="payment_requests", db_index=False
    )
    shortcode = models.CharField(max_length=12, default=shortcode, editable=False)
    reference = models.BinaryField(
        max_length=REFERENCE_BYTES, unique=True, default=new_reference, editable=False
    )
    references = models.BooleanField(default=True)
    link_shown_at = models.DateTimeField(null=True, editable=False)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.ACTIVE)

    amount = BaseUnitsField()
    amount_paid = BaseUnitsField(default=0)
    amount_reorged = BaseUnitsField(default=0, db_default=0)
    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+", db_index=False)
    token = models.ForeignKey(Token, on_delete=models.PROTECT, related_name="+")
    recipient_address = models.CharField(max_length=64)
    deposit_address = models.CharField(max_length=64, null=True, blank=True, editable=False)  # noqa: DJ001 - absent is not empty
    price = models.JSONField(null=True, blank=True)
    rate = models.JSONField(null=True, blank=True)
    payment_link = models.ForeignKey(
        PaymentLink,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="requests",
        db_index=False,
    )

    external_id = models.CharField("external ID", max_length=255, null=True, blank=True)  # noqa: DJ001 - absent is not empty
    description = models.CharField(max_length=500, null=True, blank=True)  # noqa: DJ001 - absent is not empty
    metadata = models.JSONField(default=dict, blank=True)
    redirect_url = models.CharField("redirect URL", max_length=2048, null=True, blank=True)  # noqa: DJ001 - absent is not empty
    cancel_url = models.CharField("cancel URL", max_length=2048, null=True, blank=True)  # noqa: DJ001 - absent is not empty
    webhook_url = models.CharField("webhook URL", max_length=2048, null=True, blank=True)  # noqa: DJ001 - absent is not empty

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True, blank=True)
    expired_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    paid_late = models.BooleanField(default=False)
    late_price_mail_at = models.DateTimeField(null=True, editable=False)
    unbound_failure_sent = models.BooleanField(default=False, db_default=False, editable=False)
    success_sent = models.BooleanField(default=False, db_default=False, editable=False)
    expiry_check_at = models.DateTimeField()
    is_refund = models.BooleanField(default=False, db_default=False, editable=False)
    has_refunds = models.BooleanField(default=False, db_default=False, editable=False)
    is_simulated = models.BooleanField(default=False, db_default=False, editable=False)
    receipts_mailed = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        ordering = ("-id",)
        constraints = (
            # The operator class lets searches by the beginning of a code use this index.
            models.UniqueConstraint(
                fields=("shortcode",), opclasses=("varchar_pattern_ops",), name="payment_request_shortcode"
            ),
            base_units_constraint("amount", "payment_request"),
            base_units_constraint("amount_paid", "payment_request"),
            base_units_constraint("amount_reorged", "payment_request"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="payment_request_amount_is_positive"),
            models.CheckConstraint(
                condition=~Q(status="completed") | Q(amount_paid__gte=F("amount")),
                name="payment_request_completed_means_paid_in_full",
            ),
        )
        # tests/integration/payments/query_plans/queries.py has the query that needs each index.
        indexes = (
            *(
                models.Index(fields=("merchant", *by, "-created_at", "-id"), name=f"payment_request_{name}")
                for name, by in _LISTED_BY.items()
            ),
            models.Index(
                fields=("merchant", "-created_at", "-id"),
                condition=Q(is_simulated=True),
                name="payment_request_simulated",
            ),
            models.Index(
                fields=("payment_link", "-created_at", "-id"),
                condition=Q(payment_link__isnull=False),
                name="payment_request_by_link",
            ),
            models.Index(
                fields=("payment_link",),
                condition=Q(payment_link__isnull=False, amount_paid__gt=0),
                name="payment_request_paid_by_link",
            ),
            models.Index(
                fields=("expiry_check_at",),
                condition=Q(status="active"),
                name="payment_request_due_for_expiry",
            ),
            models.Index(fields=("created_at",), name="payment_request_created"),
            # Don't add a condition: the planner uses an expression's statistics only if the index covers all rows.
            models.Index(ENDED_AT, name="payment_request_ended"),
            models.Index(
                fields=("-expires_at",),
                condition=Q(amount_paid__gt=F("amount")),
                name="payment_request_more_came",
            ),
            models.Index(
                fields=("-expires_at",),
                condition=Q(status__in=("expired", "cancelled"), amount_paid__gt=0),
                name="payment_request_partly_paid",
            ),
            models.Index(
                fields=("-expires_at",),
                condition=Q(status__in=("active", "expired"), amount_paid__gte=F("amount")),
                name="payment_request_undecided",
            ),
            models.Index(
                fields=("-completed_at",), condition=Q(paid_late=True), name="payment_request_paid_late"
            ),
            models.Index(
                fields=("late_price_mail_at",),
                condition=Q(late_price_mail_at__isnull=False),
                name="payment_request_mail_due",
            ),
            models.Index(fields=("recipient_address", "-id"), name="payment_request_recipient"),
            # For a merchant's list, and for searches in all merchants' requests by the order number or its beginning.
            models.Index(
                OpClass(F("external_id"), name="varchar_pattern_ops"),
                F("merchant"),
                F("created_at").desc(),
                F("id").desc(),
                condition=Q(external_id__isnull=False),
                name="payment_request_by_order",
            ),
        )

    def __str__(self) -> str:
        return self.shortcode

    @property
    def refund_totals(self) -> RefundTotals:
        """The totals from `remember_refunds`, if it was called. Otherwise they are read from the database."""
        remembered: RefundTotals | None = self.__dict__.get("_refund_totals")
        if remembered is not None:
            return remembered
        return self.refunds.totals() if self.has_refunds else RefundTotals()

    def remember_refunds(self, totals: RefundTotals) -> None:
        """Cache the totals on this instance. A list can then read all its requests' refunds in one query."""
        self.__dict__["_refund_totals"] = totals

    @property
    def amount_uncounted(self) -> int:
        """The part of `amount_paid` that was simulated, if the deployment has no sandbox any more."""
        if has_sandbox() or not self.is_simulated:
            return 0
        simulated = self.payments.filter(is_simulated=True, status="completed", reorged=False)
        return int(simulated.aggregate(total=Sum("amount_received"))["total"] or 0)

    @property
    def amount_counted(self) -> int:
        """The paid amount without reversed payments and without `amount_uncounted`."""
        return self.amount_paid - self.amount_reorged - self.amount_uncounted

    @property
    def net(self) -> int:
        """The counted amount minus refunds. It can be negative.

        Open refunds count as sent, because their transactions may be on their way.
        """
        return self.amount_counted - self.refund_totals.taken

    @property
    def is_paid_in_full(self) -> bool:
        """Whether `net` covers the amount. A completed request stays completed even if this becomes false."""
        return self.net >= self.amount

    @property
    def amount_remaining(self) -> int:
        """The unpaid rest. It is 0 once the request is completed."""
        return 0 if self.status == self.Status.COMPLETED else max(self.amount - self.net, 0)

    @property
    def amount_overpaid(self) -> int:
        """The amount that the merchant keeps beyond the requested amount."""
        return max(self.net - self.amount, 0)

    @property
    def paid_beyond(self) -> int:
        """The amount paid beyond the requested amount, before refunds."""
        return max(self.amount_counted - self.amount, 0)

    @property
    def can_be_accepted(self) -> bool:
        """Whether the request is paid in full but not completed. Only the merchant's acceptance then completes it.

        There are two reasons. The payment came after the price had expired. Or a refund was created before the
        payment came, and was cancelled or failed later.
        """
        return self.is_completable and self.is_paid_in_full

    @property
    def is_completable(self) -> bool:
        """Whether the request's status allows its completion."""
        return self.status in (self.Status.ACTIVE, self.Status.EXPIRED)

    @property
    def last_ended_at(self) -> datetime | None:
        """When the request was last completed, expired or cancelled; None while it is active."""
        if self.status == self.Status.ACTIVE:
            return None
        times = (self.completed_at, self.expired_at, self.cancelled_at)
        return max((time for time in times if time is not None), default=None)

    @property
    def is_available(self) -> bool:
        """Whether new routes can be offered: token and chain are active and switched on, and the chain's family is
        installed.

        Refunds are possible in an inactive token and on an inactive chain, unless they are switched off.
        """
        if not (self.chain.is_installed and is_offered(self.token)):
            return False
        if self.is_refund:
            return is_on(Feature.REFUNDS)
        return self.chain.is_active and self.token.is_active

    def is_past_expiry(self, now: datetime) -> bool:
        """True from `expires_at` on, even if no worker has expired the request yet."""
        return now >= self.expires_at
