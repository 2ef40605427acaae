"""Find payments whose hash was never submitted: the customer closed the checkout, or the wallet returned no hash.

A short pass with a limited number of searches runs for each chain. Merchants take turns, so that a merchant with
very many requests delays only itself. Merchants whose ranges start near each other share a search. A
`MerchantCursor` stores how far the chain was searched for a merchant.

A pass searches for references. Swaps and transfers to deposit addresses have no reference. After each pass,
`payments.discovery.quotes`, `payments.discovery.deposits` and `payments.discovery.coins` search for these
swaps and transfers.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.models import Chain
from config.due_work import leases
from config.due_work.leases import FREE, Lease
from config.due_work.queue import Queue
from payments.discovery.coins import search_for_coins
from payments.discovery.deposits import has_addresses, search_for_deposits
from payments.discovery.grouping import credit_groups, has_due
from payments.discovery.quotes import chains_with_quotes, search_for_quotes
from payments.discovery.search_pass import LeaseLost, Pass
from payments.discovery.watches import watched
from payments.models import DiscoveryCursor, MerchantCursor, PaymentRequest

logger = logging.getLogger(__name__)

SHORTEST_PAUSE = timedelta(seconds=5)
PAUSE_AFTER_FAILURE = timedelta(seconds=10)
LONGEST_PAUSE_AFTER_FAILURE = timedelta(seconds=60)
SEARCHES = Queue(model=DiscoveryCursor, due="due_at", owner="chain_id", lane="chain_id")


def chains_to_search(now: datetime) -> list[int]:
    """Return the ids of chains that are due for a search and have something to search for."""
    due = set(SEARCHES.lanes(now))
    with_cursors = set(MerchantCursor.objects.values_list("chain_id", flat=True).distinct())
    with_quotes = chains_with_quotes(now)
    begun = set(DiscoveryCursor.objects.values_list("pk", flat=True))
    return [
        chain.pk
        for chain in Chain.objects.all()
        if (chain.pk in due or chain.pk not in begun)
        and (
            chain.pk in with_cursors
            or chain.pk in with_quotes
            or watched(chain, now).exists()
            or has_addresses(chain)
            or has_due(chain, now)
        )
    ]


def search_chain(
    chain_id: int,
    *,
    client: Callable[[Chain], ChainClient] = get_client,
    now: Callable[[], datetime] = timezone.now,
) -> int:
    """Run one pass over the chain if it is due. Return how many payments were found."""
    at = now()
    DiscoveryCursor.objects.get_or_create(chain_id=chain_id, defaults={"due_at": at})
    lease = SEARCHES.claim(at, 1, chain_id)
    if not lease.keys:
        return 0
    try:
        with leases.kept(lease):
            return _search(Chain.objects.get(pk=chain_id), lease, client, now)
    except LeaseLost:
        logger.warning("another worker continues the search on chain %s", chain_id)
        return 0


def expect_by_link(request: PaymentRequest) -> None:
    """Search for the request's reference from now on. Call this before a wallet link with the reference is shown."""
    unseen = PaymentRequest.objects.filter(pk=request.pk, link_shown_at__isnull=True)
    if request.link_shown_at is None:
        unseen.update(link_shown_at=timezone.now())


def _search(
    chain: Chain, lease: Lease, client: Callable[[Chain], ChainClient], now: Callable[[], datetime]
) -> int:
    """Run one pass over the chain and release the lease. Return how many payments were found."""
    pause = max(SHORTEST_PAUSE, timedelta(milliseconds=chain.block_time_ms))
    count, error = 0, None
    try:
        search = Pass.begin(chain, lease, client(chain), now)
        search.run()
    except ChainError as failure:
        error = failure
        pause = _pause_after(failure)
    else:
        count, error = search.payments_found, search.error
        if error is not None and search.has_failed:
            pause = _pause_after(error)
        elif search.has_more:
            pause = timedelta()
    try:
        count += search_for_quotes(chain, client(chain), claim_id=lease.claim_id, now=now())
    except ChainError as failure:
        logger.warning("search for swaps on %s failed: %s", chain.name, failure)
    try:
        count += search_for_deposits(chain, client(chain), claim_id=lease.claim_id, now=now())
    except ChainError as failure:
        logger.warning("search for deposits on %s failed: %s", chain.name, failure)
    try:
        count += search_for_coins(chain, client(chain), claim_id=lease.claim_id, now=now())
    except ChainError as failure:
        logger.warning("search for native coin at deposit addresses on %s failed: %s", chain.name, failure)
    try:
        count += credit_groups(chain, client(chain), now=now())
    except ChainError as failure:
        logger.warning("small deposits on %s were not looked up: %s", chain.name, failure)
    if error is not None:
        logger.warning("search on %s failed: %s", chain.name, error)
    DiscoveryCursor.objects.filter(chain=chain, claim_id=lease.claim_id).update(due_at=now() + pause, **FREE)
    return count


def _pause_after(error: ChainError) -> timedelta:
    asked_for = timedelta(seconds=min(error.retry_after or 0, LONGEST_PAUSE_AFTER_FAILURE.total_seconds()))
    return max(PAUSE_AFTER_FAILURE, asked_for)
