"""Find native coin that arrives at deposit addresses. Transfers of native coin leave no log, so compare balances.

Each pass reads the balances of all addresses of a chain at one block, in large batches. An address may have
received more than its known payments. The search then finds the first block that shows the difference, and stores the
difference as a payment. Verification decides whether that payment counts.

Small arrivals wait until the block that showed them is final, and are then credited together, at most once an hour.
The same holds for all arrivals after the first 30 payments of a request. Arrivals before and after a time limit of the
request are never credited together.
"""

import logging
import time
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
from payments.discovery.coin_blocks import Range, find_arrivals
from payments.discovery.deposits import MAX_FOUND_PAYMENTS, SMALLEST_PART, found_payments
from payments.discovery.grouping import next_group
from payments.discovery.plan import Position
from payments.discovery.starts import start_of
from payments.models import DepositAddress, DiscoveryCursor, PaymentRequest
from payments.requests.crediting import lateness
from payments.verification.finality import final_height

logger = logging.getLogger(__name__)

IS_NATIVE = Q(request__token__contract_address=NATIVE)
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
    low = max(since - 1, -1 if read_until is None else read_until)
    # While an arrival waits, others may follow it and are not stored. So search from its block on, not from the last
    # reading. Before it is credited, its block is not older than `since`.
    lows = {row.pk: max(since - 1, row.waiting_block - 1) for row in rows if row.waiting_block is not None}
    count = _record_waiting(client, rows, final, now)
    parts = parts_of([pk for pk, reading in readings.items() if reading.received])
    sums = {pk: accounted(each) for pk, each in parts.items()}
    ranges = [
        Range(row, before, lows.get(row.pk, low), readings[row.pk], since, row.swept)
        for row in rows
        if readings[row.pk].received > (before := max(sums.get(row.pk, 0), row.waiting_received or 0))
    ]
    if ranges:
        count += _record(client, ranges, sums, final=final, now=now, receipts=receipts)
        count += _record_waiting(client, [each.row for each in ranges], final, now)
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


def _record(
    client: ChainClient,
    ranges: Sequence[Range],
    sums: Mapping[UUID, int],
    *,
    final: int,
    now: datetime,
    receipts: ReceiptTime | None,
) -> int:
    """Record the arrivals as payments, or let them wait if they are small or frequent. Return the number of
    payments. Raises ChainError.

    Arrivals that wait together are credited with the time of the last one. If an arrival comes after a time limit that
    the waiting one met, the waiting one is recorded at once. This happens at most once for each limit.
    """
    waiting, unknown = _waiting_readings(client, ranges)
    ranges = [
        _searched_again(each, sums)
        if each.row.waiting_block is not None and each.row.pk not in waiting
        else each
        for each in ranges
        if each.row.pk not in unknown
    ]
    keys = [each.row.pk for each in ranges]
    requests = PaymentRequest.objects.only("expires_at", "price").in_bulk(keys)
    counts = found_payments(keys)
    # If the customer submitted the transaction, record its coin at once, even if the amount is small. Until
    # then, the transaction's open payment keeps the request open.
    submitted = set(submitted_to(keys).values_list("request_id", flat=True))

    def waits(row: DepositAddress, amount: int) -> bool:
        is_small = amount * SMALLEST_PART < row.request.amount
        is_frequent = counts[row.pk] >= MAX_FOUND_PAYMENTS
        return row.pk not in submitted and (is_small or is_frequent)

    def is_later(row: DepositAddress, reading: Reading, earlier: Reading) -> bool:
        request = requests[row.pk]
        return lateness(request, reading.block.time) > lateness(request, earlier.block.time)

    def joins(each: Range) -> bool:
        """Whether everything that is new waits with the waiting arrival. If so, its blocks don't matter."""
        row, earlier = each.row, waiting.get(each.row.pk)
        is_waiting = earlier is not None and not is_later(row, each.seen, earlier)
        return is_waiting and waits(row, each.seen.received - sums.get(row.pk, 0))

    searched = [each for each in ranges if not joins(each)]
    arrivals = find_arrivals(client, searched, requests, final=final, receipts=receipts)
    count = 0
    for each in ranges:
        row, known, earlier = each.row, sums.get(each.row.pk, 0), waiting.get(each.row.pk)
        # An arrival that is due keeps its block. Otherwise, frequent arrivals would delay it forever.
        fixed = earlier if next_group(row.grouped_at, now) <= now else None
        for reading in arrivals.get(row.pk, [each.seen]):
            if earlier is not None and is_later(row, reading, earlier):
                if not record_reading(row.pk, earlier):
                    break  # An open payment may be the waiting coin. It is checked first.
                known, earlier = max(known, earlier.received), None
                count += 1
            if waits(row, reading.received - known):
                earlier = reading if earlier is None or earlier is not fixed else earlier
                continue
            known, earlier = reading.received, None
            if record_reading(row.pk, reading):
                counts[row.pk] += 1
                count += 1
        _store(row, _waiting(earlier))
    return count


def _searched_again(each: Range, sums: Mapping[UUID, int]) -> Range:
    """Search again for a waiting arrival whose block was removed. Its coin may be in another block by now."""
    return replace(each, before=sums.get(each.row.pk, 0), low=each.since - 1)


def _waiting_readings(
    client: ChainClient, ranges: Iterable[Range]
) -> tuple[dict[UUID, Reading], frozenset[UUID]]:
    """Return the waiting arrivals, by request id, and the requests whose waiting arrival has an unknown block.

    If a reorganisation removed the block, the arrival is omitted. Raises ChainError.
    """
    rows = [each.row for each in ranges]
    heights = {row.pk: row.waiting_block for row in rows if row.waiting_block is not None}
    blocks = client.blocks(set(heights.values())) if heights else {}
    readings = {
        row.pk: Reading(blocks[heights[row.pk]], row.waiting_received or 0)
        for row in rows
        if row.pk in heights and heights[row.pk] in blocks
    }
    hashes = {row.pk: row.waiting_hash for row in rows}
    there = {pk: reading for pk, reading in readings.items() if reading.block.hash == hashes[pk]}
    return there, frozenset(heights.keys() - readings.keys())


def _store(row: DepositAddress, columns: Mapping[str, object]) -> None:
    """Store the columns that changed."""
    changed = {name: value for name, value in columns.items() if getattr(row, name) != value}
    if changed:
        DepositAddress.objects.filter(pk=row.pk).update(**changed)
    for name, value in changed.items():
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
        _store(row, columns)
    return count
