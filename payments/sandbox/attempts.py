"""Verify a simulated payment like a worker: lease it, and let the engine evaluate invented facts."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from chains.client import TransactionFacts
from config.api.errors import ApiError, ErrorCode
from config.due_work.leases import FREE
from payments.evaluation.binding import Evidence
from payments.evaluation.retry_policy import LONGEST_WAIT
from payments.models import Lookup, Payment, PaymentRequest, delivery_of
from payments.requests.new_payments import create_payment
from payments.requests.transitions import move_payment, note
from payments.requests.watching import tell_watchers
from payments.sandbox.facts import ACTOR, check, new_hash, terms
from payments.swaps import deliveries
from payments.verification.attempts import outcome_of
from payments.verification.evidence import EvaluationInput
from payments.verification.outcomes import Outcome
from payments.verification.storing import store

MARK = "Simulated, no money moved."


@dataclass(frozen=True)
class Attempt:
    """A leased simulated payment. The request is locked. `now` is the time of the check."""

    request: PaymentRequest
    payment: Payment
    claim_id: uuid.UUID
    now: datetime

    @property
    def hash(self) -> str:
        return self.payment.own_hash

    def finish(
        self,
        transactions: Mapping[str, TransactionFacts | None],
        *,
        evidence: Evidence | None = None,
        replacement: TransactionFacts | None = None,
    ) -> Payment:
        """Decide the payment by these transactions. Each is in a final block."""
        evaluation_input = EvaluationInput(terms(self.request, self.now, evidence))
        outcome = outcome_of(
            delivery_of(self.payment) or self.payment.lookup,
            evaluation_input,
            check(self.request, self.claim_id, transactions, self.now),
            swaps=deliveries,
            replacement=replacement,
        )
        return self.decide(outcome)

    def decide(self, outcome: Outcome) -> Payment:
        store([outcome], self.claim_id, self.now)
        self.payment.refresh_from_db()
        if self.payment.is_open:
            raise RuntimeError(f"{self.payment.id} was simulated but not decided")
        return self.payment


def open_payment(request: PaymentRequest, payment_id: str | None = None) -> Payment | None:
    """Return the open simulated payment with this id. Without an id, return the newest one.

    Raises ApiError `parameter_invalid` if there is no open simulated payment with this id.
    """
    payments = request.payments.filter(is_simulated=True, status__in=Payment.OPEN)
    if payment_id is not None:
        payments = payments.filter(pk=payment_id)
    payment = payments.select_related("chain", "lookup").order_by("-created_at", "-id").first()
    if payment is None and payment_id is not None:
        message = f"There is no open simulated payment {payment_id} of this payment request."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "payment_id")
    if payment is not None:
        payment.request = request
    return payment


def create(request: PaymentRequest) -> Payment:
    """Store a payment as if its hash had been submitted."""
    now = timezone.now()
    return create_payment(
        request,
        request.chain,
        new_hash(request),
        actor=ACTOR,
        next_check_at=now + LONGEST_WAIT,
        submitted_publicly=False,
        is_simulated=True,
        status_detail="Simulated.",
        created_at=now,
        verifying_since=now,
    )


def lease(
    request: PaymentRequest, why: str, payment: Payment | None = None, *, now: datetime | None = None
) -> Attempt:
    """Lease this payment, or a new one. The request must be locked."""
    payment = payment or create(request)
    claim_id = uuid.uuid4()
    if payment.status == Payment.Status.PENDING:
        move_payment(payment, Payment.Status.PROCESSING, actor=ACTOR, reason=why)
    else:
        note(payment, why, actor=ACTOR)
    write_lookup(payment, claim_id=claim_id)
    return Attempt(request, payment, claim_id, now or timezone.now())


def write(payment: Payment, **columns: Any) -> None:
    Payment.objects.filter(pk=payment.pk).update(**columns)
    for name, value in columns.items():
        setattr(payment, name, value)


def write_lookup(payment: Payment, **columns: Any) -> None:
    Lookup.objects.filter(of_payment=payment).update(**columns)
    for name, value in columns.items():
        setattr(payment.lookup, name, value)


def keep_open(payment: Payment, detail: str) -> Payment:
    """Release the lease. The payment waits for the next simulated outcome, or times out."""
    write(payment, status_detail=f"{MARK} {detail}")
    write_lookup(payment, **FREE, next_check_at=payment.verifying_since + LONGEST_WAIT)
    tell_watchers(payment.request_id)
    return payment
