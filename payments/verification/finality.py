"""Check completed and failed payments again until their block is final: a reorganisation can reverse either result.

A completed payment whose block vanished keeps its status, because a webhook was sent: it is flagged, and the operator
is alerted. The flag ends if the transaction is in the chain again at the depth that payments need. A failed payment is
verified again without using a retry; once its block is final it can't be retried.
"""

import logging
import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from chains.client import Block, ChainClient, ChainError, Head, TransactionFacts
from chains.families import get_client
from chains.models import Chain
from config.api.log_context import log_context
from config.due_work import leases
from config.due_work.leases import FREE
from config.due_work.queue import Queue
from config.tracing.recording import traced
from payments.evaluation.verdicts import Finality
from payments.models import FailureCode, Payment, PaymentRequest
from payments.requests import events
from payments.requests.lifecycle import lock_request
from payments.requests.transitions import note
from payments.verification.reopening import reopen, undo_refund

logger = logging.getLogger(__name__)

BATCH = 500
PAUSE = timedelta(minutes=2)
LONGEST_WAIT = timedelta(hours=24)
# How long a reorganised payment is looked up, in case its transaction is mined again.
REORGED_WATCH = timedelta(days=30)
# On a chain without a finalized block, a block is final at this many times the depth that a payment needs.
FINAL_DEPTH_FACTOR = 2
CHECKS_BEFORE_ALERT = 3
_DEFAULT_CONFIRMATIONS = 64
# A failed swap with a delivery is in the delivery's lane, although its own transaction is what is checked.
FINALITY = Queue(
    model=Payment,
    due="finality_check_at",
    owner="merchant_id",
    waiting="status IN ('completed', 'failed') AND NOT is_simulated",
    lane="lookup_chain_id",
)


def check_finality(
    chain_id: int,
    *,
    client: Callable[[Chain], ChainClient] = get_client,
    now: Callable[[], datetime] = timezone.now,
) -> int:
    """Check the finality of a batch of the payments that are due on this chain; return how many there were."""
    by_chain: dict[Chain, list[Payment]] = defaultdict(list)
    lease = FINALITY.claim(now(), BATCH, chain_id)
    leased = Payment.objects.filter(pk__in=lease.keys).order_by("finality_check_at")
    for payment in leased.select_related("chain", "request__chain"):
        by_chain[_chain_of(payment)].append(payment)
    with leases.kept(lease):
        for chain, payments in by_chain.items():
            held = [payment for payment in payments if lease.holds(payment.pk)]
            try:
                _check_on_chain(held, client(chain), lease.claim_id, now())
            except ChainError:
                _postpone(held, lease.claim_id, now())
            except Exception:
                logger.exception("the finality check on chain %s stopped", chain.pk)
                _postpone(held, lease.claim_id, now())
    return len(lease.keys)


def _held(payments: Sequence[Payment], claim_id: uuid.UUID) -> QuerySet[Payment]:
    """Return the rows that this worker may write: it still holds the lease, and they were not reopened."""
    ids = [payment.pk for payment in payments]
    return Payment.objects.filter(pk__in=ids, claim_id=claim_id, finality_check_at__isnull=False)


def _postpone(payments: Sequence[Payment], claim_id: uuid.UUID, now: datetime) -> None:
    """Check again later: there was no usable response."""
    _held(payments, claim_id).update(finality_check_at=now + PAUSE, **FREE)


def _check_on_chain(
    payments: Sequence[Payment], client: ChainClient, claim_id: uuid.UUID, now: datetime
) -> None:
    if not payments:
        return
    hashes = sorted({_hash_of(payment) for payment in payments})
    snapshot = client.look_up(hashes, with_finality=True)
    for payment in payments:
        if _hash_of(payment) in snapshot.contradicted:
            _postpone([payment], claim_id, now)
            continue
        facts = snapshot.transactions.get(_hash_of(payment))
        check_payment = _check_failed if payment.status == Payment.Status.FAILED else _check_completed
        with (
            log_context(payment_id=payment.pk, payment_request_id=payment.request_id),
            traced("check finality"),
        ):
            try:
                check_payment(payment, facts, snapshot.head, claim_id, now)
            except Exception:
                # A failure of one payment must not delay the others.
                logger.exception("the finality of payment %s could not be checked", payment.pk)
                _postpone([payment], claim_id, now)


def _chain_of(payment: Payment) -> Chain:
    """Return the chain that decided the payment: for a failed one, that of its own transaction."""
    return payment.chain if payment.status == Payment.Status.FAILED else payment.counted_chain


def _hash_of(payment: Payment) -> str:
    return payment.transaction_hash if payment.status == Payment.Status.FAILED else payment.counted_hash


def _check_failed(
    payment: Payment, facts: TransactionFacts | None, head: Head, claim_id: uuid.UUID, now: datetime
) -> None:
    """Reopen a failed payment whose transaction moved to another block or to none; stop checking once it is final.

    A payment that timed out undecided is reopened once its block is final, so that money that arrived before the nodes
    stopped answering still counts.
    """
    held = _held([payment], claim_id)
    block = facts.block if facts else None
    if block is not None and block.hash != payment.block_hash:
        _reopen(payment, claim_id, "its block was reorganised away, and it is in another one")
    elif block is not None and _timed_out_undecided(payment) and _is_final(payment, facts, head):
        _reopen(payment, claim_id, "its block is final by now")
    elif block is not None:
        waited = payment.failed_at is not None and now - payment.failed_at > LONGEST_WAIT
        is_closed = waited or _is_final(payment, facts, head)
        held.update(finality_check_at=None if is_closed else now + PAUSE, unanswered_looks=0, **FREE)
    elif payment.unanswered_looks + 1 < CHECKS_BEFORE_ALERT:
        held.update(unanswered_looks=F("unanswered_looks") + 1, finality_check_at=now + PAUSE, **FREE)
    else:
        _reopen(payment, claim_id, "its block was reorganised away")


def _timed_out_undecided(payment: Payment) -> bool:
    """Whether the payment timed out with a mined transaction. Swaps are excluded: their provider decides."""
    return payment.failure_code == FailureCode.VERIFICATION_TIMED_OUT and payment.quote_id is None


def _reopen(payment: Payment, claim_id: uuid.UUID, reason: str) -> None:
    """Verify a failed payment again without using a retry."""
    with transaction.atomic():
        lock_request(payment.request_id)
        current = _held([payment], claim_id).first()
        if current is not None and current.status == Payment.Status.FAILED:
            reopen(current, actor="finality", reason=reason)


def _check_completed(
    payment: Payment, facts: TransactionFacts | None, head: Head, claim_id: uuid.UUID, now: datetime
) -> None:
    held = _held([payment], claim_id)
    if payment.reorged:
        _check_reorged(payment, facts, head, claim_id, now)
    elif not _is_final(payment, facts, head):
        waited = payment.completed_at is not None and now - payment.completed_at > LONGEST_WAIT
        held.update(finality_check_at=None if waited else now + PAUSE, **FREE)
    elif facts is not None and facts.block is not None and _still_pays(payment, facts):
        held.update(
            finality_check_at=None, unanswered_looks=0, **_block_columns(payment, facts.block), **FREE
        )
    elif payment.unanswered_looks + 1 < CHECKS_BEFORE_ALERT:
        # One empty response is no alert: the transaction has to be missing several times in a row.
        held.update(unanswered_looks=F("unanswered_looks") + 1, finality_check_at=now + PAUSE, **FREE)
    else:
        flag_reorged(payment, claim_id)


def _check_reorged(
    payment: Payment, facts: TransactionFacts | None, head: Head, claim_id: uuid.UUID, now: datetime
) -> None:
    """Clear the flag if the transaction is deep enough in the chain again, else check again ever more rarely."""
    finality = Finality.parse(_chain_of(payment).confirmations)
    is_back = facts is not None and finality.is_reached(facts, head) and _still_pays(payment, facts)
    if is_back and facts is not None and facts.block is not None:
        clear_reorged(
            payment, claim_id, finality_check_at=now + PAUSE, **_block_columns(payment, facts.block)
        )
        return
    age = now - (payment.completed_at or now)
    next_check = None if age > REORGED_WATCH else now + max(PAUSE, age / 10)
    _held([payment], claim_id).update(finality_check_at=next_check, **FREE)


def _block_columns(payment: Payment, block: Block) -> dict[str, Any]:
    """Return the block columns of the delivery or of the payment's own transaction."""
    side = "destination_block" if payment.has_delivery else "block"
    return {f"{side}_number": block.number, f"{side}_hash": block.hash, f"{side}_time": block.time}


def _still_pays(payment: Payment, facts: TransactionFacts) -> bool:
    """Whether the mined transaction still transfers at least what was credited."""
    if not facts.is_readable:
        block_hash = payment.destination_block_hash if payment.has_delivery else payment.block_hash
        return facts.block is not None and facts.block.hash == block_hash
    if not facts.succeeded:
        return False
    moved = {transfer.slot: transfer.amount for transfer in facts.transfers}
    credited = payment.consumed_transfers.values_list("slot", "amount")
    return not facts.is_complete or all(moved.get(slot, 0) >= amount for slot, amount in credited)


def _is_final(payment: Payment, facts: TransactionFacts | None, head: Head) -> bool:
    """Whether the payment's block is final: the block it is in now, or else the one in which it was counted."""
    is_by_delivery = payment.has_delivery and payment.status == Payment.Status.COMPLETED
    counted_at = payment.destination_block_number if is_by_delivery else payment.block_number
    height = facts.block.number if facts and facts.block else counted_at or 0
    if facts is not None and facts.commitment is not None:
        return facts.commitment == "finalized"
    if head.finalized is not None:
        return head.finalized >= height
    needed = Finality.parse(_chain_of(payment).confirmations).confirmations or _DEFAULT_CONFIRMATIONS
    return head.latest - height + 1 >= FINAL_DEPTH_FACTOR * needed


def flag_reorged(payment: Payment, claim_id: uuid.UUID | None = None) -> None:
    """Flag the completed payment as reorged, record its event and alert the operator. Repeating it changes nothing.

    With `claim_id`, only while that claim holds the payment. A refund goes back instead: no goods were shipped for it.
    """
    with transaction.atomic():
        request = lock_request(payment.request_id)
        rows = Payment.objects.filter(pk=payment.pk) if claim_id is None else _held([payment], claim_id)
        if request.is_refund:
            if undo_refund(request, rows.first()):
                logger.error(
                    "payment %s sent a refund, but its block was reorganised away: the refund has failed",
                    payment.pk,
                )
            return
        now = timezone.now()
        next_check = None if payment.is_simulated else now + PAUSE
        if _set_reorged(request, payment, rows, now, reorged=True, finality_check_at=next_check):
            kind = "simulated payment" if payment.is_simulated else "payment"
            logger.error(
                "%s %s is completed, but its block was reorganised away: check it by hand", kind, payment.pk
            )


def clear_reorged(payment: Payment, claim_id: uuid.UUID | None = None, **columns: Any) -> bool:
    """End the payment's flag and record its event; its transaction is in the chain again. False if it has no flag.

    With `claim_id`, only while that claim holds the payment. The request is not completed by it: if it is paid in full
    now, the merchant accepts the payment. `columns` are written as well.
    """
    with transaction.atomic():
        request = lock_request(payment.request_id)
        rows = Payment.objects.filter(pk=payment.pk) if claim_id is None else _held([payment], claim_id)
        return _set_reorged(request, payment, rows, timezone.now(), reorged=False, **columns)


def _set_reorged(
    request: PaymentRequest,
    payment: Payment,
    rows: QuerySet[Payment],
    now: datetime,
    *,
    reorged: bool,
    **columns: Any,
) -> bool:
    """Set or clear the flag, update the locked request's sum, and record the event."""
    unchanged = rows.filter(status=Payment.Status.COMPLETED, reorged=not reorged)
    if not unchanged.update(reorged=reorged, unanswered_looks=0, **columns, **FREE):
        return False
    # The sum, not a difference: it is right also after a worker of the release before has set a flag.
    lost = request.payments.filter(status=Payment.Status.COMPLETED, reorged=True)
    request.amount_reorged = lost.aggregate(total=Sum("amount_received"))["total"] or 0
    PaymentRequest.objects.filter(pk=request.pk).update(amount_reorged=request.amount_reorged)
    payment.reorged = reorged
    reason = "its block was reorganised away" if reorged else "its transaction is in the chain again"
    note(payment, reason, actor="sandbox" if payment.is_simulated else "finality")
    events.record_reorged(request, payment, now)
    return True
