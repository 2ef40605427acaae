"""Reverse results: reopen failed payments, and undo a refund if a reorganisation removed its block."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Q
from django.utils import timezone

from chains.models import Chain
from config.due_work.leases import FREE
from config.due_work.listening import Channel, notify
from payments.models import (
    Authorization,
    ConsumedTransfer,
    FailureCode,
    Lookup,
    Payment,
    PaymentRequest,
    Swap,
)
from payments.requests import events
from payments.requests.new_payments import AWAITED
from payments.requests.transitions import move_payment, move_request
from payments.verification.columns import NOT_HOLDING, UNKNOWN
from payments.verification.outcomes import RESPONDED

# After these failures, the transaction can still appear. After any other failure, a second check would have
# the same result.
GIVEN_UP = frozenset(
    {
        FailureCode.TRANSACTION_NOT_FOUND,
        FailureCode.TRANSACTION_REPLACED,
        FailureCode.VERIFICATION_TIMED_OUT,
    }
)
_REORGED = "The block of the transaction was reorganised away, and the network has it in no other one."
_GONE = "the transaction that executed it was reorganised away"
_ACTOR = "finality"


def is_given_up(payment: Payment) -> bool:
    """Whether the payment failed because its transaction was missing or replaced, or because no result came in time."""
    return payment.status == Payment.Status.FAILED and payment.failure_code in GIVEN_UP


def decided_or_open(chain: Chain, transaction_hashes: Collection[str]) -> set[tuple[UUID, str]]:
    """Return (request id, hash) of payments that discovery would not change if it found their transaction again."""
    undecided = Q(failure_code__in=GIVEN_UP) | Q(lookup__proposal_id=F("transaction_hash"))
    payments = Payment.objects.filter(chain=chain, transaction_hash__in=transaction_hashes)
    known = payments.exclude(undecided, status=Payment.Status.FAILED)
    rows = known.values_list("request_id", "transaction_hash")
    return {(request_id, hash_) for request_id, hash_ in rows if hash_}


def reopen(payment: Payment, *, actor: str, reason: str, **fields: Any) -> None:
    """Verify the failed payment again. The payment's lookups are counted from 0 again. The request must be
    locked.

    For a swap, verification begins again with the customer's transaction. For a proposal that was not executed, it
    begins again with the search for the execution. For a signed transfer whose use was not found in time,
    it begins again with the search for its use.
    """
    now = timezone.now()
    was_timed_out = payment.failure_code == FailureCode.VERIFICATION_TIMED_OUT
    move_payment(
        payment,
        Payment.Status.PENDING,
        actor=actor,
        reason=reason[:500],
        unanswered_looks=0,
        unanswered_since=None,
        failure_code="",
        failure_message="",
        failed_at=None,
        status_detail="Checking it again.",
        verifying_since=now,
        **fields,
    )
    Lookup.objects.filter(of_payment=payment).update(
        attempts=0,
        next_check_at=now,
        finality_check_at=None,
        finality_misses=0,
        claim_id=None,
        lease_until=None,
    )
    # The hash is the proposal's id until the execution is found. After that, it is the execution's hash.
    unexecuted = Lookup.objects.filter(of_payment=payment, proposal_id=payment.transaction_hash)
    unexecuted.update(next_check_at=None, proposal_check_at=now)
    if was_timed_out:
        Lookup.objects.filter(of_payment=payment, transaction_hash="").update(next_check_at=None)
        used = Authorization.objects.filter(payment=payment, ended_at__isnull=False)
        used.update(next_check_at=now, ended_at=None)
    Lookup.objects.filter(of_swap=payment.pk).delete()
    Swap.objects.filter(payment=payment).update(
        polls=0, attempts=0, reported_amount=None, next_poll_at=None, claim_id=None, lease_until=None
    )
    notify(Channel.PAYMENTS, str(payment.chain_id))


def search_again(payment: Payment, now: datetime) -> None:
    """A reorganisation removed the execution of the payment's proposal: search for it again.

    The payment must be locked.
    """
    columns = {"status_detail": AWAITED, **RESPONDED, **NOT_HOLDING}
    if move_payment(payment, Payment.Status.PENDING, actor="verification", reason=_GONE, **columns):
        Lookup.objects.filter(of_payment=payment).update(
            next_check_at=None, proposal_check_at=now, attempts=0, seen_at=None, **UNKNOWN, **FREE
        )


def undo_refund(carrier: PaymentRequest, payment: Payment | None) -> bool:
    """Fail the carrier's completed payment, release its transfers, and open the carrier again. The carrier must be
    locked.

    The refund's status is then `failed`. If the transaction is mined again, it counts like a new transaction once it
    is found by its reference or submitted. Return False and change nothing if the payment is not completed any more.
    """
    if payment is None or payment.status != Payment.Status.COMPLETED:
        return False
    received = payment.amount_received or 0
    ConsumedTransfer.objects.filter(payment=payment).delete()
    move_payment(
        payment,
        Payment.Status.FAILED,
        actor=_ACTOR,
        reason="its block was reorganised away",
        failure_code=FailureCode.TRANSACTION_NOT_FOUND,
        failure_message=_REORGED,
        status_detail=_REORGED,
        failed_at=timezone.now(),
        completed_at=None,
        amount_received=None,
    )
    Lookup.objects.filter(of_payment=payment).update(
        **UNKNOWN, finality_check_at=None, claim_id=None, lease_until=None
    )
    carrier.amount_paid -= received
    left = {"amount_paid": carrier.amount_paid}
    if carrier.status == PaymentRequest.Status.COMPLETED and carrier.amount_paid < carrier.amount:
        reason = "its block was reorganised away"
        move_request(
            carrier, PaymentRequest.Status.ACTIVE, actor=_ACTOR, reason=reason, completed_at=None, **left
        )
    else:
        PaymentRequest.objects.filter(pk=carrier.pk).update(**left)
    events.record_failed(carrier, payment)
    return True
