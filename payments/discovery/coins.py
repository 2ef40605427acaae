"""Find native coin that arrives at deposit addresses. Transfers of native coin leave no log, so compare balances.

Each pass reads the balances of all addresses of a chain at one block, in large batches. An address may have
received more than its known payments. The search then finds the first block that shows the difference, and stores the
difference as a payment. Verification decides whether that payment counts.

Small arrivals wait until the block that showed them is final, and are then credited together, at most once an hour.
The same holds for all arrivals after the first 30 payments of a request.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from chains.client import ChainClient, ChainError, Head, StateMissing
from chains.facts.deposits import CoinsReceived, ReceiptTime
from chains.facts.failures import SweepsMissing
from chains.models import Chain
from config.due_work.leases import FREE
from payments.coins.lookups import NATIVE, Reading, since_blocks
from payments.coins.recording import record_reading, submitted_to
from payments.coins.sums import accounted, parts_of
from payments.discovery.deposits import MAX_FOUND_PAYMENTS, SMALLEST_PART, found_payments
from payments.discovery.grouping import next_group
from payments.discovery.plan import Position
from payments.discovery.starts import start_of
from payments.models import DepositAddress, DiscoveryCursor
from payments.verification.finality import final_height

logger = logging.getLogger(__name__)

IS_NATIVE = Q(request__token__contract_address=NATIVE)
MAX_STEPS = 5
"""The maximum number of payments of one address that a pass finds. The last one includes all remaining arrivals."""
UNREAD_AGAIN = timedelta(minutes=5)
"""The pause before an address is checked again whose amount no node could read."""
OWN_BLOCKS = 2000
OWN_SECONDS = 10.0
"""A search of single addresses reads this many blocks at a time. After this many seconds, it begins no further read, so
that its result is stored before its lease ends."""
RECEIPT_SECONDS = 5.0
"""A read of single addresses spends at most this long on receipts, for each node."""


@dataclass(frozen=True)
class Found:
    """The result of a search. `swept` is the amount swept up to the block `final`, by request id.

    `unread` are the requests whose amount is unknown now. Their addresses have to be searched again from the same
    block on.
    """

    payments: int
    swept: Mapping[UUID, int]
    final: int
    unread: frozenset[UUID] = frozenset()


@dataclass(frozen=True)
class OwnSearch:
    """How far the search of one address has come. `swept` is the total that was swept before `next_block`.

    If `is_failed`, `next_block` can't be read now.
    """

    next_block: int
    swept: int
    head: int
    payments: int = 0
    is_whole: bool = False
    is_failed: bool = False


@dataclass(frozen=True)
class _Range:
    """A range of blocks. The search finds the first block at which the address had received more than `before`.

    The range begins after block `low` and ends at the block of `seen`. `swept` is the total that was swept before the
    block `since`.
    """

    row: DepositAddress
    before: int
    low: int
    seen: Reading
    since: int
    swept: int


def search_for_coins(chain: Chain, client: ChainClient, *, claim_id: UUID, now: datetime) -> int:
    """Read the balances at the head. Return how many payments were found.

    The cursor moves only while this worker holds the chain's lease. An address whose amount is unknown leaves this
    search, so that it delays no other. It is then checked from its own position on, as in `payments.deposits.looks`.

    Raises ChainError.
    """
    each_block = DepositAddress.objects.filter(IS_NATIVE, chain=chain, next_block__isnull=True)
    if not each_block.exists() or not client.search_limits().by_block:
        return 0
    head = client.look_up([], with_finality=True).head
    # Load the rows first, then the cursor. So `swept` has no sweep after the cursor's block, and no sweep is
    # counted twice.
    rows = list(with_amounts(each_block))
    if not rows:
        return 0
    cursor = DiscoveryCursor.objects.get(chain=chain)
    position = Position(cursor.coins_next_block, cursor.coins_searched_at)
    block_time = timedelta(milliseconds=max(chain.block_time_ms, 1))
    oldest = min(row.shown_at for row in rows)
    since = start_of(position, oldest, client, head=head.latest, block_time=block_time, now=now)
    try:
        found = find(chain, client, rows, head=head, since=since, read_until=cursor.coins_read_block, now=now)
    except SweepsMissing:
        found = Found(0, {}, since - 1, frozenset(row.pk for row in rows))
    with transaction.atomic():
        moved = {
            "coins_next_block": max(found.final + 1, since),
            "coins_searched_at": now,
            "coins_read_block": head.latest,
        }
        # An address may have left this search meanwhile. Such an address has a position and a `swept` of its
        # own.
        if DiscoveryCursor.objects.filter(chain=chain, claim_id=claim_id).update(**moved):
            for pk, amount in found.swept.items():
                DepositAddress.objects.filter(pk=pk, next_block__isnull=True).update(
                    swept=F("swept") + amount
                )
            # Without its lease, no other worker can store an older step of this address.
            unread = DepositAddress.objects.filter(pk__in=found.unread, next_block__isnull=True)
            unread.update(next_block=since, next_look_at=now + UNREAD_AGAIN, **FREE)
    return found.payments


def with_amounts(rows: QuerySet[DepositAddress]) -> QuerySet[DepositAddress]:
    """Load only the columns that the search needs, since there may be very many rows."""
    columns = ("address", "chain", "shown_at", "next_block", "swept", "grouped_at", "request__amount")
    waiting = ("waiting_block", "waiting_hash", "waiting_received")
    return rows.select_related("request").only(*columns, *waiting).order_by("pk")


def find(
    chain: Chain,
    client: ChainClient,
    rows: Sequence[DepositAddress],
    *,
    head: Head,
    since: int,
    read_until: int | None,
    now: datetime,
    at: int | None = None,
    receipts: ReceiptTime | None = None,
) -> Found:
    """Record what these addresses received up to the block `at`, or up to the head. Raises ChainError.

    `row.swept` includes the sweeps before the block `since`. `read_until` is the block of the last reading.
    """
    at_block = head.latest if at is None else at
    final = min(final_height(chain, head), at_block)
    read = client.coins_received(
        [row.address for row in rows],
        since_block=since,
        at_block=at_block,
        stable_block=final,
        receipts=receipts,
    )
    unread = frozenset(row.pk for row in rows if row.address not in read.amounts)
    rows = [row for row in rows if row.pk not in unread]
    readings = {row.pk: Reading(read.block, row.swept + read.amounts[row.address]) for row in rows}
    parts = parts_of([pk for pk, reading in readings.items() if reading.received])
    sums = {pk: accounted(each) for pk, each in parts.items()}
    low = max(since - 1, -1 if read_until is None else read_until)
    ranges = [
        _Range(
            row, max(sums.get(row.pk, 0), row.waiting_received or 0), low, readings[row.pk], since, row.swept
        )
        for row in rows
        if readings[row.pk].received > max(sums.get(row.pk, 0), row.waiting_received or 0)
    ]
    count = _record(ranges, _seen(client, ranges, final, receipts), sums)
    count += _record_waiting(client, [row for row in rows if row.waiting_block is not None], final, now)
    return Found(count, _by_request(rows, read), final, unread)


def own_search(
    chain: Chain,
    client: ChainClient,
    rows: Collection[DepositAddress],
    *,
    now: datetime,
    seconds: float = OWN_SECONDS,
) -> dict[UUID, OwnSearch]:
    """Record what these addresses received, each from its own position on, for about `seconds`.

    The addresses that are furthest behind come first, until they reach the others and share their queries. Without
    state, a node can't tell what arrived up to a block. Its sweeps still count, and the coin is found later.

    Raises ChainError.
    """
    give_up_at = time.monotonic() + seconds
    head = client.look_up([], with_finality=True).head
    final = min(final_height(chain, head), head.latest)
    since = since_blocks(client, rows)
    results = {row.pk: OwnSearch(since[row.pk], row.swept, head.latest) for row in rows}
    left = list(rows)
    while left:
        first = min(results[row.pk].next_block for row in left)
        group = [row for row in left if results[row.pk].next_block == first]
        ahead = [place for row in left if first < (place := results[row.pk].next_block) <= final + 1]
        until = min([first + OWN_BLOCKS - 1, final, *(place - 1 for place in ahead)])
        is_last = first > final or (until == final and not ahead)
        at = None if is_last else until
        try:
            found = _own_step(chain, client, group, head=head, since=first, at=at, now=now)
        except ChainError as error:
            logger.warning("native coin on %s could not be read from block %s: %s", chain.name, first, error)
            found = Found(0, {}, first - 1, frozenset(row.pk for row in group))
        for row in group:
            old, is_failed = results[row.pk], row.pk in found.unread
            row.swept += found.swept.get(row.pk, 0)
            results[row.pk] = replace(
                old,
                next_block=old.next_block if is_failed else max(found.final + 1, first),
                swept=row.swept,
                payments=old.payments + found.payments,
                is_whole=is_last and not is_failed,
                is_failed=is_failed,
            )
        left = [row for row in left if not (results[row.pk].is_whole or results[row.pk].is_failed)]
        if time.monotonic() >= give_up_at:
            break
    return results


def _own_step(
    chain: Chain,
    client: ChainClient,
    rows: Sequence[DepositAddress],
    *,
    head: Head,
    since: int,
    at: int | None,
    now: datetime,
) -> Found:
    time_ = ReceiptTime(RECEIPT_SECONDS)
    try:
        return find(
            chain, client, rows, head=head, since=since, read_until=None, now=now, at=at, receipts=time_
        )
    except StateMissing:
        if at is None:
            raise
    addresses = [row.address for row in rows]
    swept = client.coins_swept(addresses, since_block=since, until_block=at, receipts=time_)
    known = {row.pk: swept[row.address] for row in rows if row.address in swept}
    return Found(0, known, at, frozenset(row.pk for row in rows if row.pk not in known))


def _by_request(rows: Iterable[DepositAddress], read: CoinsReceived) -> dict[UUID, int]:
    return {row.pk: read.swept[row.address] for row in rows if row.address in read.swept}


def _seen(
    client: ChainClient, ranges: Sequence[_Range], final: int, receipts: ReceiptTime | None
) -> dict[UUID, list[Reading]]:
    """Return a reading for each arrival, by request id: the balance at the first block that showed the arrival.

    If no node has the state of that block any more, a later block is used. The last reading shows as much as the
    head.
    """
    steps: dict[UUID, list[Reading]] = defaultdict(list)
    left = list(ranges)
    for step in range(MAX_STEPS):
        is_last = step == MAX_STEPS - 1
        first = {each.row.pk: each.seen for each in left}
        if not is_last:
            first = _first_blocks(client, left, final, receipts)
        further: list[_Range] = []
        for each in left:
            reading = first[each.row.pk]
            steps[each.row.pk].append(reading)
            if reading.received < each.seen.received:
                further.append(replace(each, before=reading.received, low=reading.block.number))
        left = further
    return steps


def _first_blocks(
    client: ChainClient, ranges: Sequence[_Range], final: int, receipts: ReceiptTime | None
) -> dict[UUID, Reading]:
    """Return, for each range, the balance at the first block that shows more than `before`.

    The block is found by bisection. Searches with the same next block share a call. The sweeps up to a final block are
    read once, if the search continues after it. Raises ChainError.
    """
    places = {each.row.pk: each for each in ranges}
    while True:
        middles: dict[tuple[int, int], list[_Range]] = defaultdict(list)
        for each in places.values():
            if each.seen.block.number - each.low > 1:
                middles[(each.low + each.seen.block.number) // 2, each.since].append(each)
        if not middles:
            return {pk: each.seen for pk, each in places.items()}
        for (height, since), group in middles.items():
            try:
                read = client.coins_received(
                    [each.row.address for each in group],
                    since_block=since,
                    at_block=height,
                    stable_block=height,
                    receipts=receipts,
                )
            except StateMissing:
                # No node has the state of this block any more: continue after it.
                places |= {each.row.pk: replace(each, low=height) for each in group}
                continue
            for each in group:
                address = each.row.address
                if address not in read.amounts:
                    places[each.row.pk] = replace(each, low=height)
                    continue
                received = each.swept + read.amounts[address]
                if received > each.before:
                    places[each.row.pk] = replace(each, seen=Reading(read.block, received))
                elif height <= final:
                    swept = each.swept + read.swept.get(address, 0)
                    places[each.row.pk] = replace(each, low=height, since=height + 1, swept=swept)
                else:
                    places[each.row.pk] = replace(each, low=height)


def _record(
    ranges: Sequence[_Range], seen: Mapping[UUID, Sequence[Reading]], sums: Mapping[UUID, int]
) -> int:
    """Record the arrivals as payments, or let them wait if they are small or frequent. Return the number of
    payments.
    """
    counts = found_payments(seen.keys())
    # If the customer submitted the transaction, record its coin at once, even if the amount is small. Until
    # then, the transaction's open payment keeps the request open.
    submitted = set(submitted_to(seen.keys()).values_list("request_id", flat=True)) if seen else set()
    count = 0
    for each in ranges:
        row, known = each.row, sums.get(each.row.pk, 0)
        waits: Reading | None = None
        for reading in seen[row.pk]:
            is_small = (reading.received - known) * SMALLEST_PART < row.request.amount
            is_frequent = counts[row.pk] >= MAX_FOUND_PAYMENTS
            if row.pk not in submitted and (is_small or is_frequent):
                waits = reading
                continue
            waits = None
            known = reading.received
            if record_reading(row.pk, reading):
                counts[row.pk] += 1
                count += 1
        _let_wait(row, waits, is_recorded=known > sums.get(row.pk, 0))
    return count


def _let_wait(row: DepositAddress, reading: Reading | None, *, is_recorded: bool) -> None:
    """Store the reading as the waiting arrival. An earlier waiting arrival stays, unless a payment that was just
    recorded includes it.
    """
    if reading is None and not is_recorded:
        return
    if reading is not None and row.waiting_block is not None and not is_recorded:
        return
    columns = _waiting(reading)
    DepositAddress.objects.filter(pk=row.pk).update(**columns)
    for name, value in columns.items():
        setattr(row, name, value)


def _waiting(reading: Reading | None) -> dict[str, object]:
    if reading is None:
        return {"waiting_block": None, "waiting_hash": "", "waiting_received": None}
    block = reading.block
    return {
        "waiting_block": block.number,
        "waiting_hash": block.hash,
        "waiting_received": reading.received,
    }


def _record_waiting(client: ChainClient, rows: Collection[DepositAddress], final: int, now: datetime) -> int:
    """Record the waiting arrivals whose block is final. Delete an arrival if a reorganisation removed its block."""
    due = [
        row
        for row in rows
        if row.waiting_block is not None
        and row.waiting_block <= final
        and next_group(row.grouped_at, now) <= now
    ]
    blocks = client.blocks({row.waiting_block for row in due if row.waiting_block is not None}) if due else {}
    count = 0
    for row in due:
        block = blocks.get(row.waiting_block or 0)
        if block is None:
            continue
        is_there = block.hash == row.waiting_hash
        columns = _waiting(None)
        if is_there and record_reading(row.pk, Reading(block, row.waiting_received or 0)):
            columns["grouped_at"] = now
            count += 1
        DepositAddress.objects.filter(pk=row.pk).update(**columns)
    return count
