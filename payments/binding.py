"""Which transfers belong to a request (contract 7): by its reference, a proof of the payer, or the merchant's word.

Pure. A merchant's wallet is public and shared by its requests, so that a transfer to it proves nothing by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from chains.clients.base import Transfer
from payments.models.payment import Payment

BoundBy = Payment.BoundBy

# Block times are the miners' own clocks, in whole seconds; what was sent this moment may seem a little older.
CLOCK_ALLOWANCE = timedelta(seconds=30)


@dataclass(frozen=True)
class Proof:
    """A wallet proved that it would pay: what it sends within this time belongs to the request."""

    address: str
    not_before: datetime
    not_after: datetime


@dataclass(frozen=True)
class Claims:
    """What a request may claim a transfer by.

    `foreign` are the references of other requests: a transfer that carries one belongs to that request. `by_hand` says
    that the merchant accepted the transaction as it is.
    """

    reference: bytes | None
    proofs: tuple[Proof, ...] = ()
    foreign: frozenset[bytes] = frozenset()
    by_hand: bool = False


@dataclass(frozen=True)
class Bound:
    """The transfers that belong to a request, and by what; ambiguous where one carries two requests' references."""

    transfers: tuple[Transfer, ...]
    by: Payment.BoundBy
    is_ambiguous: bool = False

    @property
    def amount(self) -> int:
        """Their sum in base units."""
        return sum(transfer.amount for transfer in self.transfers)


def bind(arrived: Sequence[Transfer], claims: Claims, mined_at: datetime) -> Bound | None:
    """Return those of the transfers that `claims` tie to the request, or None. A reference beats a proof."""
    referenced = tuple(
        t for t in arrived if claims.reference is not None and claims.reference in t.references
    )
    if any(claims.foreign.intersection(transfer.references) for transfer in referenced):
        return Bound(referenced, BoundBy.REFERENCE, is_ambiguous=True)
    unclaimed = [t for t in arrived if t not in referenced and not claims.foreign.intersection(t.references)]
    proved = tuple(t for t in unclaimed if _is_proved(t, claims.proofs, mined_at))
    if referenced or proved:
        return Bound(referenced + proved, BoundBy.REFERENCE if referenced else BoundBy.PAYER)
    if claims.by_hand and unclaimed:
        return Bound(tuple(unclaimed), BoundBy.MANUAL)
    return None


def _is_proved(transfer: Transfer, proofs: Sequence[Proof], mined_at: datetime) -> bool:
    return any(
        transfer.sender == proof.address and proof.not_before - CLOCK_ALLOWANCE <= mined_at <= proof.not_after
        for proof in proofs
    )
