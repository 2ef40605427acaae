"""Run the queues of due work like workers, but in the calling thread and one lane after another."""

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
    """Verify a batch of due payments on each chain; return the number of payments."""
    chains = LOOKUPS.lanes(now())
    return sum(engine.verify_due(each, swaps=deliveries, client=client, now=now) for each in chains)


def claim_due(now: datetime) -> tuple[Lease, list[Lookup]]:
    """Lease a batch of due lookups on one chain, like a worker that dies before it verifies them."""
    return leasing.claim_due(now, next(iter(LOOKUPS.lanes(now)), 0))


def follow_swaps(*, provider: Any = get_provider, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Poll each provider for a batch of due swaps; return the number of swaps."""
    providers = following.SWAPS.lanes(now())
    return sum(
        following.follow_provider(each, provider=provider, client=client, now=now) for each in providers
    )


def check_finality(*, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Check the finality of a batch of due payments on each chain; return the number of payments."""
    chains = finality.FINALITY.lanes(now())
    return sum(finality.check_finality(each, client=client, now=now) for each in chains)


def discover_due(*, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Search each chain that is due; return the number of payments found."""
    return sum(search.search_chain(each, client=client, now=now) for each in search.chains_to_search(now()))


def search_proposals(*, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Search each chain for a batch of due proposals; return their number."""
    chains = proposals.PROPOSALS.lanes(now())
    return sum(proposals.search_due(each, client=client, now=now) for each in chains)


def relay_due(*, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Send the due transactions of each chain's gas account; return the number of accounts."""
    chains = relaying.GAS_ACCOUNTS.lanes(now())
    return sum(relaying.relay_due(each, client=client, now=now) for each in chains)


def settle_due(*, client: Any = get_client, now: Clock = timezone.now) -> int:
    """Check a batch of due authorizations on each chain; return their number."""
    chains = settling.AUTHORIZATIONS.lanes(now())
    return sum(settling.settle_due(each, client=client, now=now) for each in chains)
