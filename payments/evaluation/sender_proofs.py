"""Decide which transfers of a mined transaction are claimed by proofs that its sender gave later. Pure
functions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from chains.client import Transfer

# A proof binds by itself only within this time after the transfer's block.
BINDS_FOR = timedelta(minutes=60)


@dataclass(frozen=True)
class SenderProof:
    """A wallet's signature, given after its transaction was mined, that its transfers pay one request and no
    other.

    - `given_at` is when the signature was verified.
    - `needed` is what the request still needed at that time, in base units: the proof claims no further transfers.
    - `is_ours`: it was given for the request under evaluation.
    - `binds`: it was given in time. A later one claims its transfers too, but only the merchant's acceptance credits
      them.
    - `credited` are the slots that its own payment was credited with. They stay claimed, so that the proof does not
      claim the wallet's next transfers instead, which may pay another request.
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
    """Return the arrived transfers that each proof claims; an earlier proof claims first.

    A proof claims transfers in their order until they cover what the request still needs; the last one is whole.
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
    """Whether a proof given at this time is early enough to bind a transfer of this block time by itself."""
    return given_at <= mined_at + BINDS_FOR
