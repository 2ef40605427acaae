"""Which request a payer's transfer belongs to, when the payer gave proofs for several. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from chains.client import Block, Transfer

# Block times are the miners' own clocks, in whole seconds; what was sent this moment may seem a little older.
CLOCK_ALLOWANCE = timedelta(seconds=30)


@dataclass(frozen=True)
class Proof:
    """An address proved that it would pay a request: what it sends within this time belongs to that request.

    `given_at` is when the proof was verified and `head` the newest block of the chain at that moment, if known.
    `is_ours`: it was given for the request under evaluation.
    """

    address: str
    not_before: datetime
    not_after: datetime
    given_at: datetime
    head: int | None = None
    is_ours: bool = True

    def covers(self, transfer: Transfer, mined_at: datetime) -> bool:
        """Whether the address itself made the transfer within that time.

        What a contract moved on its behalf does not count: that is how a relayer's account fills strangers' swaps.
        """
        is_in_time = self.not_before - CLOCK_ALLOWANCE <= mined_at <= self.not_after
        return is_in_time and transfer.made_by == self.address != ""

    def was_given_before(self, block: Block) -> bool:
        """Whether it was given before this block. Heights decide; clocks only where the height is not known."""
        if self.head is not None:
            return self.head < block.number
        return self.given_at <= block.time


def owner_of(transfer: Transfer, proofs: Iterable[Proof], block: Block) -> Proof | None:
    """Return the proof that a transfer in `block` belongs to: the newest given before the block, else the first later.

    A later proof changes nothing for a transfer that an earlier one covers.
    """
    if not transfer.made_by:
        return None
    covering = [proof for proof in proofs if proof.covers(transfer, block.time)]
    earlier = [proof for proof in covering if proof.was_given_before(block)]
    if earlier:
        return max(earlier, key=lambda proof: proof.given_at)
    return min(covering, key=lambda proof: proof.given_at, default=None)
