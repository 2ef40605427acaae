"""Finding payments whose page was closed before the hash was submitted: one search per chain and tick (contract 8).

Only transactions that the service itself built carry a reference, and those that a wallet made from a payment link. So
only requests with a built route or a shown link are looked for, while they are active and for a day after.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from chains.clients import get_client
from chains.clients.base import ChainClient, ChainError, Watch
from chains.models import Chain
from payments.models import DiscoveryCursor, Payment, PaymentRequest, Route
from payments.models.payment import RETRYABLE_FAILURES
from payments.submission import record_found

logger = logging.getLogger(__name__)

AFTERWARDS = timedelta(days=1)
LEASE = timedelta(minutes=2)
SHORTEST_PAUSE = timedelta(seconds=5)
MOST_WATCHES = 5000


def discover_due(
    *, client: Callable[[Chain], ChainClient] = get_client, now: Callable[[], datetime] = timezone.now
) -> int:
    """Search each chain whose time has come; return how many payments were found."""
    found = 0
    for chain in Chain.objects.filter(pk__in=_chains_to_watch(now())):
        cursor = _claim(chain, now())
        if cursor is None:
            continue
        try:
            found += _search(chain, cursor, client(chain), now())
        except ChainError as error:
            logger.warning("no search on %s: %s", chain.name, error)
    return found


def expect_by_link(request: PaymentRequest) -> None:
    """Have the request's reference looked for from now on: its payment link is about to be shown."""
    unseen = PaymentRequest.objects.filter(pk=request.pk, link_shown_at__isnull=True)
    if request.link_shown_at is None:
        unseen.update(link_shown_at=timezone.now())


def _chains_to_watch(now: datetime) -> set[int]:
    return set(_watched(now).values_list("chain_id", flat=True).distinct())


def _watched(now: datetime) -> QuerySet[PaymentRequest]:
    """Return the requests that a transaction of ours may still pay."""
    recently = now - AFTERWARDS
    ended = Q(completed_at__gt=recently) | Q(expired_at__gt=recently) | Q(cancelled_at__gt=recently)
    # A swap's transaction carries its provider's id, and no reference.
    built = Route.objects.filter(request=OuterRef("pk"), built_at__isnull=False, type=Payment.Type.DIRECT)
    open_or_ended = Q(status=PaymentRequest.Status.ACTIVE) | ended
    handed_out = Q(link_shown_at__isnull=False) | Exists(built)
    return PaymentRequest.objects.filter(open_or_ended, handed_out, references=True)


def _claim(chain: Chain, now: datetime) -> DiscoveryCursor | None:
    """Return the chain's cursor if it is due and nobody else searches; it is then leased."""
    DiscoveryCursor.objects.get_or_create(chain=chain, defaults={"due_at": now})
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    with transaction.atomic():
        rows = DiscoveryCursor.objects.filter(free, chain=chain, due_at__lte=now)
        cursor = rows.select_for_update(skip_locked=True).first()
        if cursor is not None:
            DiscoveryCursor.objects.filter(pk=cursor.pk).update(lease_until=now + LEASE)
    return cursor


def _search(chain: Chain, cursor: DiscoveryCursor, client: ChainClient, now: datetime) -> int:
    requests = (
        _watched(now).filter(chain=chain).select_related("token").order_by("-created_at")[:MOST_WATCHES]
    )
    by_reference = {bytes(request.reference): request for request in requests}
    watches = [
        Watch(reference, request.token.contract_address, request.recipient_address)
        for reference, request in by_reference.items()
    ]
    discovery = client.discover(watches, since_block=cursor.next_block)
    payments = Payment.objects.filter(
        chain=chain, transaction_hash__in=[hash_ for _, hash_ in discovery.found]
    ).exclude(status=Payment.Status.FAILED, failure_code__in=RETRYABLE_FAILURES)
    known = set(payments.values_list("request_id", "transaction_hash"))
    new = [(by_reference[ref], hash_) for ref, hash_ in discovery.found if ref in by_reference]
    new = [(request, hash_) for request, hash_ in new if (request.pk, hash_) not in known]
    for request, transaction_hash in new:
        record_found(request, chain=chain, transaction_hash=transaction_hash)
    pause = max(SHORTEST_PAUSE, timedelta(milliseconds=chain.block_time_ms))
    DiscoveryCursor.objects.filter(pk=cursor.pk).update(
        next_block=discovery.next_block, due_at=now + pause, lease_until=None
    )
    return len(new)
