"""Decide which transfers belong to a request.

A transfer is bound by the request's reference, a payer's proof, a routing provider's id, or the merchant's acceptance.
A merchant's wallet is public and shared by its requests, so a transfer to it proves nothing by itself: what is not
bound to a request is not credited to it. Pure functions.
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
    """The evaluated transaction is reported as a delivery by a routing provider.

    `reported` is the reported amount in base units, if the provider names one. `taken` are the transfers of the
    transaction that were credited before. `is_own`: the delivery is the customer's own transaction. Anyone can add
    another payer's money to such a transaction, so only transfers within the call that carries the swap's id count.
    """

    reported: int | None
    taken: "Taken"
    is_own: bool = False


@dataclass(frozen=True)
class Taken:
    """The transfers of one transaction that payments were credited with, as (slot, account, amount)."""

    credits: tuple[tuple[str, str, int], ...] = ()

    def includes(self, transfer: Transfer) -> bool:
        """Whether the transfer was credited. The oldest rows on Solana have the slot `mint:owner`."""
        return transfer.slot in self._slots or f"{transfer.token}:{transfer.recipient}" in self._slots

    def of_account(self, account: str) -> int:
        """Return how many base units of this account's gain were credited."""
        return sum(amount for _, at, amount in self.credits if at == account)

    @cached_property
    def _slots(self) -> frozenset[str]:
        return frozenset(slot for slot, _, _ in self.credits)


@dataclass(frozen=True)
class Evidence:
    """What can bind a transfer to a request, or to other requests.

    - `reference` is the request's own reference.
    - `proofs` are those of every request for the same token and recipient, so that each transfer has one owner.
    - `foreign` are other requests' references: a transfer that carries one belongs to that request.
    - `elsewhere` are the amounts that providers report as delivered by this transaction for other requests.
    - `is_accepted`: the merchant accepted the transaction.
    - `names_ours`, `names_others`: the transaction names a quote of this request, or of another one.
    - `names_several`: it names several quotes of this request.
    - `our_calls`, `others_calls` are the indexes, among its mentions, of the calls that carry the id of a quote of this
      request, and of other requests' quotes.
    - `routers` are the pinned contracts of the providers of the quotes that it names of this request.
    - `delivery`: the transaction is evaluated as a reported delivery.
    """

    reference: bytes | None
    proofs: tuple[Proof, ...] = ()
    foreign: frozenset[bytes] = frozenset()
    elsewhere: tuple[int, ...] = ()
    is_accepted: bool = False
    names_ours: bool = False
    names_others: bool = False
    names_several: bool = False
    our_calls: frozenset[int] = frozenset()
    others_calls: frozenset[int] = frozenset()
    routers: frozenset[str] = frozenset()
    delivery: Delivery | None = None

    def is_proved_by(self, transfer: Transfer, block: Block, *, ours: bool) -> bool:
        """Whether the transfer belongs to a proof of this request or, without `ours`, of another one."""
        owner = owner_of(transfer, self.proofs, block)
        return owner is not None and owner.is_ours == ours

    def is_others(self, transfer: Transfer, block: Block) -> bool:
        """Whether another request claims the transfer by its reference or by a proof.

        A proof does not cover transfers of another request's swap (see `_may_be_others_swap`), so other requests'
        proofs do not cover those of this request's swap.
        """
        if self.foreign.intersection(transfer.references):
            return True
        is_whole_ours = not self.our_calls or transfer.gain is not None
        is_ours = self.names_ours and (is_whole_ours or bool(self.our_calls.intersection(transfer.within)))
        return not is_ours and self.is_proved_by(transfer, block, ours=False)


@dataclass(frozen=True)
class Bound:
    """The transfers that belong to a request, each with the amount to credit, and what binds the first of them."""

    transfers: tuple[Transfer, ...]
    by: Payment.BoundBy

    @property
    def amount(self) -> int:
        """Their sum in base units."""
        return sum(transfer.amount for transfer in self.transfers)


@dataclass(frozen=True)
class Unbound:
    """Nothing that arrived can be credited to the request, with the reason."""

    code: FailureCode
    message: str
    may_be_delivery: bool = False
    """Whether the request's own swap may have delivered it: its provider has to be asked."""


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
AMBIGUOUS_QUOTES = Unbound(
    FailureCode.TRANSACTION_AMBIGUOUS,
    "The transaction carries the ids of several swaps for this request, so it can't be matched to one delivery.",
)
AMBIGUOUS_DELIVERY = Unbound(
    FailureCode.TRANSACTION_AMBIGUOUS,
    "A routing provider reports this transfer as the delivery of one request's swap, but another request claims it by "
    "its reference or by a payer's proof.",
)
_FOREIGN_DELIVERY = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND, "The money that reached the recipient belongs to another payment."
)
_TAKEN_DELIVERY = Unbound(
    FailureCode.TRANSACTION_ALREADY_USED, "The money that reached the recipient has already been credited."
)
_NOT_FROM_CONTRACT = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND,
    "The money that reached the recipient did not come from the swap's contract, so it can't be matched to this "
    "request.",
    may_be_delivery=True,
)
_NOT_REPORTED = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND,
    "The amount that reached the recipient is not what the provider reports.",
)
_OUTSIDE_SWAP = Unbound(
    FailureCode.NOT_VERIFIABLE,
    "No node of this network can show that the money came from the swap itself. The merchant can accept the payment.",
)
_SEVERAL_DELIVERIES = Unbound(
    FailureCode.TRANSACTION_AMBIGUOUS,
    "The transaction paid the recipient several amounts, and none is what the provider reports.",
)


def bind(
    arrived: Sequence[Transfer], evidence: Evidence, block: Block, *, is_complete: bool = True
) -> Bound | Unbound:
    """Return the transfers that belong to the request: by its reference, else by a proof, else by a quote.

    `block` is the first one in which our nodes saw the transaction. If the transaction could not be read completely,
    unbound money is not verifiable, because the binding may be in the missing part.
    """
    delivered: Bound | Unbound | None = None
    if evidence.delivery is not None:
        delivered = _delivered(arrived, evidence, evidence.delivery, block, is_complete=is_complete)
        if not evidence.delivery.is_own:
            return delivered
    referenced, others = _partition(
        arrived, lambda t: evidence.reference is not None and evidence.reference in t.references
    )
    # Anyone can add a transfer with several references to the transaction: only that transfer is left out.
    clear = [t for t in referenced if evidence.is_accepted or not evidence.foreign.intersection(t.references)]
    unclaimed = [t for t in others if not evidence.is_others(t, block)]
    proved, unproved = _partition(
        unclaimed,
        lambda t: not _may_be_others_swap(t, evidence) and evidence.is_proved_by(t, block, ours=True),
    )
    swapped, left = _partition(unproved, lambda t: _is_swapped(t, evidence))
    claimed = [limited for t in (*clear, *proved) if (limited := _claimed(t)).amount > 0]
    # A delivery is a transfer without a reference or proof; only if none is left may it be a claimed one.
    own = delivered.transfers if isinstance(delivered, Bound) else ()
    rest = left if delivered is None else _without([*swapped, *left], own)
    is_contested = claimed and not evidence.is_accepted and _is_contested([*clear, *proved], rest, evidence)
    if delivered is not None and evidence.delivery is not None:
        # Anyone can combine both in one transaction: a customer's signed operation, and a call that carries the id of
        # a swap for the same request. Both are credited.
        fresh = [t for t in claimed if not is_contested and not evidence.delivery.taken.includes(t)]
        credited = _limit_to_gains([*fresh, *own]) if fresh else []
        by = BoundBy.REFERENCE if clear else BoundBy.PAYER
        return Bound(tuple(credited), by) if credited else delivered
    if is_contested:
        return AMBIGUOUS_DELIVERY
    if credited := _limit_to_gains([*claimed, *swapped]):
        by = BoundBy.REFERENCE if clear else BoundBy.PAYER if proved else BoundBy.PROVIDER
        return Bound(tuple(credited), by)
    if len(clear) < len(referenced):
        return _AMBIGUOUS
    if evidence.is_accepted and (accepted := _limit_to_gains(unclaimed)):
        return Bound(tuple(accepted), BoundBy.MANUAL)
    if evidence.names_ours and unclaimed:
        return AMBIGUOUS_SWAP if evidence.names_others else _NOT_FROM_CONTRACT
    return UNBOUND if is_complete else UNVERIFIABLE


def _is_contested(claimed: Sequence[Transfer], left: Sequence[Transfer], evidence: Evidence) -> bool:
    """Whether a provider may report one of the claimed transfers as the delivery of another request's swap."""
    contested = Counter(evidence.elsewhere) - Counter(t.amount for t in left)
    return any(t.amount in contested for t in claimed)


def _without(transfers: Iterable[Transfer], others: Iterable[Transfer]) -> list[Transfer]:
    slots = {other.slot for other in others}
    return [transfer for transfer in transfers if transfer.slot not in slots]


def _partition(
    transfers: Iterable[Transfer], has: Callable[[Transfer], bool]
) -> tuple[list[Transfer], list[Transfer]]:
    """Return the transfers that match the predicate, and the others."""
    parts: tuple[list[Transfer], list[Transfer]] = ([], [])
    for transfer in transfers:
        parts[0 if has(transfer) else 1].append(transfer)
    return parts


def _is_swapped(transfer: Transfer, evidence: Evidence) -> bool:
    """Whether the request's single-chain swap made the transfer in its own transaction.

    The pinned contract itself sent it, and the innermost call to a pinned contract carries this request's id alone: an
    attacker's swap can complete another customer's delivery in a nested call.
    """
    is_located = bool(evidence.others_calls) or not evidence.names_others
    innermost = max(transfer.within, default=None)
    is_ours_alone = (
        evidence.names_ours and is_located and innermost in evidence.our_calls - evidence.others_calls
    )
    return is_ours_alone and transfer.sender in evidence.routers


def _may_be_others_swap(transfer: Transfer, evidence: Evidence) -> bool:
    """Whether another request's swap may have made the transfer, because a call that carries its id encloses it.

    A call that does not enclose the transfer does not count: anyone can add one to a transaction that relays a signed
    operation. If only logs name the swap, its call is unknown and any transfer may belong to it. The exception is a
    transfer made by an account itself on an EVM chain, where swaps pay out of contracts. On Solana a wallet's transfer
    may be the last step of its swap.
    """
    if evidence.names_others and not evidence.others_calls:
        return transfer.gain is not None or not transfer.made_by
    return bool(evidence.others_calls.intersection(transfer.within))


def _claimed(transfer: Transfer) -> Transfer:
    """Return the part of the transfer that a reference or a proof can claim."""
    if transfer.claimable is None:
        return transfer
    return replace(transfer, amount=max(min(transfer.amount, transfer.claimable), 0))


def _limit_to_gains(transfers: Iterable[Transfer]) -> list[Transfer]:
    """Return the transfers, reduced so that those to one account sum to at most the account's gain (Solana)."""
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
    arrived: Sequence[Transfer], evidence: Evidence, delivery: Delivery, block: Block, *, is_complete: bool
) -> Bound | Unbound:
    """Return the transfer that is the delivery: the one with the reported amount, else the only candidate."""
    claimed, own = _partition(arrived, lambda t: _is_claimed(t, evidence, block))
    used, free = _partition(own, delivery.taken.includes)
    inside = [t for t in free if not delivery.is_own or _is_inside_swap(t, evidence)]
    for transfer in inside:
        if transfer.amount == delivery.reported:
            return _limited_delivery(transfer, arrived, evidence, delivery, block)
    reported = [t for t in (*claimed, *used) if t.amount == delivery.reported]
    if any(map(delivery.taken.includes, reported)) or (own and not free):
        # The other transfers may be this customer's, with a reference that no node can show.
        return _OUTSIDE_SWAP if delivery.is_own and free and not is_complete else _TAKEN_DELIVERY
    if reported:
        return AMBIGUOUS_DELIVERY
    if not free:
        return _FOREIGN_DELIVERY
    if not inside:
        return _NOT_REPORTED if is_complete else _OUTSIDE_SWAP
    if len(inside if delivery.is_own else own) > 1:
        return _SEVERAL_DELIVERIES
    return _limited_delivery(inside[0], arrived, evidence, delivery, block)


def _is_claimed(transfer: Transfer, evidence: Evidence, block: Block) -> bool:
    """Whether the transfer belongs to any request by a reference or a proof, and so is no delivery."""
    is_own_reference = evidence.reference is not None and evidence.reference in transfer.references
    is_own_proof = evidence.is_proved_by(transfer, block, ours=True)
    return is_own_reference or is_own_proof or evidence.is_others(transfer, block)


def _is_inside_swap(transfer: Transfer, evidence: Evidence) -> bool:
    """Whether a call that carries only this swap's id encloses the transfer, and the transfer is not a mint.

    A bridge may mint what it delivers, and anyone can complete such a delivery within their own swap.
    """
    is_mint = transfer.sender in ("", _ZERO_ADDRESS)
    is_others = bool(evidence.others_calls.intersection(transfer.within))
    return not is_mint and not is_others and bool(evidence.our_calls.intersection(transfer.within))


def _limited_delivery(
    transfer: Transfer, arrived: Sequence[Transfer], evidence: Evidence, delivery: Delivery, block: Block
) -> Bound | Unbound:
    """Return the delivery, limited to the part that can't belong to other payments.

    In the customer's own transaction and on Solana it is limited to the reported amount. On Solana it is also limited
    to the account's gain less what was credited and what other payments claim. Any other delivery counts in full.
    """
    amount = transfer.amount
    if delivery.reported is not None and (delivery.is_own or transfer.gain is not None):
        amount = min(amount, delivery.reported)
    if transfer.gain is not None:
        named = sum(
            _claimed(t).amount
            for t in arrived
            if t.account == transfer.account
            and _is_claimed(t, evidence, block)
            and not delivery.taken.includes(t)
        )
        left = transfer.gain - named - delivery.taken.of_account(transfer.account)
        amount = min(amount, left)
    if amount <= 0:
        return _FOREIGN_DELIVERY
    return Bound((replace(transfer, amount=amount),), BoundBy.PROVIDER)
