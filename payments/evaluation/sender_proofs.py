"""Decide which transfers a sender claims by a proof that it gave after its transaction was mined. Pure functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from chains.client import Transfer

# If more time than this passes between the block and the proof, the merchant must accept the payment.
BINDS_FOR = timedelta(minutes=60)


@dataclass(frozen=True)
class SenderProof:
    """A message that a wallet signed after the transaction. It states that the wallet's transfers pay only this
    request.

    - `given_at` is when the signature was verified.
    - `needed` is the unpaid rest of the request at that time, in base units. Once the proof has claimed transfers
      of this amount, it claims no more.
    - `is_ours` means that the proof is for the evaluated request.
    - `binds` means that the proof was given in time. A late proof claims transfers too, but the merchant must
      accept them.
    - `credited` contains the slots (`Transfer.slot`) of transfers that were credited to the proof's own payment. The
      proof keeps these transfers. Otherwise it would claim the wallet's next transfers, which may pay another
      request.
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
    """Return, by slot, which proof claims each arrived transfer. The earliest proof claims first.

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
    """Whether a proof given at `given_at` binds a transfer mined at `mined_at` without the merchant's acceptance."""
    return given_at <= mined_at + BINDS_FOR
