"""The queues of due work as the workers run them, but in the calling thread and one lane after the other."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from django.utils import timezone

from chains.families import get_client
from config.due_work.leases import Lease
from payments.discovery import search
from payments.models import Lookup
from payments.proposals import search as proposals
from payments.providers.registry import get_provider
from payments.sponsoring import relaying, settling
from payments.swaps import deliveries, following
from payments.verification import engine, finality, leasing
from payments.verification.leasing import LOOKUPS

Clock = Callable[[], datetime]

verify_on_chain = partial(engine.verify_on_chain, swaps=deliveries)


def verify_due(*, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Verify a batch of what is due on each chain; return how many payments there were."""
    chains = LOOKUPS.lanes(now())
    return sum(engine.verify_due(each, swaps=deliveries, client=client, now=now) for each in chains)


def claim_due(now: datetime) -> tuple[Lease, list[Lookup]]:
    """Lease a batch of what is due on one chain, as a worker that ends before it verifies."""
    return leasing.claim_due(now, next(iter(LOOKUPS.lanes(now)), 0))


def follow_swaps(*, provider: Any = get_provider, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Poll each provider for a batch of its due swaps; return how many swaps there were."""
    providers = following.SWAPS.lanes(now())
    return sum(
        following.follow_provider(each, provider=provider, client=client, now=now) for each in providers
    )


def check_finality(*, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Check the finality of a batch of what is due on each chain; return how many payments there were."""
    chains = finality.FINALITY.lanes(now())
    return sum(finality.check_finality(each, client=client, now=now) for each in chains)


def discover_due(*, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Search each chain that is due; return how many payments were found."""
    return sum(search.search_chain(each, client=client, now=now) for each in search.chains_to_search(now()))


def search_proposals(*, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Search each chain for a batch of its due proposals; return how many there were."""
    chains = proposals.PROPOSALS.lanes(now())
    return sum(proposals.search_due(each, client=client, now=now) for each in chains)


def relay_due(*, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Send what is due by the gas account of each chain; return how many accounts there were."""
    chains = relaying.GAS_ACCOUNTS.lanes(now())
    return sum(relaying.relay_due(each, client=client, now=now) for each in chains)


def settle_due(*, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Check a batch of the signed transfers that are due on each chain; return how many there were."""
    chains = settling.AUTHORIZATIONS.lanes(now())
    return sum(settling.settle_due(each, client=client, now=now) for each in chains)
