"""The verification engine as the workers run it, with the handler of swaps, but in the calling thread."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from django.utils import timezone

from chains.families import get_client
from config.database import leases
from payments.swaps import deliveries
from payments.verification import engine
from payments.verification.leasing import claim_due

verify_on_chain = partial(engine.verify_on_chain, swaps=deliveries)


def verify_due(*, client: engine.Client = get_client, now: Callable[[], datetime] = timezone.now) -> int:
    """Verify every payment that is due, one chain after the other; return how many there were."""
    lease, claimed = claim_due(now())
    with leases.kept(lease):
        engine.verify_claimed(claimed, lease, swaps=deliveries, client=client, now=now)
    return len(claimed)
