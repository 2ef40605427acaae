"""One pass over a chain: a limited number of searches. Merchants take turns."""

import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Greatest

from chains.client import ChainClient, ChainError, Discovery, SearchLimits
from chains.families import head_allowance
from chains.models import Chain
from config.due_work.leases import Lease
from payments.discovery.plan import Place, Position, Range, advance, is_finished, next_group
from payments.discovery.starts import restarted, start_of
from payments.discovery.watches import Watched, Watching, by_merchant, watched, watched_of
from payments.models import DiscoveryCursor, MerchantCursor, Payment, PaymentRequest
from payments.models.payment import IS_ANYONES
from payments.submission.hashes import record_discovered
from payments.verification.reopening import decided_or_open

logger = logging.getLogger(__name__)

# (request id, transaction hash)
_Match = tuple[UUID, str]

TIME_FOR_A_PASS = timedelta(seconds=10)
MAX_FAILURES_IN_A_ROW = 5
LATE = timedelta(seconds=60)
# Search at least this many of the newest blocks again, since they may be reorganised, and nodes may index them late.
FEWEST_SEARCHED_AGAIN = 20
# The maximum number of a request's payments whose transactions could not be read when they were found.
MAX_DOUBTFUL_PAYMENTS = 5
MAX_LOOKED_UP_AGAIN = 500


class LeaseLost(Exception):
    """Another worker may search the chain now, since this worker's lease has expired."""


@dataclass(frozen=True)
class Page:
    """A merchant's watched requests in one search. `is_last` means that the merchant has no more watched requests."""

    place: Place
    requests: Sequence[Watched]
    is_last: bool


@dataclass
class Pass:
    """A running pass over a chain. `head` is the chain's head when the pass began."""

    chain: Chain
    lease: Lease
    client: ChainClient
    now: Callable[[], datetime]
    began_at: datetime
    head: int
    limits: SearchLimits
    queue: deque[Place]
    merchants_at_once: int | None
    payments_found: int = 0
    searches: int = 0
    reached: int | None = None
    error: ChainError | None = None
    failed_alone: list[UUID] = field(default_factory=list)

    @classmethod
    def begin(cls, chain: Chain, lease: Lease, client: ChainClient, now: Callable[[], datetime]) -> "Pass":
        """Create a pass for all merchants with watched requests. Raises ChainError if no node returns the head."""
        began_at, head = now(), client.head()
        # Query the head first, then load the requests. A request that is watched later can't have been paid
        # up to this head.
        cursor, merchants = _cursors(chain, began_at)
        block_time = timedelta(milliseconds=max(chain.block_time_ms, 1))
        queue: deque[Place] = deque()
        for own, watching in merchants:
            position = _position(own)
            start = start_of(
                position, watching.oldest, client, head=head, block_time=block_time, now=began_at
            )
            place = Place(own.merchant_id, restarted(position, start), watching.watches, start, own.is_alone)
            # Another node may have been ahead and moved the cursor beyond this head. Skip that merchant.
            if start <= head + 1:
                queue.append(place)
        limits = client.search_limits()
        return cls(chain, lease, client, now, began_at, head, limits, queue, cursor.merchants_at_once)

    @property
    def has_more(self) -> bool:
        """Whether some merchants were not searched up to the head."""
        return bool(self.queue)

    @property
    def has_failed(self) -> bool:
        return self.error is not None and self.searches == 0

    def run(self) -> None:
        """Search for the queued merchants until the time or the number of searches is used up.

        ChainErrors are stored in `error`. Raises LeaseLost as soon as the lease has expired.
        """
        merchants = len(self.queue)
        failures = 0
        for _ in range(self.limits.searches):
            is_over = failures == MAX_FAILURES_IN_A_ROW or self.now() - self.began_at > TIME_FOR_A_PASS
            if is_over or not self.queue:
                break
            group = self._take_group()
            try:
                self._search(group)
            except ChainError as error:
                failures += 1
                self._note_failure(group, error)
            else:
                failures = 0
                self._note_success(group)
        self._finish(merchants)

    def _take_group(self) -> list[Place]:
        """Take the merchants of the next search from the queue. Store the time of their turn before the search, so
        that a search that fails doesn't delay the turns of other merchants.
        """
        group = next_group(self.queue, self.limits, self.merchants_at_once)
        ids = {place.merchant_id for place in group}
        self.queue = deque(place for place in self.queue if place.merchant_id not in ids)
        with self._writing():
            self._cursors_of(ids).update(turn_at=self.now())
        return group

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Open a transaction that locks the lease. Raises LeaseLost if the lease has expired."""
        with transaction.atomic():
            held = DiscoveryCursor.objects.filter(chain=self.chain, claim_id=self.lease.claim_id)
            if held.select_for_update(no_key=True).first() is None or not self.lease.holds(self.chain.pk):
                raise LeaseLost
            yield

    def _search(self, group: Sequence[Place]) -> None:
        """Search for payments of the group's requests and record them. Then move the cursors."""
        pages = self._pages(group)
        requests = [request for page in pages for request in page.requests]
        searched = self._range(group[0].position)
        reach, looked_up = searched.until + 1, len(requests)
        if requests:
            by_block = self.limits.by_block
            since = min(place.start for place in group) if by_block else None
            watches = [request.watch for request in requests]
            discovery = self.client.discover(watches, since_block=since, until_block=searched.until)
            self.payments_found += _record(self.chain, self.client, requests, discovery, is_fresh=by_block)
            if by_block:
                reach = min(discovery.next_block, searched.until + 1)
            elif 0 < discovery.next_block < looked_up:
                looked_up = discovery.next_block
            self.reached = max(self.reached or 0, reach)
        self._move(pages, searched, reach, looked_up)

    def _range(self, position: Position) -> Range:
        """Return the range of blocks to search: the merchant's unfinished range if there is one, else the range up to
        the head.
        """
        look_back = searched_again(self.chain)
        if position.until_block is None:
            return Range(self.head, self.head, self.began_at, look_back)
        head = position.until_block if position.pass_head is None else position.pass_head
        return Range(position.until_block, head, position.pass_began_at, look_back)

    def _pages(self, group: Sequence[Place]) -> list[Page]:
        requests = watched(self.chain, self.began_at)
        ids = [place.merchant_id for place in group]
        if len(group) == 1:
            most = self.limits.watches
            rows = watched_of(requests, ids, after=group[0].position.after, most=most + 1)
            return [Page(group[0], rows[:most], is_last=len(rows) <= most)]
        of_merchant: dict[UUID, list[Watched]] = defaultdict(list)
        for request in watched_of(requests, ids, after=None, most=None):
            of_merchant[request.merchant_id].append(request)
        return [Page(place, of_merchant[place.merchant_id], is_last=True) for place in group]

    def _move(self, pages: Iterable[Page], searched: Range, reach: int, looked_up: int) -> None:
        """Move the cursors. Of all the pages' requests, the search covered the first `looked_up`."""
        moves: dict[Position, list[UUID]] = defaultdict(list)
        for page in pages:
            done = min(len(page.requests), looked_up)
            looked_up -= done
            is_whole = done == len(page.requests)
            if done == 0 and not is_whole:
                self.queue.append(page.place)
                continue
            last = None if is_whole and page.is_last else page.requests[done - 1].request_id
            place = advance(page.place, searched, reach, last)
            if place is None:
                continue
            if place.position.after is None and searched.head < self.head:
                # An earlier pass searched the first part of this range. The newest blocks of that part could still
                # change then: search them again.
                place = replace(place, start=min(place.start, place.position.next_block or 0))
            moves[place.position].append(place.merchant_id)
            if not is_finished(place, self.head):
                self.queue.append(place)
        with self._writing():
            for position, merchant_ids in moves.items():
                self._cursors_of(merchant_ids).update(**asdict(position))

    def _note_failure(self, group: Sequence[Place], error: ChainError) -> None:
        """Store the error. Halve the group, so that the merchant whose search fails does not make the others fail."""
        self.error = error
        if len(group) == 1:
            self.failed_alone.append(group[0].merchant_id)
        else:
            self.merchants_at_once = len(group) // 2
            self.queue.extendleft(reversed(group))

    def _note_success(self, group: Sequence[Place]) -> None:
        self.searches += 1
        if self.merchants_at_once is not None and len(group) >= self.merchants_at_once:
            self.merchants_at_once *= 2
        if group[0].is_alone:
            self._cursors_of([group[0].merchant_id]).update(is_alone=False)

    def _finish(self, merchants: int) -> None:
        with self._writing():
            self._write_progress(merchants)
        times = [place.position.searched_at for place in self.queue]
        behind = self.began_at - min((time for time in times if time is not None), default=self.began_at)
        if behind > LATE:
            seconds = int(behind.total_seconds())
            message = "search on %s can't keep up: %d merchants are left, the last of them %d s behind"
            logger.warning(message, self.chain.name, len(self.queue), seconds)

    def _write_progress(self, merchants: int) -> None:
        at_once = self.merchants_at_once
        cursor = DiscoveryCursor.objects.filter(chain=self.chain)
        cursor.update(merchants_at_once=at_once if at_once is not None and at_once < merchants else None)
        if self.reached is not None:
            # Only merchants without a cursor start at the chain's position, so the position may move now.
            stable_until = max(min(self.reached, self.head + 1 - searched_again(self.chain)), 0)
            cursor.update(next_block=Greatest("next_block", Value(stable_until)))
            if self.reached > self.head:
                cursor.update(searched_at=Greatest("searched_at", Value(self.began_at)))
        if self.searches and self.failed_alone:
            self._cursors_of(self.failed_alone).update(is_alone=True)

    def _cursors_of(self, merchant_ids: Iterable[UUID]) -> QuerySet[MerchantCursor]:
        return MerchantCursor.objects.filter(chain=self.chain, merchant_id__in=list(merchant_ids))


def _cursors(chain: Chain, now: datetime) -> tuple[DiscoveryCursor, list[tuple[MerchantCursor, Watching]]]:
    """Return the chain's cursor, and the merchants' cursors: the merchant with the oldest turn first.

    A merchant with its first watched request gets a cursor at the chain's position. The cursor of a merchant
    without watched requests is deleted. Lock the chain's row, so that a slow worker can't delete a cursor that
    another worker has just created.
    """
    with transaction.atomic():
        cursor = DiscoveryCursor.objects.select_for_update().get(chain=chain)
        begin_at = cursor.next_block
        if begin_at is not None and cursor.searched_at is None:
            # No search has reached the head yet, but one may have moved `next_block`. Search the last blocks again.
            begin_at = max(begin_at - searched_again(chain), 0)
        watching = by_merchant(watched(chain, now))
        own = MerchantCursor.objects.filter(chain=chain)
        own.exclude(merchant_id__in=list(watching)).delete()
        existing = set(own.values_list("merchant_id", flat=True))
        MerchantCursor.objects.bulk_create(
            MerchantCursor(
                chain=chain,
                merchant_id=merchant_id,
                next_block=begin_at,
                searched_at=cursor.searched_at,
                created_at=now,
            )
            for merchant_id in watching.keys() - existing
        )
        cursor.watches = sum(merchant.watches for merchant in watching.values())
        cursor.save(update_fields=["watches"])
        rows = own.order_by(F("turn_at").asc(nulls_first=True), "merchant_id")
        return cursor, [(row, watching[row.merchant_id]) for row in rows]


def searched_again(chain: Chain) -> int:
    """Return how many of the newest blocks are searched again: at least as many as a node may lag behind."""
    return max(FEWEST_SEARCHED_AGAIN, head_allowance(chain))


def _position(cursor: MerchantCursor) -> Position:
    return Position(
        next_block=cursor.next_block,
        searched_at=cursor.searched_at,
        until_block=cursor.until_block,
        after=cursor.after,
        pass_head=cursor.pass_head,
        pass_began_at=cursor.pass_began_at,
    )


def _record(
    chain: Chain, client: ChainClient, requests: Iterable[Watched], discovery: Discovery, *, is_fresh: bool
) -> int:
    """Record the new transactions as payments. Return their number.

    If the discovery is not `is_fresh`, it may name transactions that a reorganisation has removed. A failed payment is
    reopened only if its transaction is in a block now.
    """
    ids = {request.watch.reference: request.request_id for request in requests}
    found, doubtful = (
        {(ids[reference], hash_): None for reference, hash_ in pairs if reference in ids}
        for pairs in (discovery.found, discovery.doubtful)
    )
    matches = found | doubtful
    if not matches:
        return 0
    existing = decided_or_open(chain, [hash_ for _, hash_ in matches])
    undecided = {match: None for match in matches if match not in existing}
    failed = _failed(chain, undecided)
    new = _within_cap(chain, [match for match in undecided if match not in failed], doubtful)
    new += failed if is_fresh else _mined(client, failed)
    rows = PaymentRequest.objects.in_bulk([request_id for request_id, _ in new])
    for request_id, hash_ in new:
        is_doubtful = (request_id, hash_) in doubtful
        record_discovered(rows[request_id], chain=chain, transaction_hash=hash_, is_doubtful=is_doubtful)
    return len(new)


def _failed(chain: Chain, matches: Collection[_Match]) -> dict[_Match, None]:
    """Return those of these (request id, hash) pairs that have a failed payment, the newest first."""
    of_hashes = Payment.objects.filter(chain=chain, transaction_hash__in=[hash_ for _, hash_ in matches])
    failed = of_hashes.filter(status=Payment.Status.FAILED).order_by("-failed_at")
    rows = failed.values_list("request_id", "transaction_hash")
    return {
        (request_id, hash_): None for request_id, hash_ in rows if hash_ and (request_id, hash_) in matches
    }


def _within_cap(chain: Chain, new: Sequence[_Match], doubtful: Collection[_Match]) -> list[_Match]:
    """Return `new` without the doubtful transactions for which their request may have no further payment."""
    requests = {match[0] for match in new if match in doubtful}
    # Clients' submissions have a submitter.
    existing = Payment.objects.filter(IS_ANYONES, request__in=requests, chain=chain, submitter="")
    counts = Counter(existing.values_list("request_id", flat=True)) if requests else Counter()
    kept = []
    for match in new:
        if match in doubtful:
            counts[match[0]] += 1
        if match not in doubtful or counts[match[0]] <= MAX_DOUBTFUL_PAYMENTS:
            kept.append(match)
    return kept


def _mined(client: ChainClient, failed: Collection[_Match]) -> list[_Match]:
    """Return those whose transactions are in a block now. No more than 500 are looked up."""
    looked_up = list(failed)[:MAX_LOOKED_UP_AGAIN]
    if not looked_up:
        return []
    try:
        snapshot = client.look_up([hash_ for _, hash_ in looked_up], with_finality=False)
    except ChainError as error:
        logger.warning("failed payments could not be looked up again: %s", error)
        return []
    mined = {hash_ for hash_, facts in snapshot.transactions.items() if facts is not None and facts.block}
    return [match for match in looked_up if match[1] in mined]
