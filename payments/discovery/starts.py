"""Find the block at which a merchant's search continues."""

from dataclasses import replace
from datetime import datetime, timedelta

from chains.client import ChainClient, ChainError
from payments.discovery.plan import Position
from payments.evaluation.proof_windows import CLOCK_ALLOWANCE

# Searching this many blocks is faster than finding the block of a given time.
NEAR = 100
FINE, COARSE = timedelta(minutes=1), timedelta(hours=1)
# If no node can look up block times, assume blocks twice as fast as the catalogue says.
MARGIN = 2


def start_of(
    position: Position,
    oldest: datetime,
    client: ChainClient,
    *,
    head: int,
    block_time: timedelta,
    now: datetime,
) -> int:
    """Return the first block to search for a merchant. If no block is new, return a block after `head`.

    `oldest` is when the first reference of the merchant's watched requests was published. If no node responds, return
    the cursor's block.
    """
    next_block, limits = position.next_block, client.search_limits()
    if not limits.by_block:
        return min(next_block or 0, head + 1)
    given_out = oldest - CLOCK_ALLOWANCE
    if next_block is not None:
        was_searched = position.searched_at is not None and given_out <= position.searched_at
        if was_searched or head - next_block <= NEAR:
            return next_block
    try:
        # Round the time, so that many merchants share a cached response.
        first = client.block_at(_rounded_down(given_out, now))
    except ChainError:
        # Nodes may have deleted old blocks, so estimate the block from the block time.
        first = head - MARGIN * ((now - given_out) // block_time) if next_block is None else 0
    return max(next_block or 0, min(first, head), 0)


def restarted(position: Position, start: int) -> Position:
    """Forget the unfinished pass if none of its blocks are left to search."""
    if position.until_block is None or start <= position.until_block + 1:
        return position
    return replace(position, until_block=None, after=None, pass_head=None, pass_began_at=None)


def _rounded_down(moment: datetime, now: datetime) -> datetime:
    grain = FINE if now - moment < COARSE else COARSE
    seconds = int(grain.total_seconds())
    return datetime.fromtimestamp(int(moment.timestamp()) // seconds * seconds, moment.tzinfo)
