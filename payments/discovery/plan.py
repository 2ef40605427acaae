"""Plan which merchants share a search of a chain, and how a finished search moves their cursors. Pure functions.

A *watch* is a request that the search looks for. A merchant's cursor moves past a block only when all the
merchant's watches were searched for in that block. A later watch can't have been paid there, since its reference
was not published yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chains.client import SearchLimits

# Merchants share a search if their next blocks are at most this far apart.
SPREAD = 20


@dataclass(frozen=True)
class Position:
    """The position of a `MerchantCursor`. The model explains the fields."""

    next_block: int | None
    searched_at: datetime | None
    until_block: int | None = None
    after: UUID | None = None
    pass_head: int | None = None
    pass_began_at: datetime | None = None


@dataclass(frozen=True)
class Place:
    """A merchant in the queue of a pass. `start` is the first block to search, `watches` the number of watched
    requests.
    """

    merchant_id: UUID
    position: Position
    watches: int
    start: int
    is_alone: bool = False

    def shares(self, limits: SearchLimits) -> bool:
        """Whether one search has room for all of this merchant's watches and some of other merchants."""
        return not self.is_alone and self.position.after is None and self.watches < limits.watches


@dataclass(frozen=True)
class Range:
    """The last block of a search (`until`), and the chain's head when its first part was searched.

    `began_at` is when `until` was the head, or None if `until` is below the head. The newest `look_back`
    blocks below `head` may still change, or may not be indexed yet.
    """

    until: int
    head: int
    began_at: datetime | None
    look_back: int


def next_group(queue: Sequence[Place], limits: SearchLimits, at_once: int | None) -> list[Place]:
    """Return the places that share the next search: the first place in the queue, and others that fit.

    A place fits if its range starts near the first one's and the search has room. At most `at_once` places.
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
    """Return the place after a search of the blocks before `reach`. Return None if it made no progress.

    `last` is the last request that was searched for, or None if all requests were searched for.
    """
    reach = max(place.start, min(reach, searched.until + 1))
    is_whole = reach == searched.until + 1
    if reach == place.start and not is_whole:
        return None
    began_at = searched.began_at if is_whole else None
    before = place.position
    if last is not None:
        # The cursor stays until the remaining watches were searched for in the same blocks.
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
