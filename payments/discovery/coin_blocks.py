"""Find the blocks in which native coin arrived, by the balances of the addresses.

A payment by address has the time of its block. So arrivals that come together in one reading are never on both
sides of a time limit of their request. Otherwise, a stranger's small transfers after the limit could make a
customer's transfer count as late.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chains.client import ChainClient, StateMissing
from chains.facts.deposits import ReceiptTime
from payments.coins.lookups import Reading
from payments.models import DepositAddress, PaymentRequest
from payments.requests.crediting import time_limits

MAX_STEPS = 5
"""The maximum number of arrivals at one address that a pass finds between two time limits. The last one includes all
remaining arrivals before the second limit."""


@dataclass(frozen=True)
class Range:
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


def find_arrivals(
    client: ChainClient,
    ranges: Sequence[Range],
    requests: Mapping[UUID, PaymentRequest],
    *,
    final: int,
    receipts: ReceiptTime | None,
) -> dict[UUID, list[Reading]]:
    """Return a reading for each arrival, by request id: the balance at the first block that showed the arrival.

    If no node has the state of that block any more, a later block is used. The last reading shows as much as the
    range's end. Raises ChainError.
    """
    limits = {each.row.pk: time_limits(requests[each.row.pk]) for each in ranges}
    readings: dict[UUID, list[Reading]] = defaultdict(list)
    for left in _split(client, ranges, limits, receipts):
        for pk, steps in _steps(client, left, final, receipts).items():
            readings[pk] += steps
    return readings


def _split(
    client: ChainClient,
    ranges: Sequence[Range],
    limits: Mapping[UUID, Sequence[datetime]],
    receipts: ReceiptTime | None,
) -> list[list[Range]]:
    """Split each range at the time limits of its request. Return groups of ranges, the earliest blocks first.

    A group has at most one range of each address.
    """
    groups: list[list[Range]] = []
    left = {each.row.pk: each for each in ranges}
    for number in range(max((len(each) for each in limits.values()), default=0)):
        crossing = {
            pk: limits[pk][number]
            for pk, each in left.items()
            if number < len(limits[pk]) and each.seen.block.time > limits[pk][number]
        }
        ends = _last_blocks(client, left, crossing)
        early: list[Range] = []
        for pk, reading in _read(client, [left[pk] for pk in ends], ends, receipts).items():
            each = left.pop(pk)
            if reading.received > each.before:
                early.append(replace(each, seen=reading))
            if reading.received < each.seen.received:
                before = max(reading.received, each.before)
                left[pk] = replace(each, before=before, low=reading.block.number)
        groups.append(early)
    return [*groups, list(left.values())]


def _last_blocks(
    client: ChainClient, ranges: Mapping[UUID, Range], limits: Mapping[UUID, datetime]
) -> dict[UUID, int]:
    """Return, by request id, the last block up to the time limit. Ranges that begin after it are omitted.

    A block that no node returns counts as later. All ranges share each call. Raises ChainError.
    """
    if not limits:
        return {}
    lows = {pk: ranges[pk].low for pk in limits if ranges[pk].low >= 0}
    blocks = client.blocks(set(lows.values()))
    lows = {pk: low for pk, low in lows.items() if low in blocks and blocks[low].time <= limits[pk]}
    highs = {pk: ranges[pk].seen.block.number for pk in lows}
    while middles := {pk: (low + highs[pk]) // 2 for pk, low in lows.items() if highs[pk] - low > 1}:
        blocks = client.blocks(set(middles.values()))
        for pk, middle in middles.items():
            is_early = middle in blocks and blocks[middle].time <= limits[pk]
            (lows if is_early else highs)[pk] = middle
    return {pk: low for pk, low in lows.items() if low > ranges[pk].low}


def _read(
    client: ChainClient,
    ranges: Iterable[Range],
    heights: Mapping[UUID, int],
    receipts: ReceiptTime | None,
) -> dict[UUID, Reading]:
    """Return the balances at these heights, by request id. A balance is omitted if no node can read it."""
    groups: dict[tuple[int, int], list[Range]] = defaultdict(list)
    for each in ranges:
        groups[heights[each.row.pk], each.since].append(each)
    readings: dict[UUID, Reading] = {}
    for (height, since), group in groups.items():
        addresses = [each.row.address for each in group]
        try:
            read = client.coins_received(addresses, since_block=since, at_block=height, receipts=receipts)
        except StateMissing:
            continue
        for each in group:
            if each.row.address in read.amounts:
                received = each.swept + read.amounts[each.row.address]
                readings[each.row.pk] = Reading(read.block, received)
    return readings


def _steps(
    client: ChainClient, ranges: Sequence[Range], final: int, receipts: ReceiptTime | None
) -> dict[UUID, list[Reading]]:
    steps: dict[UUID, list[Reading]] = defaultdict(list)
    left = list(ranges)
    for step in range(MAX_STEPS):
        if step == MAX_STEPS - 1:
            # Find the first block that shows everything.
            left = [replace(each, before=each.seen.received - 1) for each in left]
        first = _first_blocks(client, left, final, receipts)
        further: list[Range] = []
        for each in left:
            reading = first[each.row.pk]
            steps[each.row.pk].append(reading)
            if reading.received < each.seen.received:
                further.append(replace(each, before=reading.received, low=reading.block.number))
        left = further
    return steps


def _first_blocks(
    client: ChainClient, ranges: Sequence[Range], final: int, receipts: ReceiptTime | None
) -> dict[UUID, Reading]:
    """Return, for each range, the balance at the first block that shows more than `before`.

    The block is found by bisection. Searches with the same next block share a call. The sweeps up to a final block are
    read once, if the search continues after it. Raises ChainError.
    """
    places = {each.row.pk: each for each in ranges}
    while True:
        middles: dict[tuple[int, int], list[Range]] = defaultdict(list)
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
