"""Plan which merchants share a search of a chain, and how a finished search moves their cursors. Pure functions.

A *watch* is a payment request whose payments a search tries to find. Before a merchant's cursor moves past a block,
that block is searched for all the merchant's watches. A request that is watched later can't have been paid in that
block, since its reference was not published yet.
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
        """Whether this merchant's watches leave room for other merchants' watches in the same search."""
        return not self.is_alone and self.position.after is None and self.watches < limits.watches


@dataclass(frozen=True)
class Range:
    """The blocks of a search end at `until`. `head` was the chain's head when the first part of the search began.

    `began_at` is the time of the search if it ends at the chain's head (`until` equals `head`), else None.
    The newest `look_back` blocks below `head` may still change, or may not be indexed yet.
    """

    until: int
    head: int
    began_at: datetime | None
    look_back: int


def next_group(queue: Sequence[Place], limits: SearchLimits, at_once: int | None) -> list[Place]:
    """Return at most `at_once` places that share the next search. These are the first place in the queue, and others
    that start at a near block and for which the search has room.
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
    """Return the merchant's new place after a search up to the block before `reach`, or None if there was no
    progress.

    `last` is the last request that was searched for, or None if all requests were searched for.
    """
    reach = max(place.start, min(reach, searched.until + 1))
    is_whole = reach == searched.until + 1
    if reach == place.start and not is_whole:
        return None
    began_at = searched.began_at if is_whole else None
    before = place.position
    if last is not None:
        # Don't move `next_block` yet: the same blocks must be searched for the remaining watches too.
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
