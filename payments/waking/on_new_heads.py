"""What a new block makes due: the payments on its chain that wait for one."""

from django.db.models import Q
from django.utils import timezone

from config.database.notifications import Channel, notify
from payments.models import Payment

# Seen in a mempool or in a block. A hash that no node knows has few checks, which blocks must not use up.
_WAITS_FOR_A_BLOCK = (
    Q(seen_at__isnull=False) | Q(block_number__isnull=False) | Q(destination_block_number__isnull=False)
)
_WAITS_FOR_ITS_PROVIDER = Q(is_bridging=True, destination_transaction_hash="")


def make_due(chain_id: int) -> int:
    """Bring the checks of these payments forward to now and wake the workers; return how many there were."""
    now = timezone.now()
    waiting = Payment.objects.filter(
        _WAITS_FOR_A_BLOCK,
        lookup_chain_id=chain_id,
        status__in=Payment.OPEN,
        is_simulated=False,
        next_check_at__gt=now,
    ).exclude(_WAITS_FOR_ITS_PROVIDER)
    moved = waiting.update(next_check_at=now)
    if moved:
        notify(Channel.PAYMENTS, str(chain_id))
    return moved
