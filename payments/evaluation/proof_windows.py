"""Decide to which request a transfer belongs if its payer gave proofs for several requests. Pure functions."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from chains.client import Block, Transfer

# A new transaction can have a block time slightly in the past: block producers choose block times, in whole seconds.
CLOCK_ALLOWANCE = timedelta(seconds=30)


@dataclass(frozen=True)
class Proof:
    """A wallet's signed promise to pay a request.

    The wallet's transfers from `not_before` to `not_after` belong to that request. `given_at` is when the signature
    was verified. `head` is the newest block at that time, if known. `is_ours` means that the promise is for the
    evaluated request.
    """

    address: str
    not_before: datetime
    not_after: datetime
    given_at: datetime
    head: int | None = None
    is_ours: bool = True

    def covers(self, transfer: Transfer, mined_at: datetime) -> bool:
        """Whether the wallet made the transfer itself, in the time of the proof.

        Transfers that a contract makes for the wallet don't count: a relayer's wallet pays out other customers' swaps
        in this way.
        """
        is_in_time = self.not_before - CLOCK_ALLOWANCE <= mined_at <= self.not_after
        return is_in_time and transfer.made_by == self.address != ""

    def was_given_before(self, block: Block) -> bool:
        """Compare the proof's `head` with the block's number, or compare times if `head` is None."""
        if self.head is not None:
            return self.head < block.number
        return self.given_at <= block.time


def owner_of(transfer: Transfer, proofs: Iterable[Proof], block: Block) -> Proof | None:
    """Return the proof to which a transfer in `block` belongs.

    Of the proofs that cover the transfer, the newest one from before the block counts. If there is none, the first
    one from after the block counts. So a later proof never takes over a transfer that an earlier proof covers.
    """
    if not transfer.made_by:
        return None
    covering = [proof for proof in proofs if proof.covers(transfer, block.time)]
    earlier = [proof for proof in covering if proof.was_given_before(block)]
    if earlier:
        return max(earlier, key=lambda proof: proof.given_at)
    return min(covering, key=lambda proof: proof.given_at, default=None)
