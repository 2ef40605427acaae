"""What a new block makes due: the payments on its chain that wait for one."""

from collections.abc import Sequence
from datetime import datetime

from django.db import OperationalError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from config.database import leases
from config.database.notifications import Channel, notify
from payments.models import Payment

# Seen in a mempool or in a block. A hash that no node knows has few checks, which blocks must not use up.
_WAITS_FOR_A_BLOCK = (
    Q(seen_at__isnull=False) | Q(block_number__isnull=False) | Q(destination_block_number__isnull=False)
)
_WAITS_FOR_ITS_PROVIDER = Q(is_bridging=True, destination_transaction_hash="")

# A worker stores a batch within a fraction of that.
_MOST_WAITING_MS = 250


def make_due(chain_id: int) -> int:
    """Bring the checks of these payments forward to now and wake the workers; return how many there were.

    A payment that a worker is looking up counts among them: the worker may have asked its nodes before this block. It
    keeps the time written here if the payment still waits for a block (`payments.verification.leasing`).
    """
    now = timezone.now()
    waiting = _WAITS_FOR_A_BLOCK & Q(next_check_at__gt=now)
    open_ones = Payment.objects.filter(
        waiting | ~leases.is_free(), lookup_chain_id=chain_id, status__in=Payment.OPEN, is_simulated=False
    ).exclude(_WAITS_FOR_ITS_PROVIDER)
    with transaction.atomic():
        found = set(open_ones.values_list("pk", flat=True))
        # Waiting for several workers at once could deadlock with them.
        unlocked = open_ones.filter(pk__in=found).select_for_update(skip_locked=True)
        moved = set(unlocked.values_list("pk", flat=True))
        Payment.objects.filter(pk__in=moved).update(next_check_at=now)
        if moved:
            notify(Channel.PAYMENTS, str(chain_id))
    return len(moved) + _make_due_once_unlocked(open_ones, sorted(found - moved), now, chain_id)


def _make_due_once_unlocked(
    open_ones: QuerySet[Payment], locked: Sequence[str], now: datetime, chain_id: int
) -> int:
    """Bring forward those of `locked` that still wait when the worker that stores something about them has done so.

    One at a time: who holds no other lock meanwhile can't deadlock. After a lock that lasts, the rest is left for the
    next block.
    """
    moved = 0
    for pk in locked:
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute(f"SET LOCAL lock_timeout = {_MOST_WAITING_MS}")
                if open_ones.filter(pk=pk).update(next_check_at=now):
                    notify(Channel.PAYMENTS, str(chain_id))
                    moved += 1
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                break
            raise
    return moved
