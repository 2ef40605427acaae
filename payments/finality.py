"""One more look at completed payments once their block is final: one that vanished is told, never silently taken back.

A webhook that went out can't be unsaid, so the payment keeps its status and is flagged, and a person is called.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from chains.clients import get_client
from chains.clients.base import Block, ChainClient, ChainError, Head, TransactionFacts
from chains.models import Chain
from payments import announcements
from payments.judging import Finality
from payments.models import Payment
from payments.requests import lock_request

logger = logging.getLogger(__name__)

BATCH = 500
LEASE = timedelta(minutes=2)
PAUSE = timedelta(minutes=2)
LONGEST_WAIT = timedelta(hours=24)
# Where a chain tells no finalized block: this many times the depth that a payment needs.
DEPTHS = 2
LOOKS_BEFORE_ALARM = 3
_DEEP_ENOUGH_WITHOUT_A_NUMBER = 64


def check_finality(
    *, client: Callable[[Chain], ChainClient] = get_client, now: Callable[[], datetime] = timezone.now
) -> int:
    """Look at the completed payments whose time has come; return how many."""
    by_chain: dict[Chain, list[Payment]] = defaultdict(list)
    claimed = _claim(now())
    for payment in claimed:
        by_chain[payment.counted_chain].append(payment)
    for chain, payments in by_chain.items():
        try:
            _check_on_chain(payments, client(chain), now())
        except ChainError:
            continue  # the lease brings them back
        except Exception:
            logger.exception("the look at finality on chain %s stopped", chain.pk)
    return len(claimed)


def _claim(now: datetime) -> list[Payment]:
    due = Payment.objects.filter(is_simulated=False, finality_check_at__lte=now).order_by("finality_check_at")
    with transaction.atomic():
        free = due.select_for_update(skip_locked=True, of=("self",))
        payments = list(free.select_related("chain", "request__chain")[:BATCH])
        ids = [payment.pk for payment in payments]
        Payment.objects.filter(pk__in=ids).update(finality_check_at=now + LEASE)
    return payments


def _check_on_chain(payments: Sequence[Payment], client: ChainClient, now: datetime) -> None:
    hashes = sorted({payment.counted_hash for payment in payments})
    snapshot = client.look_up(hashes, with_finality=True)
    for payment in payments:
        if payment.counted_hash in snapshot.contradicted:
            continue  # no usable answer: the lease brings it back
        _settle(payment, snapshot.transactions.get(payment.counted_hash), snapshot.head, now)


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
    """Return the columns that tell where the money stands: in a swap's delivery, or in the payment's own."""
    side = "destination_block" if payment.has_delivery else "block"
    return {f"{side}_number": block.number, f"{side}_hash": block.hash, f"{side}_time": block.time}


def _still_holds(payment: Payment, facts: TransactionFacts) -> bool:
    """Whether the mined transaction still moves what it was credited for."""
    if not facts.succeeded:
        return False
    moved = {(transfer.slot, transfer.amount) for transfer in facts.transfers}
    credited = set(payment.consumed_transfers.values_list("slot", "amount"))
    return credited <= moved or not facts.is_complete


def _is_final(payment: Payment, facts: TransactionFacts | None, head: Head) -> bool:
    """Whether the height of the payment's block, where it stands now or stood when it was counted, is final."""
    counted_at = payment.destination_block_number if payment.has_delivery else payment.block_number
    height = facts.block.number if facts and facts.block else counted_at or 0
    if facts is not None and facts.commitment is not None:
        return facts.commitment == "finalized"
    if head.finalized is not None:
        return head.finalized >= height
    needed = (
        Finality.parse(payment.counted_chain.confirmations).confirmations or _DEEP_ENOUGH_WITHOUT_A_NUMBER
    )
    return head.latest - height + 1 >= DEPTHS * needed


def flag_reorged(payment: Payment) -> None:
    """Flag the completed payment, tell the merchant, and call a person; once, however often this is called."""
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
