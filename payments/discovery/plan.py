"""Plan which merchants share a search of a chain, and how a finished search moves their cursors. Pure functions.

A cursor moves past a block only when all watched requests of its merchant were searched for in it. A request that is
first watched later can't have been paid in that block, because its reference was not published yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chains.client import SearchLimits

# Merchants whose next blocks are at most this far apart share a search.
SPREAD = 20


@dataclass(frozen=True)
class Position:
    """The position of a `MerchantCursor`, whose docstring explains the fields."""

    next_block: int | None
    searched_at: datetime | None
    until_block: int | None = None
    after: UUID | None = None
    pass_head: int | None = None
    pass_began_at: datetime | None = None


@dataclass(frozen=True)
class Place:
    """A merchant's entry in a pass: its position, its number of watches, and the first block to search."""

    merchant_id: UUID
    position: Position
    watches: int
    start: int
    is_alone: bool = False

    def shares(self, limits: SearchLimits) -> bool:
        """Whether one search has room for all of the merchant's watches and for other merchants."""
        return not self.is_alone and self.position.after is None and self.watches < limits.watches


@dataclass(frozen=True)
class Range:
    """The end of the searched range, and the head when its first part was searched.

    `began_at` is the time when `until` was the head; None if `until` is below the head. The newest `look_back` blocks
    below `head` may still change or may not be indexed yet.
    """

    until: int
    head: int
    began_at: datetime | None
    look_back: int


def next_group(queue: Sequence[Place], limits: SearchLimits, at_once: int | None) -> list[Place]:
    """Return the places that share the next search: the first in the queue, and those that fit with it.

    Their ranges must start near each other. `at_once` limits their number.
    """
    first = queue[0]
    if not first.shares(limits):
        return [first]
    group: list[Place] = []
    room = limits.watches
    for place in queue:
        if at_once is not None and len(group) >= at_once:
            break
        is_near = not limits.by_block or abs(place.start - first.start) <= SPREAD
        if place.shares(limits) and is_near and place.watches <= room:
            group.append(place)
            room -= place.watches
    return group


def advance(place: Place, searched: Range, reach: int, last: UUID | None) -> Place | None:
    """Return the place after a search from its start to the block before `reach`; None if there was no progress.

    `last` is the last request that was searched for; None if all were.
    """
    reach = max(place.start, min(reach, searched.until + 1))
    is_whole = reach == searched.until + 1
    if reach == place.start and not is_whole:
        return None
    began_at = searched.began_at if is_whole else None
    before = place.position
    if last is not None:
        # The remaining watches are searched for in the same blocks before the cursor moves.
        position = replace(
            before, until_block=reach - 1, after=last, pass_head=searched.head, pass_began_at=began_at
        )
        return replace(place, position=position)
    stable_until = min(reach, searched.head + 1 - searched.look_back)
    position = Position(max(before.next_block or 0, stable_until), began_at or before.searched_at)
    return replace(place, position=position, start=reach)


def is_finished(place: Place, head: int) -> bool:
    """Whether all of the merchant's watches were searched up to the head."""
    return place.position.after is None and place.start > head
