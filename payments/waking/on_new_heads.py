"""Make lookups due when a new block arrives: those on its chain that wait for a block."""

from datetime import datetime

from django.db import OperationalError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from config.due_work import leases
from config.due_work.listening import Channel, notify
from payments.models import Lookup

# Only transactions that were seen in a mempool or in a block wait for blocks. A hash that no node knows has only ten
# lookups, which blocks must not use up.
_WAITS_FOR_A_BLOCK = Q(seen_at__isnull=False) | Q(block_number__isnull=False)

# The longest wait for one worker, which stores a batch in much less time.
_MOST_WAITING_MS = 250
_MOST_WAITS = 4


def make_due(chain_id: int) -> int:
    """Make the chain's lookups that wait for a block due now, and wake the workers; return the number of lookups.

    Lookups that a worker is checking now are included, because it may have queried its nodes before this block. Such a
    lookup keeps the time that is written here if it still waits for a block (`payments.verification.storing`).
    """
    now = timezone.now()
    waiting = _WAITS_FOR_A_BLOCK & Q(next_check_at__gt=now)
    open_ones = Lookup.objects.filter(
        waiting | ~leases.is_free(), chain_id=chain_id, is_simulated=False, next_check_at__isnull=False
    )
    moved, locked = _make_unlocked_due(open_ones, now, chain_id)
    for _ in range(_MOST_WAITS):
        # A worker is storing results of the locked ones. Wait for it, then make due those that still wait for a block.
        if not locked or not _is_unlocked_soon(locked[0]):
            break
        more, locked = _make_unlocked_due(open_ones.filter(pk__in=locked), now, chain_id)
        moved += more
    return moved


def _make_unlocked_due(open_ones: QuerySet[Lookup], now: datetime, chain_id: int) -> tuple[int, list[int]]:
    """Make those of the lookups due that no transaction has locked; return how many, and the ids of the others."""
    with transaction.atomic():
        found = set(open_ones.values_list("pk", flat=True))
        # Skip locked rows, because waiting for several workers at once could deadlock with them.
        unlocked = open_ones.filter(pk__in=found).select_for_update(skip_locked=True)
        moved = set(unlocked.values_list("pk", flat=True))
        Lookup.objects.filter(pk__in=moved).update(next_check_at=now)
        if moved:
            notify(Channel.PAYMENTS, str(chain_id))
    return len(moved), sorted(found - moved)


def _is_unlocked_soon(lookup_id: int) -> bool:
    """Wait for the lock on this row, without holding another one; return False if it takes too long."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = {_MOST_WAITING_MS}")
            list(Lookup.objects.select_for_update().filter(pk=lookup_id).values_list("pk"))
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return False
        raise
    return True
