"""Check the deposit addresses of ended requests every week for a year, or at once if the merchant requests it.

While a request is active, and for 30 days afterwards, the chain's search finds payments to its address in each
block (`payments.discovery.deposits`). The weekly checks begin after those 30 days.
"""

import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.models import Chain
from config.due_work import leases
from config.due_work.leases import FREE, Lease
from config.due_work.queue import Queue
from payments.coins.lookups import NATIVE
from payments.discovery.coins import UNREAD_AGAIN, own_search
from payments.discovery.deposits import find, shown
from payments.discovery.grouping import PERIOD
from payments.discovery.search_pass import searched_again
from payments.models import DepositAddress, DiscoveryCursor, PaymentRequest

logger = logging.getLogger(__name__)

BATCH = 1000
EACH_BLOCK_FOR = timedelta(days=30)
WEEK = timedelta(days=7)
WEEKLY_FOR = timedelta(days=365)
PAUSE_AFTER_FAILURE = timedelta(minutes=5)
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)

LOOKS = Queue(
    model=DepositAddress,
    due="next_look_at",
    owner="recipient_address",
    waiting="next_look_at IS NOT NULL",
    lane="chain_id",
)


@dataclass(frozen=True)
class Step:
    """The next check of an address: its time (None after the last check), and the first block that it searches.

    `next_block` is None while the chain's search covers the address. `swept` is the total that was swept before
    `next_block`. If `swept` is None, the stored total doesn't change.
    """

    next_look_at: datetime | None
    next_block: int | None = None
    swept: int | None = None

    @property
    def columns(self) -> dict[str, Any]:
        more = {} if self.swept is None else {"swept": self.swept}
        return {"next_look_at": self.next_look_at, "next_block": self.next_block, **more}


@dataclass(frozen=True)
class Look:
    """The result of a check: the number of payments found, the first block of the next check, and the head at the
    start.
    """

    found: int
    next_block: int
    head: int

    @property
    def is_whole(self) -> bool:
        return self.next_block > self.head


def first_look_at(request: PaymentRequest) -> datetime:
    """Return when an address that is shown now is due for its first check."""
    return request.expires_at + EACH_BLOCK_FOR


def leave_search(request: PaymentRequest, searched_until: int | None, now: datetime) -> Step:
    """Return the next step of an address that the chain's search still covers.

    The search has covered all blocks before `searched_until`, or has not begun if that is None.
    """
    end = request.last_ended_at
    if end is None:
        return Step(max(request.expires_at, now) + EACH_BLOCK_FOR)
    if now < end + EACH_BLOCK_FOR:
        return Step(end + EACH_BLOCK_FOR)
    if searched_until is None:
        return Step(now + timedelta(days=1))
    return Step(next_week(now), searched_until)


def after_look(request: PaymentRequest, next_block: int, now: datetime, *, is_whole: bool) -> Step:
    """Return the next step after a weekly check. A check that did not reach the head continues at once."""
    if not is_whole:
        return Step(now, next_block)
    end = request.last_ended_at or now
    is_last = now >= end + EACH_BLOCK_FOR + WEEKLY_FOR
    return Step(None if is_last else next_week(now), next_block)


def next_week(now: datetime) -> datetime:
    """Return the next weekly time. The time is the same for all addresses, so that one search can check many."""
    return _next(now, WEEK)


def _next(now: datetime, every: timedelta) -> datetime:
    return _EPOCH + ((now - _EPOCH) // every + 1) * every


def _is_early(request: PaymentRequest, now: datetime) -> bool:
    """Whether the weekly checks have not begun. The chain's search may have left the address to checks of its own."""
    end = request.last_ended_at
    return end is None or now < end + EACH_BLOCK_FOR


def look_again(
    chain_id: int,
    *,
    client: Callable[[Chain], ChainClient] = get_client,
    now: Callable[[], datetime] = timezone.now,
) -> int:
    """Check a batch of the chain's due addresses. Return their number."""
    at = now()
    lease = LOOKS.claim(at, BATCH, chain_id)
    if not lease.keys:
        return 0
    chain = Chain.objects.get(pk=chain_id)
    with leases.kept(lease):
        rows = DepositAddress.objects.filter(pk__in=lease.keys).select_related("request__token")
        addresses = list(rows.order_by("pk"))
        _leave([each for each in addresses if each.next_block is None], chain, lease, at)
        waiting = [each for each in addresses if each.next_block is not None]
        tokens = [each for each in waiting if not _is_native(each)]
        coins = [each for each in waiting if _is_native(each)]
        # Store each result at once, so that neither search can make the other lose its lease.
        _store(_steps(chain, partial(_search, chain, client, tokens, at), tokens, at), lease)
        steps = _steps(chain, partial(_search_coins, chain, client, coins, at), coins, at)
        with transaction.atomic():
            _rejoin(coins, steps, chain, at)
            _store(steps, lease)
    return len(addresses)


def _steps(
    chain: Chain, search: Callable[[], dict[UUID, Step]], addresses: Sequence[DepositAddress], now: datetime
) -> dict[UUID, Step]:
    """Return the next steps after the search. If the search fails, try again after a pause."""
    try:
        return search()
    except ChainError as error:
        logger.warning("the weekly search for deposits on %s failed: %s", chain.name, error)
        return {each.pk: Step(now + PAUSE_AFTER_FAILURE, each.next_block) for each in addresses}


def look_soon(request: PaymentRequest) -> bool:
    """Make the weekly check of the request's address due now, even if the year of weekly checks is over.

    Return False if the address has no weekly check, since the chain's search still covers it.
    """
    rows = DepositAddress.objects.filter(request=request, next_block__isnull=False)
    return bool(rows.update(next_look_at=timezone.now()))


def look_now(
    request: PaymentRequest,
    *,
    client: Callable[[Chain], ChainClient] = get_client,
    seconds: float = math.inf,
) -> Look:
    """Search for payments to the request's address in all blocks since the request was created, oldest first.

    Stop after `seconds`. Raises LookupError if no address was shown, and ChainError.
    """
    give_up_at = time.monotonic() + seconds
    row = DepositAddress.objects.filter(request=request).select_related("request__token").first()
    if row is None:
        raise LookupError("no deposit address was shown for this payment request")
    chain_client = client(request.chain)
    if _is_native(row):
        result = own_search(request.chain, chain_client, [row], now=timezone.now(), seconds=seconds)[row.pk]
        if result.is_failed:
            raise ChainError("no node returns what this address received")
        next_block = result.head + 1 if result.is_whole else result.next_block
        return Look(result.payments, next_block, result.head)
    addresses = shown(DepositAddress.objects.filter(pk=row.pk))
    head = chain_client.head()
    found, next_block = 0, chain_client.block_at(request.created_at)
    while next_block <= head and time.monotonic() < give_up_at:
        more, next_block = find(request.chain, chain_client, addresses, since=next_block, until=head)
        found += more
    return Look(found, next_block, head)


def _leave(addresses: Sequence[DepositAddress], chain: Chain, lease: Lease, now: datetime) -> None:
    """Store the next step of each address. An address leaves the chain's search when its 30 days are over.

    Lock the cursor: the search changes the cursor and the addresses' `swept` together.
    """
    if not addresses:
        return
    with transaction.atomic():
        cursor = DiscoveryCursor.objects.select_for_update().filter(chain=chain).first()
        tokens, coins = (cursor.deposits_next_block, cursor.coins_next_block) if cursor else (None, None)
        steps = {
            each.pk: leave_search(each.request, coins if _is_native(each) else tokens, now)
            for each in addresses
        }
        _store(steps, lease)


def _rejoin(
    addresses: Sequence[DepositAddress], steps: dict[UUID, Step], chain: Chain, now: datetime
) -> None:
    """Let the chain's search take over addresses whose weekly checks have not begun, if it is at the same block.

    The cursor must stay locked until the steps are stored. While a worker holds the cursor, it may be searching without
    these addresses. So they wait until it is free.
    """
    early = [each for each in addresses if each.pk in steps and _is_early(each.request, now)]
    if not early:
        return
    cursor = DiscoveryCursor.objects.select_for_update().filter(chain=chain, claim_id=None).first()
    for each in early:
        step = steps[each.pk]
        if cursor is not None and step.swept is not None and step.next_block == cursor.coins_next_block:
            steps[each.pk] = replace(leave_search(each.request, None, now), swept=step.swept)


def _is_native(address: DepositAddress) -> bool:
    return address.request.token.contract_address == NATIVE


def _store(steps: Mapping[UUID, Step], lease: Lease) -> None:
    """Store the next steps and release the lease. Addresses with the same step share a query."""
    by_step: dict[Step, list[UUID]] = defaultdict(list)
    for pk, step in steps.items():
        by_step[step].append(pk)
    held = DepositAddress.objects.filter(claim_id=lease.claim_id)
    for step, keys in by_step.items():
        held.filter(pk__in=keys).update(**step.columns, **FREE)


def _search_coins(
    chain: Chain, client: Callable[[Chain], ChainClient], addresses: Sequence[DepositAddress], now: datetime
) -> dict[UUID, Step]:
    """Read the balances of these addresses. Check an address again within the hour if it has coin that can't be
    credited yet, and within minutes if its weekly checks have not begun. A check that did not reach the head continues
    at once.
    """
    if not addresses:
        return {}
    results = own_search(chain, client(chain), addresses, now=now)
    waiting = DepositAddress.objects.filter(pk__in=results, waiting_block__isnull=False)
    soon = set(waiting.values_list("pk", flat=True))
    steps = {}
    for each in addresses:
        found = results[each.pk]
        step = after_look(each.request, found.next_block, now, is_whole=found.is_whole)
        if found.is_failed:
            step = replace(step, next_look_at=now + UNREAD_AGAIN)
        elif found.is_whole and _is_early(each.request, now):
            step = replace(step, next_look_at=_next(now, UNREAD_AGAIN))
        elif found.is_whole and each.pk in soon:
            step = replace(step, next_look_at=now + PERIOD)
        steps[each.pk] = replace(step, swept=found.swept)
    return steps


def _search(
    chain: Chain, client: Callable[[Chain], ChainClient], addresses: list[DepositAddress], now: datetime
) -> dict[UUID, Step]:
    if not addresses:
        return {}
    chain_client = client(chain)
    head = chain_client.head()
    since = min(each.next_block or 0 for each in addresses)
    next_block = since
    if since <= head:
        waiting = shown(DepositAddress.objects.filter(pk__in=[each.pk for each in addresses]))
        _, next_block = find(chain, chain_client, waiting, since=since, until=head)
    is_whole = next_block > head
    stable_until = max(min(next_block, head + 1 - searched_again(chain)), since)
    return {
        each.pk: after_look(each.request, max(stable_until, each.next_block or 0), now, is_whole=is_whole)
        for each in addresses
    }
