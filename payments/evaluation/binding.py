"""Which transfers belong to a request: by its reference, a payer's proof, a routing provider's id, or the merchant's
acceptance.

Pure. A merchant's wallet is public and shared by its requests, so a transfer to it proves nothing by itself. What is
not proved to belong to a request is not credited to it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from chains.client import Block, Transfer
from payments.evaluation.proof_windows import Proof, owner_of
from payments.models.payment import FailureCode, Payment

BoundBy = Payment.BoundBy

_ZERO_ADDRESS = "0x0000000000000000000000000000000000000000"


@dataclass(frozen=True)
class Delivery:
    """The evaluated transaction is what a routing provider reports as its delivery.

    `reported` is the reported amount in base units, if the provider names one. `taken` maps the slots that were
    credited before to their amounts, with the account that received each (Solana). `is_own`: it is the customer's own
    transaction, into which anyone can bring a stranger's money; then only what lies within the call that carries the
    swap's id counts.
    """

    reported: int | None
    taken: "Taken"
    is_own: bool = False


@dataclass(frozen=True)
class Taken:
    """The transfers of one transaction that payments were credited with, as (slot, account, amount)."""

    credits: tuple[tuple[str, str, int], ...] = ()

    def includes(self, transfer: Transfer) -> bool:
        """Whether the transfer was credited. Solana's oldest credits name `mint:owner` instead of an instruction."""
        return transfer.slot in self._slots or f"{transfer.token}:{transfer.recipient}" in self._slots

    def of_account(self, account: str) -> int:
        """Return how many base units of what this account gained were credited."""
        return sum(amount for _, at, amount in self.credits if at == account)

    @cached_property
    def _slots(self) -> frozenset[str]:
        return frozenset(slot for slot, _, _ in self.credits)


@dataclass(frozen=True)
class Claims:
    """What a request may claim a transfer by.

    - `proofs` are those of every request for the same token and recipient, so that each transfer has one owner.
    - `foreign` are other requests' references: a transfer that carries one belongs to that request.
    - `elsewhere` counts the amounts that providers report to have delivered by this transaction for other requests.
    - `is_accepted`: the merchant accepted the transaction.
    - `names_ours`, `names_others`: whose quotes the transaction names. `our_calls` and `others_calls` are the places
      among its mentions of the calls that carry this request's id, and other requests'. `routers` are the pinned
      contracts of this request's quote's provider.
    - `delivery`: the transaction is evaluated as a reported delivery, and as nothing else.
    """

    reference: bytes | None
    proofs: tuple[Proof, ...] = ()
    foreign: frozenset[bytes] = frozenset()
    elsewhere: tuple[int, ...] = ()
    is_accepted: bool = False
    names_ours: bool = False
    names_others: bool = False
    our_calls: frozenset[int] = frozenset()
    others_calls: frozenset[int] = frozenset()
    routers: frozenset[str] = frozenset()
    delivery: Delivery | None = None

    def is_proved_by(self, transfer: Transfer, block: Block, *, ours: bool) -> bool:
        """Whether a proof of this request (or, without `ours`, of another one) owns the transfer."""
        owner = owner_of(transfer, self.proofs, block)
        return owner is not None and owner.is_ours == ours

    def is_others(self, transfer: Transfer, block: Block) -> bool:
        """Whether another request claims the transfer by its reference or by a proof.

        A proof covers nothing of another request's swap, and this may be our own: see `_may_be_others_swap`.
        """
        if self.foreign.intersection(transfer.references):
            return True
        is_whole_ours = not self.our_calls or transfer.gain is not None
        is_ours = self.names_ours and (is_whole_ours or bool(self.our_calls.intersection(transfer.within)))
        return not is_ours and self.is_proved_by(transfer, block, ours=False)


@dataclass(frozen=True)
class Bound:
    """The transfers that belong to a request, each with the amount to credit, and what bound the first of them."""

    transfers: tuple[Transfer, ...]
    by: Payment.BoundBy

    @property
    def amount(self) -> int:
        """Their sum in base units."""
        return sum(transfer.amount for transfer in self.transfers)


@dataclass(frozen=True)
class Unbound:
    """Nothing that arrived can be credited to the request; why, for programs and for people."""

    code: FailureCode
    message: str
    may_be_delivery: bool = False
    """Whether the request's own swap may have delivered it. Its provider knows."""


UNBOUND = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND,
    "The transaction does not carry this request's reference, so it can't be matched to this request.",
)
UNVERIFIABLE = Unbound(
    FailureCode.NOT_VERIFIABLE,
    "Money reached the recipient, but no node of this network can show which account sent it for which request. The "
    "merchant can accept the payment.",
)
_AMBIGUOUS = Unbound(
    FailureCode.TRANSACTION_AMBIGUOUS,
    "One transfer carries the references of several requests, so it can't be matched to one of them.",
)
AMBIGUOUS_SWAP = Unbound(
    FailureCode.TRANSACTION_AMBIGUOUS,
    "The transaction carries the ids of several requests' swaps, so it can't be matched to one of them.",
)
AMBIGUOUS_DELIVERY = Unbound(
    FailureCode.TRANSACTION_AMBIGUOUS,
    "A routing provider reports this transfer as the delivery of one request's swap, and another request claims it by "
    "its reference or by a payer's proof.",
)
_FOREIGN_DELIVERY = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND, "What it brought to the recipient belongs to another payment."
)
_TAKEN_DELIVERY = Unbound(
    FailureCode.TRANSACTION_ALREADY_USED, "What it brought to the recipient has already been credited."
)
_CAME_OTHERWISE = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND,
    "What it brought to the recipient did not come from the swap's contract, so it can't be matched to this request.",
    may_be_delivery=True,
)
_NOT_REPORTED = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND, "What it brought to the recipient is not what the provider reports."
)
_OUTSIDE_THE_SWAP = Unbound(
    FailureCode.NOT_VERIFIABLE,
    "What it brought to the recipient can't be shown to have come from the swap itself. The merchant can accept the "
    "payment.",
)
_SEVERAL_DELIVERIES = Unbound(
    FailureCode.TRANSACTION_AMBIGUOUS,
    "It brought several amounts to the recipient, none of them what the provider reports.",
)


def bind(
    arrived: Sequence[Transfer], claims: Claims, block: Block, *, is_complete: bool = True
) -> Bound | Unbound:
    """Return those of the transfers that `claims` bind to the request. A reference beats a proof, both beat a quote.

    `block` is the first one in which our nodes saw the transaction. Where the evidence is not complete, money that
    nothing binds is not verifiable, since the binding may be in what could not be read.
    """
    delivered: Bound | Unbound | None = None
    if claims.delivery is not None:
        delivered = _delivered(arrived, claims, claims.delivery, block, is_complete=is_complete)
        if not claims.delivery.is_own:
            return delivered
    referenced, others = _parted(
        arrived, lambda t: claims.reference is not None and claims.reference in t.references
    )
    # Anyone can put such a transfer beside a clear one: it is left out, and spoils nothing else.
    clear = [t for t in referenced if claims.is_accepted or not claims.foreign.intersection(t.references)]
    unclaimed = [t for t in others if not claims.is_others(t, block)]
    proved, unproved = _parted(
        unclaimed, lambda t: not _may_be_others_swap(t, claims) and claims.is_proved_by(t, block, ours=True)
    )
    swapped, left = _parted(unproved, lambda t: _is_swapped(t, claims))
    claimed = [limited for t in (*clear, *proved) if (limited := _claimed(t)).amount > 0]
    # A delivery is what nothing else claims; only where no such transfer is left it may be a claimed one.
    own = delivered.transfers if isinstance(delivered, Bound) else ()
    rest = left if delivered is None else _without([*swapped, *left], own)
    is_contested = claimed and not claims.is_accepted and _is_contested([*clear, *proved], rest, claims)
    if delivered is not None and claims.delivery is not None:
        # Anyone can bring both into one transaction: a customer's signed operation, and a call that carries the id of
        # a swap for the same request. The one must not take the other's place.
        fresh = [t for t in claimed if not is_contested and not claims.delivery.taken.includes(t)]
        credited = _within_gains([*fresh, *own]) if fresh else []
        by = BoundBy.REFERENCE if clear else BoundBy.PAYER
        return Bound(tuple(credited), by) if credited else delivered
    if is_contested:
        return AMBIGUOUS_DELIVERY
    if credited := _within_gains([*claimed, *swapped]):
        by = BoundBy.REFERENCE if clear else BoundBy.PAYER if proved else BoundBy.PROVIDER
        return Bound(tuple(credited), by)
    if len(clear) < len(referenced):
        return _AMBIGUOUS
    if claims.is_accepted and (accepted := _within_gains(unclaimed)):
        return Bound(tuple(accepted), BoundBy.MANUAL)
    if claims.names_ours and unclaimed:
        return AMBIGUOUS_SWAP if claims.names_others else _CAME_OTHERWISE
    return UNBOUND if is_complete else UNVERIFIABLE


def _is_contested(claimed: Sequence[Transfer], left: Sequence[Transfer], claims: Claims) -> bool:
    """Whether a provider may report one of the claimed transfers as the delivery of another request's swap."""
    contested = Counter(claims.elsewhere) - Counter(t.amount for t in left)
    return any(t.amount in contested for t in claimed)


def _without(transfers: Iterable[Transfer], others: Iterable[Transfer]) -> list[Transfer]:
    slots = {other.slot for other in others}
    return [transfer for transfer in transfers if transfer.slot not in slots]


def _parted(
    transfers: Iterable[Transfer], has: Callable[[Transfer], bool]
) -> tuple[list[Transfer], list[Transfer]]:
    """Return the transfers that have it, and those that have not."""
    parts: tuple[list[Transfer], list[Transfer]] = ([], [])
    for transfer in transfers:
        parts[0 if has(transfer) else 1].append(transfer)
    return parts


def _is_swapped(transfer: Transfer, claims: Claims) -> bool:
    """Whether the request's swap on one chain made the transfer in its own transaction.

    The pinned contract itself sent it, in a call that carries this request's id, and no call to a pinned contract in
    between serves anything else: a thief's swap can complete a stranger's delivery within itself.
    """
    is_located = bool(claims.others_calls) or not claims.names_others
    innermost = max(transfer.within, default=None)
    is_ours_alone = claims.names_ours and is_located and innermost in claims.our_calls - claims.others_calls
    return is_ours_alone and transfer.sender in claims.routers


def _may_be_others_swap(transfer: Transfer, claims: Claims) -> bool:
    """Whether another request's swap may have made the transfer: a call that carries that one's id encloses it.

    A call beside it made nothing of it: anyone can put one into a transaction that relays a signed operation. Where
    that call is not known, since logs alone name the swap, any transfer may be the swap's, but for one that an account
    made itself (EVM): a swap pays out of its contracts. On Solana a wallet's transfer may be the last step of its swap.
    """
    if claims.names_others and not claims.others_calls:
        return transfer.gain is not None or not transfer.made_by
    return bool(claims.others_calls.intersection(transfer.within))


def _claimed(transfer: Transfer) -> Transfer:
    """Return the part of the transfer that a reference or a proof can claim."""
    if transfer.claimable is None:
        return transfer
    return replace(transfer, amount=max(min(transfer.amount, transfer.claimable), 0))


def _within_gains(transfers: Iterable[Transfer]) -> list[Transfer]:
    """Return the transfers, cut so that those to one account add up to no more than the account gained (Solana)."""
    spent: Counter[str] = Counter()
    credited = []
    for transfer in transfers:
        amount = transfer.amount
        if transfer.gain is not None:
            amount = min(amount, transfer.gain - spent[transfer.account])
        if amount > 0:
            spent[transfer.account] += amount
            credited.append(replace(transfer, amount=amount))
    return credited


def _delivered(
    arrived: Sequence[Transfer], claims: Claims, delivery: Delivery, block: Block, *, is_complete: bool
) -> Bound | Unbound:
    """Return the one transfer that is the delivery: the one of the reported amount, else the only one that there is."""
    claimed, own = _parted(arrived, lambda t: _is_claimed(t, claims, block))
    used, free = _parted(own, delivery.taken.includes)
    inside = [t for t in free if not delivery.is_own or _is_inside_the_swap(t, claims)]
    for transfer in inside:
        if transfer.amount == delivery.reported:
            return _up_to_what_is_left(transfer, arrived, claims, delivery, block)
    reported = [t for t in (*claimed, *used) if t.amount == delivery.reported]
    if any(map(delivery.taken.includes, reported)) or (own and not free):
        # What else is there may be this customer's, whose reference no node can show.
        return _OUTSIDE_THE_SWAP if delivery.is_own and free and not is_complete else _TAKEN_DELIVERY
    if reported:
        return AMBIGUOUS_DELIVERY
    if not free:
        return _FOREIGN_DELIVERY
    if not inside:
        return _NOT_REPORTED if is_complete else _OUTSIDE_THE_SWAP
    if len(inside if delivery.is_own else own) > 1:
        return _SEVERAL_DELIVERIES
    return _up_to_what_is_left(inside[0], arrived, claims, delivery, block)


def _is_claimed(transfer: Transfer, claims: Claims, block: Block) -> bool:
    """Whether any request claims the transfer by a reference or a proof: then it is no delivery."""
    is_own_reference = claims.reference is not None and claims.reference in transfer.references
    is_own_proof = claims.is_proved_by(transfer, block, ours=True)
    return is_own_reference or is_own_proof or claims.is_others(transfer, block)


def _is_inside_the_swap(transfer: Transfer, claims: Claims) -> bool:
    """Whether the transfer was made within a call that carries the swap's id and no other's, and is not a mint.

    A bridge mints what it delivers, and anyone can complete that delivery, also within their own swap.
    """
    is_mint = transfer.sender in ("", _ZERO_ADDRESS)
    is_others = bool(claims.others_calls.intersection(transfer.within))
    return not is_mint and not is_others and bool(claims.our_calls.intersection(transfer.within))


def _up_to_what_is_left(
    transfer: Transfer, arrived: Sequence[Transfer], claims: Claims, delivery: Delivery, block: Block
) -> Bound | Unbound:
    """Return the delivery; where strangers' money can lie beside it, cut to what is reported and to what is left.

    That is the customer's own transaction and, on Solana, any: there the account's gain less what other payments name.
    A delivery of its own that is the only transfer to the recipient counts in full, whatever amount is reported.
    """
    amount = transfer.amount
    if delivery.reported is not None and (delivery.is_own or transfer.gain is not None):
        amount = min(amount, delivery.reported)
    if transfer.gain is not None:
        named = sum(
            _claimed(t).amount
            for t in arrived
            if t.account == transfer.account
            and _is_claimed(t, claims, block)
            and not delivery.taken.includes(t)
        )
        left = transfer.gain - named - delivery.taken.of_account(transfer.account)
        amount = min(amount, left)
    if amount <= 0:
        return _FOREIGN_DELIVERY
    return Bound((replace(transfer, amount=amount),), BoundBy.PROVIDER)
