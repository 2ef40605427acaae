"""Which transfers belong to a request (contract 7): by its reference, a proof of the payer, a routing provider's id, or
the merchant's word.

Pure. A merchant's wallet is public and shared by its requests, so that a transfer to it proves nothing by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from chains.clients.base import Transfer
from payments.models.payment import FailureCode, Payment

BoundBy = Payment.BoundBy

# Block times are the miners' own clocks, in whole seconds; what was sent this moment may seem a little older.
CLOCK_ALLOWANCE = timedelta(seconds=30)


@dataclass(frozen=True)
class Proof:
    """A wallet proved that it would pay: what it sends within this time belongs to the request."""

    address: str
    not_before: datetime
    not_after: datetime

    def covers(self, transfer: Transfer, mined_at: datetime) -> bool:
        """Whether the wallet itself made the transfer within that time.

        What a contract pulled from it does not count: so does a relayer's wallet fill other people's swaps.
        """
        is_in_time = self.not_before - CLOCK_ALLOWANCE <= mined_at <= self.not_after
        return is_in_time and transfer.made_by == self.address


@dataclass(frozen=True)
class Delivery:
    """The transaction is what a provider says it delivered by, of `reported` base units if it says how much.

    `taken` are the slots in it that were credited before, `others` the proofs that other requests may claim it by.
    `is_own`: it is the customer's own transaction, into which anybody may have brought somebody else's money.
    """

    reported: int | None
    taken: frozenset[str] = frozenset()
    others: tuple[Proof, ...] = ()
    is_own: bool = False


@dataclass(frozen=True)
class Claims:
    """What a request may claim a transfer by.

    `foreign` are the references of other requests: a transfer that carries one belongs to that request. `by_hand` says
    that the merchant accepted the transaction as it is. `names_ours` and `names_others` say whose quotes the
    transaction names; where both, it can't be told whose swap it is. `routers` are the pinned contracts of that swap's
    provider: what it brings in its own transaction comes from one of them. With `delivery` it is asked for that alone.
    """

    reference: bytes | None
    proofs: tuple[Proof, ...] = ()
    foreign: frozenset[bytes] = frozenset()
    by_hand: bool = False
    names_ours: bool = False
    names_others: bool = False
    routers: frozenset[str] = frozenset()
    delivery: Delivery | None = None


@dataclass(frozen=True)
class Bound:
    """The transfers that belong to a request, and by what."""

    transfers: tuple[Transfer, ...]
    by: Payment.BoundBy

    @property
    def amount(self) -> int:
        """Their sum in base units."""
        return sum(transfer.amount for transfer in self.transfers)


@dataclass(frozen=True)
class Unbound:
    """Nothing that arrived can be counted for the request; why, for programs and for people."""

    code: FailureCode
    message: str
    may_be_delivery: bool = False
    """Whether it may have been delivered by the request's own swap, which its provider would know."""


UNBOUND = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND,
    "The transaction does not carry this request's reference, so it can't be told whose payment it is.",
)
_AMBIGUOUS = Unbound(
    FailureCode.TRANSACTION_AMBIGUOUS,
    "The transaction ties one movement of money to several requests, so it can't be told whose it is.",
)
AMBIGUOUS_SWAP = Unbound(
    FailureCode.TRANSACTION_AMBIGUOUS,
    "The transaction names the swaps of several requests, so it can't be told whose payment it is.",
)
_FOREIGN_DELIVERY = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND, "What it brought to the recipient belongs to another payment."
)
_TAKEN_DELIVERY = Unbound(
    FailureCode.TRANSACTION_ALREADY_USED, "What it brought to the recipient was credited already."
)
_CAME_OTHERWISE = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND,
    "What it brought to the recipient did not come from the swap's contract, so it can't be told whose payment it is.",
    may_be_delivery=True,
)
_NOT_REPORTED = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND,
    "What it brought to the recipient is not what the provider says that it delivered.",
)
_SEVERAL_DELIVERIES = Unbound(
    FailureCode.TRANSACTION_AMBIGUOUS,
    "It brought several amounts to the recipient, none of them what the provider says that it delivered.",
)


def bind(arrived: Sequence[Transfer], claims: Claims, mined_at: datetime) -> Bound | Unbound:
    """Return those of the transfers that `claims` tie to the request. A reference beats a proof, both beat a quote."""
    if claims.delivery is not None:
        return _delivered(arrived, claims.delivery, claims.foreign, mined_at)
    referenced = tuple(
        t for t in arrived if claims.reference is not None and claims.reference in t.references
    )
    if any(claims.foreign.intersection(transfer.references) for transfer in referenced):
        return _AMBIGUOUS
    unclaimed = [t for t in arrived if t not in referenced and not claims.foreign.intersection(t.references)]
    # What carries another request's quote is no longer covered by a proof (contract 7).
    proofs = () if claims.names_others else claims.proofs
    proved = tuple(t for t in unclaimed if any(proof.covers(t, mined_at) for proof in proofs))
    is_our_swap = claims.names_ours and not claims.names_others
    swapped = (
        tuple(t for t in unclaimed if t not in proved and t.sender in claims.routers) if is_our_swap else ()
    )
    if referenced or proved or swapped:
        by = BoundBy.REFERENCE if referenced else BoundBy.PAYER if proved else BoundBy.PROVIDER
        return Bound(referenced + proved + swapped, by)
    if claims.by_hand and unclaimed:
        return Bound(tuple(unclaimed), BoundBy.MANUAL)
    if not (claims.names_ours and unclaimed):
        return UNBOUND
    return AMBIGUOUS_SWAP if claims.names_others else _CAME_OTHERWISE


def _delivered(
    arrived: Sequence[Transfer], delivery: Delivery, foreign: frozenset[bytes], mined_at: datetime
) -> Bound | Unbound:
    """Return the one transfer that is the delivery: the one of the reported amount, else the only one that there is."""
    own = [
        transfer
        for transfer in arrived
        if not foreign.intersection(transfer.references)
        and not any(proof.covers(transfer, mined_at) for proof in delivery.others)
    ]
    if not own:
        return _FOREIGN_DELIVERY
    free = [transfer for transfer in own if transfer.slot not in delivery.taken]
    if not free:
        return _TAKEN_DELIVERY
    reported = [transfer for transfer in free if transfer.amount == delivery.reported]
    if reported:
        return Bound((reported[0],), BoundBy.PROVIDER)
    if any(transfer.amount == delivery.reported for transfer in arrived if transfer not in own):
        return _FOREIGN_DELIVERY
    if delivery.is_own:
        return _NOT_REPORTED
    if len(own) > 1:
        return _SEVERAL_DELIVERIES
    return Bound((free[0],), BoundBy.PROVIDER)
