"""What a new block makes due: the payments on its chain that wait for one."""

from datetime import datetime

from django.db import OperationalError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from config.due_work import leases
from config.due_work.listening import Channel, notify
from payments.models import Payment

# Seen in a mempool or in a block. A hash that no node knows has few checks, which blocks must not use up.
_WAITS_FOR_A_BLOCK = (
    Q(seen_at__isnull=False) | Q(block_number__isnull=False) | Q(destination_block_number__isnull=False)
)
_WAITS_FOR_ITS_PROVIDER = Q(is_bridging=True, destination_transaction_hash="")

# A worker stores a batch within a fraction of that. Each wait is for one worker.
_MOST_WAITING_MS = 250
_MOST_WAITS = 4


def make_due(chain_id: int) -> int:
    """Bring the checks of these payments forward to now and wake the workers; return how many there were.

    A payment that a worker is looking up counts among them: the worker may have asked its nodes before this block. It
    keeps the time written here if the payment still waits for a block (`payments.verification.storing`).
    """
    now = timezone.now()
    waiting = _WAITS_FOR_A_BLOCK & Q(next_check_at__gt=now)
    open_ones = Payment.objects.filter(
        waiting | ~leases.is_free(), lookup_chain_id=chain_id, status__in=Payment.OPEN, is_simulated=False
    ).exclude(_WAITS_FOR_ITS_PROVIDER)
    moved, locked = _make_unlocked_due(open_ones, now, chain_id)
    for _ in range(_MOST_WAITS):
        # A worker stores something about these: they follow when it has done so, if they still wait for a block.
        if not locked or not _is_unlocked_soon(locked[0]):
            break
        more, locked = _make_unlocked_due(open_ones.filter(pk__in=locked), now, chain_id)
        moved += more
    return moved


def _make_unlocked_due(open_ones: QuerySet[Payment], now: datetime, chain_id: int) -> tuple[int, list[str]]:
    """Bring forward those of the payments that no one has locked; return how many, and the ids of the others."""
    with transaction.atomic():
        found = set(open_ones.values_list("pk", flat=True))
        # Waiting for several workers at once could deadlock with them.
        unlocked = open_ones.filter(pk__in=found).select_for_update(skip_locked=True)
        moved = set(unlocked.values_list("pk", flat=True))
        Payment.objects.filter(pk__in=moved).update(next_check_at=now)
        if moved:
            notify(Channel.PAYMENTS, str(chain_id))
    return len(moved), sorted(found - moved)


def _is_unlocked_soon(payment_id: str) -> bool:
    """Wait for the lock on this row, holding no other one; return False if it lasts."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = {_MOST_WAITING_MS}")
            list(Payment.objects.select_for_update().filter(pk=payment_id).values_list("pk"))
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return False
        raise
    return True
