"""Payments: transactions and arrivals of native coin, submitted or found for a request."""

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils import timezone

from chains.fields import BaseUnitsField, base_units_constraint
from chains.models import Chain, Token
from merchants.identifiers import prefixed_id
from payments.models.request import PaymentRequest
from payments.models.route import PaymentType, Route


def new_payment_id() -> str:
    return prefixed_id("pay_")


class FailureCode(models.TextChoices):
    """Why a payment failed. The values are part of the public API."""

    TRANSACTION_REVERTED = "transaction_reverted"
    WRONG_CHAIN = "wrong_chain"
    WRONG_TOKEN = "wrong_token"  # noqa: S105 - a failure code
    WRONG_RECIPIENT = "wrong_recipient"
    WRONG_AMOUNT = "wrong_amount"
    TRANSACTION_TOO_OLD = "transaction_too_old"
    TRANSACTION_NOT_BOUND = "transaction_not_bound"
    TRANSACTION_AMBIGUOUS = "transaction_ambiguous"
    TRANSACTION_ALREADY_USED = "transaction_already_used"
    TRANSACTION_REPLACED = "transaction_replaced"
    TRANSACTION_NOT_FOUND = "transaction_not_found"
    NOT_VERIFIABLE = "not_verifiable"
    VERIFICATION_TIMED_OUT = "verification_timed_out"
    SWAP_PARTIAL = "swap_partial"
    SWAP_REFUNDED = "swap_refunded"
    SWAP_FAILED = "swap_failed"
    AUTHORIZATION_EXPIRED = "authorization_expired"
    AUTHORIZATION_USED = "authorization_used"


# Another check may reverse these failures. The nodes didn't know the transaction or didn't respond, or only a routing
# provider reported the failure. Only a reorganisation can reverse any other failure, until the transaction's
# block is final.
RETRYABLE_FAILURES = frozenset(
    {
        FailureCode.TRANSACTION_NOT_FOUND,
        FailureCode.TRANSACTION_REPLACED,
        FailureCode.VERIFICATION_TIMED_OUT,
        FailureCode.NOT_VERIFIABLE,
        FailureCode.SWAP_PARTIAL,
        FailureCode.SWAP_REFUNDED,
        FailureCode.SWAP_FAILED,
    }
)
# After these failures, the merchant can accept the payment: money arrived, but nothing links it to the request.
ACCEPTABLE_FAILURES = frozenset(
    {
        FailureCode.TRANSACTION_NOT_BOUND,
        FailureCode.TRANSACTION_AMBIGUOUS,
        FailureCode.NOT_VERIFIABLE,
    }
)
# Failures of transactions that belong to the request but pay nothing.
_FAILURES_OF_THE_REQUEST = frozenset(
    {
        FailureCode.TRANSACTION_AMBIGUOUS,
        FailureCode.TRANSACTION_ALREADY_USED,
        FailureCode.SWAP_PARTIAL,
        FailureCode.SWAP_REFUNDED,
        FailureCode.SWAP_FAILED,
    }
)
MAX_RETRIES = 3
# `Payment.is_anyones` as a condition for queries.
IS_ANYONES = Q(submitted_publicly=True, bound_by="", accepted_by="", quote__isnull=True) & ~Q(
    failure_code__in=sorted(_FAILURES_OF_THE_REQUEST)
)


class Payment(models.Model):
    """One transaction for one request. Only `payments.requests.transitions` writes `status`.

    Small arrivals at a deposit address become one payment, with the hash of the last arrival (`WaitingArrival`).
    Native coin at a deposit address is found by the address's balance (`payments.coins`), so `transaction_hash` is
    null until the customer submits the transaction. Such payments of a request have the `deposit_sequence` 1, 2, 3
    and so on. All other payments have null.

    `lookup` has the nodes' results and the time of the next check. A swap has a `quote`. The quote's id in the
    transaction shows that it pays this request. `swap` has the provider's results.

    Verification:

    - `retries`: how often the payment was reopened.
    - `verifying_since`: the start of the current verification.
    - `unanswered_looks`: the number of checks in a row without a usable response of a node or provider.
      `unanswered_since` is the time of the first.
    - `likely_failure`: the failure code that becomes final once the block is deep enough. Until then, the payment
      neither keeps its request open nor counts toward a limit.
    - `is_in_flight`: the transaction is in a block and bound to the request.
    - `is_bound_unmined`: the transaction's own bytes bind it to the request, but it is in no block yet.
    - `held_from`: when `is_bound_unmined` first became true. This time is never cleared.

    Its transaction:

    - `effect`: a digest of the transaction's effect. A speed-up (the same transfer with a higher fee) has the same
      digest.
    - `replaced_hashes`: earlier hashes.
    - `network_fee`: the fee that the sender paid, in base units of the chain's coin; null if unknown.
    - `carries_others`: the transaction may pay other requests too.
    - `after_price`: the payment was credited after the request's price had expired. Only the merchant's acceptance
      then completes the request.
    - `is_sponsored`: the payer signed the transfer (`authorization`), and a gas account sends it.

    Its origin:

    - `submitter`: a keyed digest of the client's IP address, never the address itself.
    - `accepted_by`, `accepted_at`: who accepted an unbound transaction as payment, and when.
    - `sender_signed_at`: when the sender proved, after the transaction, that it pays this request.
    - `is_simulated`: the sandbox created the payment. A simulated payment is never looked up on a chain.
    """

    class Status(models.TextChoices):
        """For the allowed changes, see `payments.requests.transitions`."""

        PENDING = "pending"
        PROCESSING = "processing"
        COMPLETED = "completed"
        FAILED = "failed"

    Type = PaymentType

    class BoundBy(models.TextChoices):
        REFERENCE = "reference"
        PAYER = "payer"
        PROVIDER = "provider"
        ADDRESS = "address"
        AUTHORIZATION = "authorization"
        MANUAL = "manual"

    OPEN = (Status.PENDING, Status.PROCESSING)

    id = models.CharField(max_length=28, primary_key=True, default=new_payment_id, editable=False)
    request = models.ForeignKey(
        PaymentRequest, on_delete=models.PROTECT, related_name="payments", db_index=False
    )
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.PENDING)
    type = models.CharField(max_length=8, choices=Type.choices, default=Type.DIRECT)
    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+")
    # Null, not "", so that a request can have several payments without a hash.
    transaction_hash = models.CharField(max_length=90, null=True, blank=True)  # noqa: DJ001
    deposit_sequence = models.PositiveIntegerField(null=True, blank=True, editable=False)
    route = models.ForeignKey(
        Route, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    submitted_publicly = models.BooleanField(default=True)
    quote = models.ForeignKey(
        "payments.Quote",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="payments",
        db_index=False,
    )
    is_simulated = models.BooleanField(default=False, db_default=False, editable=False)
    is_sponsored = models.BooleanField(default=False, db_default=False, editable=False)

    from_address = models.CharField(max_length=64, blank=True)
    nonce = models.BigIntegerField(null=True, blank=True)
    token = models.ForeignKey(
        Token, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    amount = BaseUnitsField(null=True, blank=True)
    amount_received = BaseUnitsField(null=True, blank=True)
    value = models.JSONField(null=True, blank=True)
    value_due_at = models.DateTimeField(null=True, blank=True, editable=False)
    bound_by = models.CharField(max_length=16, choices=BoundBy.choices, blank=True)

    is_in_flight = models.BooleanField(default=False)
    carries_others = models.BooleanField(default=False)
    accepted_by = models.CharField(max_length=100, blank=True)
    accepted_reason = models.CharField(max_length=500, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True, editable=False)
    sender_signed_at = models.DateTimeField(null=True, blank=True, editable=False)
    reorged = models.BooleanField(default=False)
    after_price = models.BooleanField(default=False, db_default=False, editable=False)

    submitter = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    is_bound_unmined = models.BooleanField(default=False, db_default=False)
    held_from = models.DateTimeField(null=True, blank=True, editable=False)
    effect = models.CharField(max_length=66, blank=True, default="", db_default="")
    network_fee = BaseUnitsField(null=True, blank=True, editable=False)
    replaced_hashes = models.JSONField(default=list, db_default=[], blank=True)
    likely_failure = models.CharField(
        max_length=32, choices=FailureCode.choices, blank=True, default="", db_default=""
    )

    status_detail = models.CharField(max_length=500, blank=True)
    failure_code = models.CharField(max_length=32, choices=FailureCode.choices, blank=True)
    failure_message = models.CharField(max_length=500, blank=True)
    retries = models.PositiveSmallIntegerField(default=0)
    reopened_publicly = models.BooleanField(default=False)
    unanswered_looks = models.PositiveIntegerField(default=0)
    unanswered_since = models.DateTimeField(null=True, blank=True)

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    verifying_since = models.DateTimeField(default=timezone.now)
    completed_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            models.UniqueConstraint(
                fields=("request", "chain", "transaction_hash"),
                name="payment_is_one_per_request_and_transaction",
            ),
            base_units_constraint("amount", "payment"),
            base_units_constraint("amount_received", "payment"),
            base_units_constraint("network_fee", "payment"),
            models.CheckConstraint(
                condition=~Q(status="completed") | Q(amount_received__isnull=False, amount_received__gt=0),
                name="payment_completed_means_something_came",
            ),
        )
        indexes = (
            models.Index(
                fields=("chain",), condition=Q(status__in=("pending", "processing")), name="payment_open"
            ),
            models.Index(
                fields=("unanswered_since",),
                condition=Q(status__in=("pending", "processing"), unanswered_since__isnull=False),
                name="payment_unanswered",
            ),
            models.Index(fields=("transaction_hash",), name="payment_transaction_hash"),
            models.Index(
                fields=("completed_at",),
                condition=Q(completed_at__isnull=False),
                name="payment_completed",
            ),
            models.Index(
                fields=("value_due_at",),
                condition=Q(value_due_at__isnull=False),
                name="payment_due_for_value",
            ),
            models.Index(fields=("completed_at",), condition=Q(reorged=True), name="payment_reorged"),
            models.Index(
                fields=("failed_at",),
                condition=Q(
                    status="failed",
                    failure_code__in=("not_verifiable", "transaction_ambiguous", "transaction_not_bound"),
                ),
                name="payment_acceptable",
            ),
            models.Index(fields=("-created_at", "-id"), name="payment_newest"),
            models.Index(fields=("from_address", "-created_at"), name="payment_sender"),
            models.Index(
                fields=("failure_code", "-created_at"),
                condition=~Q(failure_code=""),
                name="payment_failed_why",
            ),
        )

    def __str__(self) -> str:
        return self.id

    @property
    def is_open(self) -> bool:
        return self.status in self.OPEN

    @property
    def own_hash(self) -> str:
        """The transaction's hash, or "" if the payment is native coin whose transaction was not submitted."""
        return self.transaction_hash or ""

    @property
    def is_bound(self) -> bool:
        """Whether the transaction is known to pay the request.

        True for every completed payment. True for an open payment whose mined or unmined transaction is bound to the
        request.
        """
        return self.status == self.Status.COMPLETED or (
            self.is_open and (self.is_in_flight or self.is_bound_unmined)
        )

    @property
    def is_anyones(self) -> bool:
        """Whether nothing links the transaction to the request, so that anyone could have submitted it."""
        was_bound = self.bound_by != "" or self.accepted_by != "" or self.quote_id is not None
        return self.submitted_publicly and not was_bound and self.failure_code not in _FAILURES_OF_THE_REQUEST

    @property
    def attempts(self) -> int:
        """The number of lookups that did not find the transaction.

        For a swap, lookups of the reported delivery count too.
        """
        swap = getattr(self, "swap", None)
        return self.lookup.attempts + (swap.attempts if swap is not None else 0)

    @property
    def due_at(self) -> datetime | None:
        """The time of the next query, or None once the payment is decided."""
        swap = getattr(self, "swap", None)
        delivery = getattr(swap, "delivery", None)
        times = (
            self.lookup.next_check_at,
            self.lookup.proposal_check_at,
            swap.next_poll_at if swap is not None else None,
            delivery.next_check_at if delivery is not None else None,
        )
        return min((each for each in times if each is not None), default=None)

    @property
    def explorer_url(self) -> str | None:
        """The transaction's page on the chain's explorer, or None if there is no explorer or no known transaction.

        For a failed proposal, it is the page of the transaction in which the execution failed.
        """
        base = "" if self.is_simulated else self.chain.explorer_url.rstrip("/")
        is_difference = self.deposit_sequence is not None
        hash_ = self.transaction_hash if is_difference else self.lookup.transaction_hash
        return f"{base}/tx/{hash_}" if base and hash_ and hash_ != self.lookup.proposal_id else None

    @property
    def delivery_explorer_url(self) -> str | None:
        """The explorer's page of the swap's delivery, if the delivery is a separate, real transaction."""
        delivery = getattr(getattr(self, "swap", None), "delivery", None)
        base = "" if delivery is None or self.is_simulated else self.request.chain.explorer_url.rstrip("/")
        return f"{base}/tx/{delivery.transaction_hash}" if delivery is not None and base else None

    @property
    def delivery_confirmations_required(self) -> int | None:
        """The confirmations that the swap's delivery needs, if it is a separate transaction. None if a tag such as
        `finalized` decides.
        """
        rule = self.request.chain.confirmations
        has_delivery = getattr(getattr(self, "swap", None), "delivery", None) is not None
        return int(rule) if has_delivery and rule.isdigit() else None

    @property
    def delivered_by(self) -> str | None:
        """The hash of the swap's delivery. Until the delivery is verified, this is the hash that the provider
        reports.
        """
        delivery = getattr(getattr(self, "swap", None), "delivery", None)
        if delivery is not None:
            return str(delivery.transaction_hash)
        return self.transaction_hash if self.status == self.Status.COMPLETED else None

    @property
    def expected_amount(self) -> int:
        """The amount that an unfinished payment will probably add, in base units of the requested token."""
        if self.quote is not None:
            return self.quote.amount_out_min
        return self.amount or 0

    @property
    def is_retryable(self) -> bool:
        """Whether another check may reverse the failure.

        Another check may reverse any failure in `RETRYABLE_FAILURES`. Any other failure can only be reversed by a
        reorganisation, until the block is final.
        """
        is_open_question = (
            self.failure_code in RETRYABLE_FAILURES or self.lookup.finality_check_at is not None
        )
        return self.status == self.Status.FAILED and is_open_question

    @property
    def retries_left(self) -> int:
        """The retries that are left for a failed payment. 0 if a retry can't change the result."""
        if self.failure_code and not self.is_retryable:
            return 0
        return max(MAX_RETRIES - self.retries, 0)
