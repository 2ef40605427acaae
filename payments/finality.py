"""One more look at decided payments once their block is final, since a reorganisation can turn either decision.

A completed payment whose block vanished keeps its status, because a webhook went out: it is flagged, and the operator
is alerted. A failed one is verified again, without using a retry; once its block is final it can't be retried any more.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from chains.clients import get_client
from chains.clients.base import Block, ChainClient, ChainError, Head, TransactionFacts
from chains.models import Chain
from payments import announcements
from payments.judging import Finality
from payments.models import FailureCode, Payment
from payments.reopening import reopen
from payments.requests import lock_request
from payments.turns import batch_of

logger = logging.getLogger(__name__)

BATCH = 500
LEASE = timedelta(minutes=2)
PAUSE = timedelta(minutes=2)
LONGEST_WAIT = timedelta(hours=24)
# Where a chain has no finalized block: this many times the depth that a payment needs.
DEPTHS = 2
LOOKS_BEFORE_ALARM = 3
_DEEP_ENOUGH_WITHOUT_A_NUMBER = 64


def check_finality(
    *, client: Callable[[Chain], ChainClient] = get_client, now: Callable[[], datetime] = timezone.now
) -> int:
    """Look at the decided payments that are due; return how many."""
    by_chain: dict[Chain, list[Payment]] = defaultdict(list)
    claimed = _claim(now())
    for payment in claimed:
        by_chain[_chain_of(payment)].append(payment)
    for chain, payments in by_chain.items():
        try:
            _check_on_chain(payments, client(chain), now())
        except ChainError:
            continue  # the lease brings them back
        except SoftTimeLimitExceeded:
            raise
        except Exception:
            logger.exception("the look at finality on chain %s stopped", chain.pk)
    return len(claimed)


def _claim(now: datetime) -> list[Payment]:
    decided = Payment.objects.filter(status__in=(Payment.Status.COMPLETED, Payment.Status.FAILED))
    due = decided.filter(is_simulated=False, finality_check_at__lte=now).order_by("finality_check_at")
    with transaction.atomic():
        due = batch_of(due, BATCH, merchant="request__merchant_id", first=("finality_check_at",))
        free = due.select_for_update(skip_locked=True, of=("self",))
        payments = list(free.select_related("chain", "request__chain")[:BATCH])
        ids = [payment.pk for payment in payments]
        Payment.objects.filter(pk__in=ids).update(finality_check_at=now + LEASE)
    return payments


def _check_on_chain(payments: Sequence[Payment], client: ChainClient, now: datetime) -> None:
    hashes = sorted({_hash_of(payment) for payment in payments})
    snapshot = client.look_up(hashes, with_finality=True)
    for payment in payments:
        if _hash_of(payment) in snapshot.contradicted:
            continue  # no usable answer: the lease brings it back
        facts = snapshot.transactions.get(_hash_of(payment))
        settle = _settle_failed if payment.status == Payment.Status.FAILED else _settle
        try:
            settle(payment, facts, snapshot.head, now)
        except SoftTimeLimitExceeded:
            raise
        except Exception:
            # One payment's trouble must not keep the others waiting; its lease brings it back.
            logger.exception("the finality of payment %s could not be looked at", payment.pk)


def _chain_of(payment: Payment) -> Chain:
    """Return where the decision was made: for a failed payment, on the chain of its own transaction."""
    return payment.chain if payment.status == Payment.Status.FAILED else payment.counted_chain


def _hash_of(payment: Payment) -> str:
    return payment.transaction_hash if payment.status == Payment.Status.FAILED else payment.counted_hash


def _settle_failed(payment: Payment, facts: TransactionFacts | None, head: Head, now: datetime) -> None:
    """Re-open a failed payment whose transaction is in another block or in none; close one whose block is final.

    One that was given up undecided can be decided then, so that money which came before the nodes fell silent counts.
    """
    # Only if nothing happened to it since it was claimed: it may have been retried, and have failed again.
    unchanged = Payment.objects.filter(
        pk=payment.pk, status=Payment.Status.FAILED, failed_at=payment.failed_at
    )
    block = facts.block if facts else None
    if block is not None and block.hash != payment.block_hash:
        _reopen(payment, "its block was reorganised away, and it is in another one")
    elif block is not None and _was_left_open(payment) and _is_final(payment, facts, head):
        _reopen(payment, "its block is final by now")
    elif block is not None:
        waited = payment.failed_at is not None and now - payment.failed_at > LONGEST_WAIT
        is_closed = waited or _is_final(payment, facts, head)
        unchanged.update(finality_check_at=None if is_closed else now + PAUSE, unanswered_looks=0)
    elif payment.unanswered_looks + 1 < LOOKS_BEFORE_ALARM:
        unchanged.update(unanswered_looks=F("unanswered_looks") + 1, finality_check_at=now + PAUSE)
    else:
        _reopen(payment, "its block was reorganised away")


def _was_left_open(payment: Payment) -> bool:
    """Whether a mined transaction was given up undecided. That of a swap is not: its provider has the last word."""
    return payment.failure_code == FailureCode.VERIFICATION_TIMED_OUT and payment.quote_id is None


def _reopen(payment: Payment, reason: str) -> None:
    """Have a failed payment verified again; it uses no retry."""
    with transaction.atomic():
        lock_request(payment.request_id)
        current = Payment.objects.filter(pk=payment.pk, failed_at=payment.failed_at).first()
        if current is not None and current.status == Payment.Status.FAILED:
            reopen(current, actor="finality", reason=reason)


def _settle(payment: Payment, facts: TransactionFacts | None, head: Head, now: datetime) -> None:
    if not _is_final(payment, facts, head):
        waited = payment.completed_at is not None and now - payment.completed_at > LONGEST_WAIT
        Payment.objects.filter(pk=payment.pk).update(finality_check_at=None if waited else now + PAUSE)
    elif facts is not None and facts.block is not None and _still_holds(payment, facts):
        Payment.objects.filter(pk=payment.pk).update(
            finality_check_at=None, unanswered_looks=0, **_stands_in(payment, facts.block)
        )
    elif payment.unanswered_looks + 1 < LOOKS_BEFORE_ALARM:
        # One node's blank answer is no alarm: it has to be gone several times in a row.
        Payment.objects.filter(pk=payment.pk).update(
            unanswered_looks=F("unanswered_looks") + 1, finality_check_at=now + PAUSE
        )
    else:
        flag_reorged(payment)


def _stands_in(payment: Payment, block: Block) -> dict[str, Any]:
    """Return the columns that say where the money is: in a swap's delivery, or in the payment's own transaction."""
    side = "destination_block" if payment.has_delivery else "block"
    return {f"{side}_number": block.number, f"{side}_hash": block.hash, f"{side}_time": block.time}


def _still_holds(payment: Payment, facts: TransactionFacts) -> bool:
    """Whether the mined transaction still moves what it was credited for, or more."""
    if not facts.is_readable:
        block_hash = payment.destination_block_hash if payment.has_delivery else payment.block_hash
        return facts.block is not None and facts.block.hash == block_hash
    if not facts.succeeded:
        return False
    moved = {transfer.slot: transfer.amount for transfer in facts.transfers}
    credited = payment.consumed_transfers.values_list("slot", "amount")
    return not facts.is_complete or all(moved.get(slot, 0) >= amount for slot, amount in credited)


def _is_final(payment: Payment, facts: TransactionFacts | None, head: Head) -> bool:
    """Whether the height of the payment's block, where it is now or was when it was counted, is final."""
    is_by_delivery = payment.has_delivery and payment.status == Payment.Status.COMPLETED
    counted_at = payment.destination_block_number if is_by_delivery else payment.block_number
    height = facts.block.number if facts and facts.block else counted_at or 0
    if facts is not None and facts.commitment is not None:
        return facts.commitment == "finalized"
    if head.finalized is not None:
        return head.finalized >= height
    needed = Finality.parse(_chain_of(payment).confirmations).confirmations or _DEEP_ENOUGH_WITHOUT_A_NUMBER
    return head.latest - height + 1 >= DEPTHS * needed


def flag_reorged(payment: Payment) -> None:
    """Flag the completed payment, with its event, and alert the operator; once, however often this is called."""
    with transaction.atomic():
        request = lock_request(payment.request_id)
        Payment.objects.filter(pk=payment.pk).update(finality_check_at=None)
        if Payment.objects.filter(pk=payment.pk, reorged=False).update(reorged=True):
            payment.reorged = True
            announcements.announce_reorged(request, payment)
            kind = "simulated payment" if payment.is_simulated else "payment"
            logger.error(
                "%s %s was completed, and its block has vanished since: a person is needed", kind, payment.pk
            )
