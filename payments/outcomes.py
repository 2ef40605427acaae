"""Writing what a look at the chain led to. Each function is one transaction, guarded by the worker's claim.

Whoever changes a request or one of its payments locks the request first, so that completion, expiry and cancellation
happen one after the other.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from chains.amounts import display_amount
from chains.clients.base import TransactionFacts, Transfer
from payments import announcements
from payments.judging import Finality, NotYet, Paid
from payments.models import ConsumedTransfer, FailureCode, Payment, PaymentRequest
from payments.requests import lock_request
from payments.transitions import move_payment, move_request

Status = Payment.Status
RequestStatus = PaymentRequest.Status

# After this long without an answer, or without enough depth, the payment fails, and may be retried (contract 6).
LONGEST_WAIT = timedelta(hours=24)
# When a completed payment is looked at once more, to see whether its block became final (contract 6).
FIRST_FINALITY_LOOK = timedelta(minutes=2)
_FREE: dict[str, Any] = {"claim_id": None, "lease_until": None}


class ClaimLost(Exception):
    """Another worker holds the payment now; nothing of this one's work may stand."""


def _actor(payment: Payment) -> str:
    return "sandbox" if payment.is_simulated else "verification"


def complete(
    payment: Payment,
    claim_id: uuid.UUID,
    verdict: Paid,
    facts: TransactionFacts | None,
    finality: Finality,
    now: datetime,
) -> bool:
    """Consume the transfers, complete the payment and, if it is then paid in full, the request.

    Returns False, with nothing written, when the claim was lost. When other payments have consumed every transfer, the
    payment fails as `transaction_already_used`.
    """
    try:
        with transaction.atomic():
            request = lock_request(payment.request_id)
            consumed = [transfer for transfer in verdict.bound.transfers if _consume(payment, transfer)]
            if not consumed:
                message = "What this transaction paid was credited to another request already."
                return _fail(payment, request, claim_id, FailureCode.TRANSACTION_ALREADY_USED, message, now)
            received = sum(transfer.amount for transfer in consumed)
            moved = move_payment(
                payment,
                Status.COMPLETED,
                actor=_actor(payment),
                held_by=claim_id,
                amount=received,
                amount_received=received,
                token=request.token,
                from_address=facts.sender if facts else consumed[0].sender,
                bound_by=verdict.bound.by,
                carries_others=_carries_others(request, facts),
                unanswered_looks=0,
                block_number=verdict.block.number,
                block_hash=verdict.block.hash,
                block_time=verdict.block.time,
                confirmations=verdict.confirmations,
                confirmations_required=finality.confirmations,
                is_in_flight=False,
                status_detail=_verified(payment, request, received),
                completed_at=now,
                next_check_at=None,
                finality_check_at=None if payment.is_simulated else now + FIRST_FINALITY_LOOK,
                **_FREE,
            )
            if not moved:
                raise ClaimLost
            _credit(request, payment, received, verdict.block.time, now)
    except ClaimLost:
        return False
    return True


def _carries_others(request: PaymentRequest, facts: TransactionFacts | None) -> bool:
    """Whether the transaction holds references that are not this request's: it may pay another one as well."""
    own = bytes(request.reference)
    return facts is not None and any(
        ref != own for transfer in facts.transfers for ref in transfer.references
    )


def _verified(payment: Payment, request: PaymentRequest, received: int) -> str:
    """Say what the payment made of the request: paid, still short of something, or more than was asked."""
    symbol, decimals = request.token.symbol, request.token.decimals
    lead = "Simulated, no money moved" if payment.is_simulated else "Verified on the chain"
    missing = request.amount - request.amount_paid - received
    if missing > 0:
        return f"{lead}; {display_amount(missing, decimals)} {symbol} is still to be paid."
    if missing < 0:
        return f"{lead}; {display_amount(-missing, decimals)} {symbol} more than was asked for."
    return f"{lead}."


def fail(
    payment: Payment,
    claim_id: uuid.UUID,
    code: FailureCode,
    message: str,
    now: datetime,
    *,
    facts: TransactionFacts | None = None,
    arrived: int | None = None,
) -> bool:
    """Fail the payment and tell the merchant; False when the claim was lost.

    What is known of the transaction is kept: `facts`, and `arrived` base units that reached the recipient.
    """
    with transaction.atomic():
        request = lock_request(payment.request_id)
        return _fail(payment, request, claim_id, code, message, now, **_known(facts, arrived, request))


def _known(facts: TransactionFacts | None, arrived: int | None, request: PaymentRequest) -> dict[str, Any]:
    """Return the columns that tell of a refused transaction."""
    known: dict[str, Any] = {}
    if facts is not None and facts.block is not None:
        known |= {
            "from_address": facts.sender,
            "block_number": facts.block.number,
            "block_hash": facts.block.hash,
            "block_time": facts.block.time,
        }
    if arrived:
        known |= {"amount": arrived, "token": request.token}
    return known


def fail_as_not_found(payment: Payment, claim_id: uuid.UUID, now: datetime) -> bool:
    """Fail a payment whose transaction no node knows after all retries."""
    message = (
        "The network does not know this transaction. It may never have been sent, or was replaced by another."
    )
    return fail(payment, claim_id, FailureCode.TRANSACTION_NOT_FOUND, message, now)


def look_again_for_missing(payment: Payment, claim_id: uuid.UUID, next_look: datetime) -> None:
    """Use one retry: healthy nodes answered, and the transaction is not there (or is no longer)."""
    _postpone(
        payment,
        claim_id,
        next_look,
        attempts=payment.attempts + 1,
        unanswered_looks=0,
        unanswered_since=None,
        block_number=None,
        block_hash="",
        block_time=None,
        confirmations=0,
        is_in_flight=False,
        status_detail="Not seen on the network yet; looking again.",
    )


def keep_unanswered(payment: Payment, claim_id: uuid.UUID, *, next_look: datetime, now: datetime) -> None:
    """Wait for the network's nodes to answer, for 24 hours at most."""
    if _waited_too_long(payment, now):
        _time_out(payment, claim_id, now)
        return
    since = payment.unanswered_since or now
    _postpone(
        payment,
        claim_id,
        next_look,
        unanswered_looks=payment.unanswered_looks + 1,
        unanswered_since=since,
        status_detail=f"The network's nodes have not answered since {since:%H:%M} UTC; asking again.",
    )


def keep_waiting(
    payment: Payment,
    claim_id: uuid.UUID,
    verdict: NotYet,
    facts: TransactionFacts | None,
    finality: Finality,
    *,
    next_look: datetime,
    now: datetime,
) -> None:
    """Note how far the transaction has come, for 24 hours at most."""
    if _waited_too_long(payment, now):
        _time_out(payment, claim_id, now)
        return
    block = verdict.block
    _postpone(
        payment,
        claim_id,
        next_look,
        unanswered_looks=0,
        unanswered_since=None,
        from_address=facts.sender if facts else payment.from_address,
        nonce=facts.nonce if facts else payment.nonce,
        amount=verdict.amount,
        block_number=block.number if block else None,
        block_hash=block.hash if block else "",
        block_time=block.time if block else None,
        confirmations=verdict.confirmations,
        confirmations_required=finality.confirmations,
        is_in_flight=block is not None,
        status_detail=verdict.detail,
    )


def _consume(payment: Payment, transfer: Transfer) -> bool:
    """Take the transfer for this payment; False if it was credited before. The unique constraint decides."""
    try:
        with transaction.atomic():
            ConsumedTransfer.objects.create(
                chain_id=payment.chain_id,
                transaction_hash=payment.transaction_hash,
                slot=transfer.slot,
                payment=payment,
                amount=transfer.amount,
            )
    except IntegrityError:
        return False
    return True


def _credit(
    request: PaymentRequest, payment: Payment, received: int, paid_at: datetime, now: datetime
) -> None:
    """Add what was received to the locked request, and tell what that makes of it (contract 5)."""
    was_paid_in_full = request.amount_remaining == 0
    request.amount_paid += received
    PaymentRequest.objects.filter(pk=request.pk).update(amount_paid=request.amount_paid)
    if was_paid_in_full:
        announcements.announce_overpaid(request, payment)
    elif request.amount_paid < request.amount:
        announcements.announce_partially_paid(request, payment)
    else:
        if request.status != RequestStatus.CANCELLED:
            late = paid_at > request.expires_at
            move_request(
                request,
                RequestStatus.COMPLETED,
                actor=_actor(payment),
                reason=payment.id,
                completed_at=now,
                paid_late=late,
            )
        announcements.announce_succeeded(request, payment)


def _fail(
    payment: Payment,
    request: PaymentRequest,
    claim_id: uuid.UUID,
    code: FailureCode,
    message: str,
    now: datetime,
    **known: Any,
) -> bool:
    moved = move_payment(
        payment,
        Status.FAILED,
        actor=_actor(payment),
        reason=code.value,
        held_by=claim_id,
        failure_code=code,
        failure_message=message,
        status_detail=f"Simulated, no money moved. {message}" if payment.is_simulated else message,
        is_in_flight=False,
        failed_at=now,
        next_check_at=None,
        **_FREE,
        **known,
    )
    if moved:
        announcements.announce_failed(request, payment)
    return moved


def _time_out(payment: Payment, claim_id: uuid.UUID, now: datetime) -> bool:
    message = "The transaction could not be confirmed within 24 hours. It can be looked at again."
    return fail(payment, claim_id, FailureCode.VERIFICATION_TIMED_OUT, message, now)


def _waited_too_long(payment: Payment, now: datetime) -> bool:
    return now - payment.verifying_since >= LONGEST_WAIT


def _postpone(payment: Payment, claim_id: uuid.UUID, next_look: datetime, **fields: Any) -> None:
    """Give the claim back and look again at `next_look`; nothing is written once the claim is lost."""
    Payment.objects.filter(pk=payment.pk, claim_id=claim_id, status=Status.PROCESSING).update(
        next_check_at=next_look, **_FREE, **fields
    )
