"""Decide which transfers a sender claims by a proof that it gave after its transaction was mined. Pure functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from chains.client import Transfer

# A proof that is given later than this after the block needs the merchant's acceptance.
BINDS_FOR = timedelta(minutes=60)


@dataclass(frozen=True)
class SenderProof:
    """A signature from after the transaction: the wallet states that its transfers pay this request only.

    - `given_at` is when the signature was verified.
    - `needed` is the unpaid rest of the request at that time, in base units. Once the proof has claimed transfers
      of this amount, it claims no more.
    - `is_ours` means that the proof is for the evaluated request.
    - `binds` means that the proof was given in time. A late proof claims transfers too, but the merchant must
      accept them.
    - `credited` contains the slots (`Transfer.slot`) of transfers that were credited to the proof's own payment. These
      transfers stay claimed.
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
    """Return the proof that claims each arrived transfer, by slot. The earliest proof claims first.

    A proof claims transfers in their order, until they cover the amount that the request needs. The last transfer
    is claimed as a whole.
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
    """Whether a proof of this time binds a transfer of this block time without an acceptance."""
    return given_at <= mined_at + BINDS_FOR
