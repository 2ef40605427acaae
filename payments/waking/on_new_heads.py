"""When a new block arrives, make the lookups due that wait for a block of its chain."""

from datetime import datetime

from django.db import OperationalError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from config.due_work import leases
from config.due_work.listening import Channel, notify
from payments.models import Lookup

# A transaction waits for blocks only if a node has seen it. A hash that no node knows has only ten lookups, and
# blocks must not use them up.
_WAITS_FOR_A_BLOCK = Q(seen_at__isnull=False) | Q(block_number__isnull=False)

# The longest wait for a worker. A worker needs much less time to store a batch.
_MAX_WAITING_MS = 250
_MAX_WAITS = 4


def make_due(chain_id: int) -> int:
    """Make the chain's lookups due that wait for a block, and wake the workers. Return the number of lookups.

    A worker may be checking a lookup now, and may have queried its nodes before this block. Such a lookup is made due
    too. If it still waits for a block after the check, it stays due (`payments.verification.storing`).
    """
    now = timezone.now()
    waiting = _WAITS_FOR_A_BLOCK & Q(next_check_at__gt=now)
    open_ones = Lookup.objects.filter(
        waiting | ~leases.is_free(), chain_id=chain_id, is_simulated=False, next_check_at__isnull=False
    )
    moved, locked = _make_unlocked_due(open_ones, now, chain_id)
    for _ in range(_MAX_WAITS):
        # A worker is storing the results of the locked lookups. Wait for it. Then make the lookups due that
        # still wait for a block.
        if not locked or not _is_unlocked_soon(locked[0]):
            break
        more, locked = _make_unlocked_due(open_ones.filter(pk__in=locked), now, chain_id)
        moved += more
    return moved


def _make_unlocked_due(open_ones: QuerySet[Lookup], now: datetime, chain_id: int) -> tuple[int, list[int]]:
    """Make the lookups due that no transaction has locked. Return how many are due now, and the ids of the locked
    lookups.
    """
    with transaction.atomic():
        found = set(open_ones.values_list("pk", flat=True))
        # Skip locked rows: waiting for several workers at once could deadlock.
        unlocked = open_ones.filter(pk__in=found).select_for_update(skip_locked=True)
        moved = set(unlocked.values_list("pk", flat=True))
        Lookup.objects.filter(pk__in=moved).update(next_check_at=now)
        if moved:
            notify(Channel.PAYMENTS, str(chain_id))
    return len(moved), sorted(found - moved)


def _is_unlocked_soon(lookup_id: int) -> bool:
    """Wait until the row isn't locked. Holds no other lock. Return False if it takes too long."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = {_MAX_WAITING_MS}")
            list(Lookup.objects.select_for_update().filter(pk=lookup_id).values_list("pk"))
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return False
        raise
    return True
