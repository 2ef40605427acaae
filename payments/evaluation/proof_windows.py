"""Decide to which request a payer's transfer belongs if the payer gave proofs for several. Pure functions."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from chains.client import Block, Transfer

# Block producers set block times, in whole seconds. So a new transaction may look slightly older than it is.
CLOCK_ALLOWANCE = timedelta(seconds=30)


@dataclass(frozen=True)
class Proof:
    """A wallet's proof that it will pay a request.

    The wallet's transfers from `not_before` to `not_after` belong to that request. `given_at` is when the proof was
    verified, and `head` the chain's newest block at that time, if known. `is_ours`: the proof is for the request under
    evaluation.
    """

    address: str
    not_before: datetime
    not_after: datetime
    given_at: datetime
    head: int | None = None
    is_ours: bool = True

    def covers(self, transfer: Transfer, mined_at: datetime) -> bool:
        """Whether the wallet itself made the transfer within the proof's time.

        Transfers that a contract makes on the wallet's behalf don't count, because relayers fill other customers'
        swaps that way.
        """
        is_in_time = self.not_before - CLOCK_ALLOWANCE <= mined_at <= self.not_after
        return is_in_time and transfer.made_by == self.address != ""

    def was_given_before(self, block: Block) -> bool:
        """Whether the proof was given before this block, by height or, if the height is not known, by time."""
        if self.head is not None:
            return self.head < block.number
        return self.given_at <= block.time


def owner_of(transfer: Transfer, proofs: Iterable[Proof], block: Block) -> Proof | None:
    """Return the proof that a transfer in `block` belongs to.

    That is the newest proof given before the block or, without one, the first given after it. So a proof given after
    the block never takes over a transfer that an earlier proof covers.
    """
    if not transfer.made_by:
        return None
    covering = [proof for proof in proofs if proof.covers(transfer, block.time)]
    earlier = [proof for proof in covering if proof.was_given_before(block)]
    if earlier:
        return max(earlier, key=lambda proof: proof.given_at)
    return min(covering, key=lambda proof: proof.given_at, default=None)
