"""What a new block makes due: the payments on its chain that wait for one."""

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from config.database import leases
from config.database.notifications import Channel, notify
from payments.models import Payment

# Seen in a mempool or in a block. A hash that no node knows has few checks, which blocks must not use up.
_WAITS_FOR_A_BLOCK = (
    Q(seen_at__isnull=False) | Q(block_number__isnull=False) | Q(destination_block_number__isnull=False)
)
_WAITS_FOR_ITS_PROVIDER = Q(is_bridging=True, destination_transaction_hash="")


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
        # A row locked by a worker is skipped: waiting for several workers could deadlock with them.
        unlocked = open_ones.select_for_update(skip_locked=True).values_list("pk", flat=True)
        moved = Payment.objects.filter(pk__in=list(unlocked)).update(next_check_at=now)
        if moved:
            notify(Channel.PAYMENTS, str(chain_id))
    return moved
