"""Store the result of a check. Each function is one transaction, guarded by the worker's claim id.

Every change of a request or its payments locks the request first, so that completion, expiry and cancellation never
run at the same time.
"""

import uuid
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from chains.amounts import display_amount
from chains.client import TransactionFacts
from chains.models import Token
from payments.evaluation.verdicts import Finality, NotYet, Paid
from payments.models import FailureCode, Payment, PaymentRequest, Quote
from payments.requests import crediting, events
from payments.requests.lifecycle import lock_request
from payments.requests.transitions import move_payment, move_request
from payments.verification.columns import (
    UNKNOWN,
    block_columns,
    paid_columns,
    refusal_columns,
    sighting_columns,
    waiting_columns,
)
from payments.verification.consumption import consume
from payments.verification.leasing import FREE, postpone, unless_brought_forward
from payments.verification.retry_policy import is_timed_out

Status = Payment.Status
RequestStatus = PaymentRequest.Status

# When a completed or failed payment is first checked for finality of its block.
FIRST_FINALITY_CHECK = timedelta(minutes=2)


class LeaseLost(Exception):
    """Another worker holds the lease now, so nothing may be written."""


class DeliveryTaken(Exception):
    """Another payment was credited with this delivery in the meantime; nothing was written."""


def _actor(payment: Payment) -> str:
    return "sandbox" if payment.is_simulated else "verification"


def complete(
    payment: Payment,
    claim_id: uuid.UUID,
    verdict: Paid,
    facts: TransactionFacts | None,
    finality: Finality,
    now: datetime,
    *,
    quote: Quote | None = None,
) -> bool:
    """Consume the transfers, complete the payment and, if it is then paid in full, the request.

    `quote` is the quote that the transaction names. Return False, with nothing written, if the lease was lost. If
    other payments have consumed every transfer, the payment fails as `transaction_already_used`.

    Raises DeliveryTaken if the transfers are a delivery and other payments have consumed all of them.
    """
    try:
        with transaction.atomic():
            request = lock_request(payment.request_id)
            received = consume(payment, verdict.bound.transfers)
            if not received and payment.has_delivery:
                raise DeliveryTaken
            if not received:
                message = "This transaction has already been used to pay another request."
                columns = refusal_columns(payment, facts, None, request, now)
                code = FailureCode.TRANSACTION_ALREADY_USED
                return _fail(payment, request, claim_id, code, message, now, **columns)
            tokens = Token.objects.filter(chain=payment.counted_chain).values_list(
                "contract_address", flat=True
            )
            credited = payment.consumed_transfers.values_list("slot", flat=True)
            columns = completion_columns(
                payment,
                request,
                verdict,
                facts,
                finality,
                now,
                received=received,
                quote=quote,
                carries_others=carries_others(payment, facts, tokens=set(tokens), credited=set(credited)),
            )
            moved = move_payment(
                payment, Status.COMPLETED, actor=_actor(payment), held_by=claim_id, **columns
            )
            if not moved:
                raise LeaseLost
            _credit(request, payment, paid_at(payment, verdict), now)
    except LeaseLost:
        return False
    return True


def completion_columns(
    payment: Payment,
    request: PaymentRequest,
    verdict: Paid,
    facts: TransactionFacts | None,
    finality: Finality,
    now: datetime,
    *,
    received: int,
    quote: Quote | None,
    carries_others: bool,
) -> dict[str, Any]:
    """Return the columns of a payment that completes with `received` base units, before the request is credited."""
    after_price = crediting.is_after_price(request, payment, paid_at(payment, verdict))
    return {
        "amount_received": received,
        "after_price": after_price,
        "carries_others": carries_others,
        "unanswered_looks": 0,
        "is_in_flight": False,
        "is_bound_unmined": False,
        "likely_failure": "",
        "is_bridging": False,
        "status_detail": _verified(payment, request, received, after_price=after_price),
        "completed_at": now,
        "value_due_at": now if request.token.price_as and not request.is_refund else None,
        "next_check_at": None,
        "finality_check_at": None if payment.is_simulated else now + FIRST_FINALITY_CHECK,
        **FREE,
        **paid_columns(payment, request, verdict.bound, received, quote),
        **block_columns(payment, verdict, finality),
        **({} if payment.has_delivery else sighting_columns(payment, facts, now)),
    }


def paid_at(payment: Payment, verdict: Paid) -> datetime:
    """Return the time of the first block in which our nodes saw the transfer or, for a delivery, of its block."""
    if payment.has_delivery or payment.first_block_time is None:
        return verdict.block.time
    return min(payment.first_block_time, verdict.block.time)


def carries_others(
    payment: Payment, facts: TransactionFacts | None, *, tokens: Collection[str], credited: Collection[str]
) -> bool:
    """Whether the transaction has transfers left that may pay another request.

    `tokens` are the addresses of the chain's tokens, `credited` the slots that the payment is credited with. The other
    transfer need not carry a reference: a payer's proof or the merchant may bind it.
    """
    if facts is None:
        return False
    recipients = {
        transfer.recipient
        for transfer in facts.transfers
        if transfer.amount > 0 and transfer.token in tokens and transfer.slot not in credited
    }
    wanted = PaymentRequest.objects.filter(chain=payment.counted_chain, recipient_address__in=recipients)
    return bool(recipients) and wanted.exists()


def _verified(payment: Payment, request: PaymentRequest, received: int, *, after_price: bool) -> str:
    """Return the status detail: paid in full, what remains, how much was overpaid, or that the price had expired."""
    symbol, decimals = request.token.symbol, request.token.decimals
    lead = "Simulated, no money moved" if payment.is_simulated else "Verified on the chain"
    if after_price:
        return f"{lead}; it came after the price had expired, so the merchant decides whether to accept it."
    missing = request.amount - request.net - received
    if missing > 0 and request.status != RequestStatus.COMPLETED:
        return f"{lead}; {display_amount(missing, decimals)} {symbol} is still to be paid."
    if missing < 0:
        return f"{lead}; {display_amount(-missing, decimals)} {symbol} more than requested."
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
    columns: Mapping[str, Any] | None = None,
) -> bool:
    """Fail the payment and record its event; return False if the lease was lost.

    `facts` and `arrived` (base units that reached the recipient) are stored. `columns` are written as well.
    """
    with transaction.atomic():
        request = lock_request(payment.request_id)
        all_columns = {**refusal_columns(payment, facts, arrived, request, now), **(columns or {})}
        return _fail(payment, request, claim_id, code, message, now, **all_columns)


def fail_as_not_found(payment: Payment, claim_id: uuid.UUID, now: datetime) -> bool:
    """Fail a payment whose transaction no node knows after all retries."""
    message = (
        "The network does not know this transaction. It may never have been sent, or was replaced by another."
    )
    return fail(payment, claim_id, FailureCode.TRANSACTION_NOT_FOUND, message, now)


def retry_missing(payment: Payment, claim_id: uuid.UUID, next_check: datetime) -> None:
    """Use one retry: healthy nodes answered that they don't know the transaction."""
    postpone(payment, claim_id, next_check, **missing_columns(payment))


def missing_columns(payment: Payment) -> dict[str, Any]:
    """Return the columns of a payment whose transaction healthy nodes don't know, with one retry used."""
    detail = (
        "The network no longer knows the transaction; checking again."
        if payment.is_seen
        else "Not seen on the network yet; checking again."
    )
    return {
        "attempts": payment.attempts + 1,
        "unanswered_looks": 0,
        "unanswered_since": None,
        "status_detail": detail,
        **UNKNOWN,
    }


def keep_unanswered(payment: Payment, claim_id: uuid.UUID, *, next_check: datetime, now: datetime) -> None:
    """Check again later because no node answered; time out after 24 hours."""
    if is_timed_out(payment, now):
        _time_out(payment, claim_id, now)
        return
    since = payment.unanswered_since or now
    postpone(
        payment,
        claim_id,
        next_check,
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
    next_check: datetime,
    now: datetime,
    quote: Quote | None = None,
) -> None:
    """Store the progress of a transaction that can't be counted yet; time out after 24 hours.

    `quote` is the quote that the transaction names.
    """
    if is_timed_out(payment, now):
        _time_out(payment, claim_id, now)
        return
    columns = progress_columns(payment, verdict, facts, finality, now, quote)
    postpone(payment, claim_id, unless_brought_forward(payment, next_check), **columns)


def progress_columns(
    payment: Payment,
    verdict: NotYet,
    facts: TransactionFacts | None,
    finality: Finality,
    now: datetime,
    quote: Quote | None,
) -> dict[str, Any]:
    """Return the columns of a payment whose transaction can't be counted yet."""
    return {
        "unanswered_looks": 0,
        "unanswered_since": None,
        "status_detail": verdict.detail,
        **waiting_columns(payment, verdict, facts, now, quote),
        **block_columns(payment, verdict, finality),
    }


def _credit(request: PaymentRequest, payment: Payment, paid_at: datetime, now: datetime) -> None:
    """Add what the payment delivered to the locked request, update its status and record the event."""
    event_type = crediting.credit(request, payment)
    columns = crediting.credit_columns(request, event_type, now)
    PaymentRequest.objects.filter(pk=request.pk).update(**columns)
    if crediting.completes(request, event_type):
        columns = crediting.completion_columns(request, paid_at, now)
        actor = _actor(payment)
        move_request(request, RequestStatus.COMPLETED, actor=actor, reason=payment.id, **columns)
    events.record_credit(event_type, request, payment)


def _fail(
    payment: Payment,
    request: PaymentRequest,
    claim_id: uuid.UUID,
    code: FailureCode,
    message: str,
    now: datetime,
    *,
    is_silent: bool = False,
    **columns: Any,
) -> bool:
    is_mined = columns.get("block_number", payment.block_number) is not None
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
        is_bound_unmined=False,
        likely_failure="",
        is_bridging=False,
        failed_at=now,
        next_check_at=None,
        # Until its block is final, a reorganisation can reverse the failure.
        finality_check_at=now + FIRST_FINALITY_CHECK if is_mined and not payment.is_simulated else None,
        **FREE,
        **{"unanswered_looks": 0, **columns},
    )
    if moved and not is_silent:
        events.record_failed(request, payment)
    return moved


def fail_as_replaced(
    payment: Payment, request: PaymentRequest, claim_id: uuid.UUID, now: datetime, *, is_silent: bool
) -> bool:
    """Fail a payment of the locked request whose nonce was used by another transaction.

    With `is_silent`, no event is recorded: another payment of the request continues with that transaction.
    """
    message = "The wallet sent another transaction in its place."
    code = FailureCode.TRANSACTION_REPLACED
    return _fail(payment, request, claim_id, code, message, now, is_silent=is_silent)


def _time_out(payment: Payment, claim_id: uuid.UUID, now: datetime) -> bool:
    message = "The transaction could not be confirmed within 24 hours. You can retry the payment."
    return fail(payment, claim_id, FailureCode.VERIFICATION_TIMED_OUT, message, now)
