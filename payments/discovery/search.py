"""Find payments whose checkout was closed before the hash was submitted.

Each chain is searched in short passes with a limited number of searches. Merchants take turns, so that a merchant with
very many requests delays only itself. Merchants whose ranges start near each other share a search. A `MerchantCursor`
stores how far the chain was searched for each merchant.
"""

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from celery.exceptions import SoftTimeLimitExceeded
from django.db.models import Q
from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.models import Chain
from config.database import leases
from config.database.leases import Lease
from payments.discovery.search_pass import LeaseLost, Pass
from payments.discovery.watches import watched
from payments.models import DiscoveryCursor, MerchantCursor, PaymentRequest

logger = logging.getLogger(__name__)

SHORTEST_PAUSE = timedelta(seconds=5)
PAUSE_AFTER_FAILURE = timedelta(seconds=10)
LONGEST_PAUSE_AFTER_FAILURE = timedelta(seconds=60)


def discover_due(
    *, client: Callable[[Chain], ChainClient] = get_client, now: Callable[[], datetime] = timezone.now
) -> int:
    """Search each chain that is due; return how many payments were found."""
    count = 0
    for chain in _chains_to_search(now()):
        lease = _claim(chain, now())
        if lease is None:
            continue
        try:
            with leases.kept(lease):
                count += _search(chain, lease, client, now)
        except SoftTimeLimitExceeded:
            raise
        except LeaseLost:
            logger.warning("another worker continues the search on chain %s", chain.pk)
        except Exception:
            # A failure on one chain must not delay the others. It is due again when its lease expires.
            logger.exception("the search on chain %s stopped", chain.pk)
    return count


def expect_by_link(request: PaymentRequest) -> None:
    """Start searching for the request's reference, because its payment link is about to be shown."""
    unseen = PaymentRequest.objects.filter(pk=request.pk, link_shown_at__isnull=True)
    if request.link_shown_at is None:
        unseen.update(link_shown_at=timezone.now())


def _chains_to_search(now: datetime) -> Iterator[Chain]:
    """Yield the chains that are due and have a merchant to search for."""
    waiting = DiscoveryCursor.objects.exclude(_free(now)).values("chain")
    with_cursors = set(MerchantCursor.objects.values_list("chain_id", flat=True).distinct())
    for chain in Chain.objects.exclude(pk__in=waiting):
        if chain.pk in with_cursors or watched(chain, now).exists():
            yield chain


def _free(now: datetime) -> Q:
    return leases.is_free() & Q(due_at__lte=now)


def _claim(chain: Chain, now: datetime) -> Lease | None:
    """Lease the chain's search; return None unless it was due and free."""
    asked_at, claim_id = time.monotonic(), uuid.uuid4()
    DiscoveryCursor.objects.get_or_create(chain=chain, defaults={"due_at": now})
    free = DiscoveryCursor.objects.filter(_free(now), chain=chain)
    if not free.update(claim_id=claim_id, lease_until=leases.expiry()):
        return None
    return Lease(DiscoveryCursor, claim_id, [chain.pk], asked_at=asked_at)


def _search(
    chain: Chain, lease: Lease, client: Callable[[Chain], ChainClient], now: Callable[[], datetime]
) -> int:
    """Run one pass over the chain and release the lease; return how many payments were found."""
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
    if error is not None:
        logger.warning("search on %s failed: %s", chain.name, error)
    DiscoveryCursor.objects.filter(chain=chain, claim_id=lease.claim_id).update(
        due_at=now() + pause, claim_id=None, lease_until=None
    )
    return count


def _pause_after(error: ChainError) -> timedelta:
    asked_for = timedelta(seconds=min(error.retry_after or 0, LONGEST_PAUSE_AFTER_FAILURE.total_seconds()))
    return max(PAUSE_AFTER_FAILURE, asked_for)
