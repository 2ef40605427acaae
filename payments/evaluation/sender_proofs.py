"""Decide which transfers of a mined transaction its sender's later proofs claim. Pure functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from chains.client import Transfer

# A proof binds by itself only within this time after the transfer's block.
BINDS_FOR = timedelta(minutes=60)


@dataclass(frozen=True)
class SenderProof:
    """A signature in which a wallet states, after its transaction was mined, that its transfers pay one request only.

    - `given_at` is when the signature was verified.
    - `needed` is the amount that the request still needed at that time, in base units. Once the proof has claimed
      transfers of this amount, it claims no more.
    - `is_ours`: the proof is for the request under evaluation.
    - `binds`: the proof was given in time. A later one claims transfers too, but they are credited only if the merchant
      accepts them.
    - `credited` are the slots of the transfers that were credited to the proof's own payment. They stay claimed.
      Otherwise the proof would claim the wallet's next transfers, which may pay another request.
    """

    address: str
    given_at: datetime
    needed: int
    is_ours: bool = True
    binds: bool = True
    credited: frozenset[str] = frozenset()


Claimed = Mapping[str, SenderProof]
"""The proof that claims a transfer, by the transfer's slot."""


def claimed_by(
    proofs: Iterable[SenderProof],
    arrived: Sequence[Transfer],
    may_claim: Callable[[SenderProof, Transfer], bool],
) -> Claimed:
    """Return the proof of each arrived transfer that a proof claims. The earliest proof claims first.

    A proof claims transfers in their order until they cover the amount that the request needs. The last of them is
    claimed as a whole.
    """
    claimed: dict[str, SenderProof] = {}
    for proof in sorted(proofs, key=lambda each: each.given_at):
        left = proof.needed
        for transfer in arrived:
            if left <= 0:
                break
            if transfer.slot not in claimed and may_claim(proof, transfer):
                claimed[transfer.slot] = proof
                left -= transfer.claimable_amount
    return claimed


def binds_in_time(mined_at: datetime, given_at: datetime) -> bool:
    """Whether a proof of this time is early enough to bind a transfer of this block time without an acceptance."""
    return given_at <= mined_at + BINDS_FOR
