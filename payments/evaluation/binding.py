"""Decide which transfers belong to a request. Pure functions.

A merchant's requests share a public wallet, so a transfer to that wallet does not show which request it pays. Only
a transfer that is *bound* to a request is credited to it. A transfer is bound by the request's deposit address, the
payer's authorization, the reference, a payer's proof, a provider's id or the merchant's acceptance. For the
delivery of a swap, see `payments.evaluation.deliveries`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from chains.client import Block, Transfer
from payments.evaluation.proof_windows import Proof, owner_of
from payments.evaluation.sender_proofs import Claimed, SenderProof, claimed_by
from payments.models.payment import FailureCode, Payment

BoundBy = Payment.BoundBy


@dataclass(frozen=True)
class Delivery:
    """A routing provider's report that the evaluated transaction delivered a swap.

    `reported` is the reported amount in base units, if any. `taken` are the transaction's transfers that were
    credited before. `is_own` means that the customer's own transaction made the delivery. Anyone can add another
    payer's money to such a transaction, so only transfers within the call with the swap's id count.
    """

    reported: int | None
    taken: "Taken"
    is_own: bool = False


@dataclass(frozen=True)
class Taken:
    """A transaction's transfers that were credited before, each as (slot, account, amount)."""

    credits: tuple[tuple[str, str, int], ...] = ()

    def includes(self, transfer: Transfer) -> bool:
        """Whether the transfer was credited. On Solana, the oldest credits have the slot `mint:owner`."""
        return transfer.slot in self._slots or f"{transfer.token}:{transfer.recipient}" in self._slots

    def of_account(self, account: str) -> int:
        """Return the amount that was credited for this account, in base units."""
        return sum(amount for _, at, amount in self.credits if at == account)

    @cached_property
    def _slots(self) -> frozenset[str]:
        return frozenset(slot for slot, _, _ in self.credits)


NOTHING_TAKEN = Taken()


@dataclass(frozen=True)
class Evidence:
    """The facts that can bind a transfer to the evaluated request, or to other requests.

    - `reference` is the request's own reference.
    - `proofs` are the proofs that wallets gave for any request with the same token and recipient. All are needed to
      decide which one owns a transfer.
    - `sender_proofs` are proofs that were given after the transaction was mined, for the same requests.
    - `claimed` has the transfers that the sender proofs claim (see `with_claims`).
    - `consumed` are the transfers that are credited to other payments.
    - `solvers` are senders that delivered a swap for any request. Solvers can't prove a transfer afterwards.
    - `foreign` are other requests' references. A transfer with such a reference belongs to the other request.
    - `elsewhere` are the amounts that this transaction delivered for other requests, as reported by providers.
    - `is_accepted` means that the merchant accepted the transaction, at `accepted_at`.
    - `accepted_elsewhere_at` is the time when the transaction was first accepted for another request. If one request
      has an acceptance and another has a sender proof, the earlier of the two counts.
    - `names_ours`: the transaction has the id of a quote of this request. `names_others`: it has the id of another
      request's quote. `names_several`: it has ids of several quotes of this request.
    - `our_calls` are the calls that carry the id of a quote of this request, `others_calls` those with ids of
      other requests' quotes. A call is an index of `TransactionFacts.mentions`.
    - `routers` are the pinned contracts of each provider whose quote for this request is named in the transaction.
    - `delivery` is set if a provider reports this transaction as a delivery.
    - `deposit_address` is the request's own deposit address, or "". All money that arrives there belongs to the
      request, even if it carries another request's reference or proof.
    - `coin_address` is the deposit address of a request for native coin. `deposit_address` is then empty, because
      coin is credited by the address's balance, not by its transactions.
    - `forwarders` are those deposit addresses, of any request, that sent something in this transaction. What a
      forwarder sends was counted when it arrived at the deposit address, so it pays no request now.
    - `authorizations` has (payer, nonce) of each authorization that the transaction used. The value is True if the
      authorization is for this request. An authorization's transfer belongs to the request that the payer signed for,
      even if the transfer carries another request's reference or proof.
    """

    reference: bytes | None
    proofs: tuple[Proof, ...] = ()
    sender_proofs: tuple[SenderProof, ...] = ()
    claimed: Claimed = field(default_factory=dict)
    consumed: Taken = NOTHING_TAKEN
    solvers: frozenset[str] = frozenset()
    foreign: frozenset[bytes] = frozenset()
    elsewhere: tuple[int, ...] = ()
    is_accepted: bool = False
    accepted_at: datetime | None = None
    accepted_elsewhere_at: datetime | None = None
    names_ours: bool = False
    names_others: bool = False
    names_several: bool = False
    our_calls: frozenset[int] = frozenset()
    others_calls: frozenset[int] = frozenset()
    routers: frozenset[str] = frozenset()
    delivery: Delivery | None = None
    deposit_address: str = ""
    coin_address: str = ""
    forwarders: frozenset[str] = frozenset()
    authorizations: Mapping[tuple[str, bytes], bool] = field(default_factory=dict)

    def is_certain(self, transfer: Transfer) -> bool:
        """Whether the deposit address or an authorization binds the transfer, so that no other request can claim it."""
        return self.is_addressed(transfer) or self.is_authorized(transfer, ours=True)

    def is_authorized(self, transfer: Transfer, *, ours: bool) -> bool:
        """Whether the payer authorized the transfer for this request; with `ours=False`, for another request."""
        if transfer.authorization is None:
            return False
        return self.authorizations.get((transfer.sender, transfer.authorization)) is ours

    def is_addressed(self, transfer: Transfer) -> bool:
        return self.deposit_address != "" and transfer.recipient == self.deposit_address

    def is_proved_by(self, transfer: Transfer, block: Block, *, ours: bool) -> bool:
        """Whether a proof covers the transfer: for this request (`ours`) or for another request (not `ours`)."""
        if (afterwards := self.claimed.get(transfer.slot)) is not None:
            return afterwards.binds and afterwards.is_ours == ours
        owner = owner_of(transfer, self.proofs, block)
        return owner is not None and owner.is_ours == ours

    def with_claims(self, arrived: Sequence[Transfer], block: Block) -> "Evidence":
        """Return a copy with `claimed`: the arrived transfers that the sender proofs claim."""
        if not self.sender_proofs:
            return self
        arrived = [transfer for transfer in arrived if not self.is_addressed(transfer)]

        def may_claim(proof: SenderProof, transfer: Transfer) -> bool:
            is_free = transfer.slot in proof.credited or self.may_be_claimed(transfer, block, proof.given_at)
            is_accepted_before = not proof.is_ours and _is_by(self.accepted_at, proof.given_at)
            return is_free and transfer.made_by == proof.address and not is_accepted_before

        return replace(self, claimed=claimed_by(self.sender_proofs, arrived, may_claim))

    def may_be_claimed(self, transfer: Transfer, block: Block, at: datetime) -> bool:
        """Whether a proof at this time can claim the transfer for its sender. It can't if something else claims the
        transfer, or if the transfer was built for another order, here or in another system.
        """
        return not (
            transfer.is_marked
            or transfer.made_by in self.solvers
            or self.is_claimed_otherwise(transfer, block, at)
        )

    def is_claimed_otherwise(self, transfer: Transfer, block: Block, at: datetime) -> bool:
        """Whether a reference, a swap, a credit, or a proof or acceptance up to the time `at` claims the transfer."""
        owner = owner_of(transfer, self.proofs, block)
        has_reference = self.reference in transfer.references or bool(
            self.foreign.intersection(transfer.references)
        )
        return (
            has_reference
            or (owner is not None and owner.given_at <= at)
            or _is_by(self.accepted_elsewhere_at, at)
            or self.consumed.includes(transfer)
            or transfer.amount in self.elsewhere
            or self._may_be_swap(transfer)
        )

    def _may_be_swap(self, transfer: Transfer) -> bool:
        """Whether a swap of any request may have made the transfer.

        A swap may have made the transfer if a call with a swap's id encloses the transfer, or if it is unknown
        which call has the id.
        """
        is_unlocated = (self.names_ours and not self.our_calls) or (
            self.names_others and not self.others_calls
        )
        calls = self.our_calls | self.others_calls
        return is_unlocated or bool(calls.intersection(transfer.within))

    def is_others(self, transfer: Transfer, block: Block) -> bool:
        """Whether another request claims the transfer by an authorization, its reference or a proof.

        A proof never covers a transfer of another request's swap (see `_may_be_others_swap`). So if this
        request's swap made the transfer, other requests' proofs don't count.
        """
        if self.is_authorized(transfer, ours=False) or self.foreign.intersection(transfer.references):
            return True
        is_whole_ours = not self.our_calls or transfer.gain is not None
        is_ours = self.names_ours and (is_whole_ours or bool(self.our_calls.intersection(transfer.within)))
        return not is_ours and self.is_proved_by(transfer, block, ours=False)


def _is_by(accepted_at: datetime | None, at: datetime) -> bool:
    return accepted_at is not None and accepted_at <= at


@dataclass(frozen=True)
class Bound:
    """Transfers that are bound to a request, each with the amount to credit. `by` says how the first transfer is
    bound.

    `proved_at` is when the last of the sender proofs was given, and counts as the time of payment.
    """

    transfers: tuple[Transfer, ...]
    by: Payment.BoundBy
    proved_at: datetime | None = None

    @property
    def amount(self) -> int:
        return sum(transfer.amount for transfer in self.transfers)


@dataclass(frozen=True)
class Unbound:
    """Why no transfer can be credited to the request."""

    code: FailureCode
    message: str
    may_be_delivery: bool = False
    """Whether the request's own swap may have delivered the money. If so, query its provider."""


UNBOUND = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND,
    "The transaction does not carry this request's reference, so it can't be matched to this request. Sign with the "
    "wallet that sent it, or ask the merchant to accept the payment.",
)
UNBOUND_REFUND = (
    "The transaction does not carry this refund's reference. Accept it on the refund's page in the portal."
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
_NOT_FROM_CONTRACT = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND,
    "The money that reached the recipient did not come from the swap's contract, so it can't be matched to this "
    "request.",
    may_be_delivery=True,
)


def bind(
    arrived: Sequence[Transfer], evidence: Evidence, block: Block, *, is_complete: bool = True
) -> Bound | Unbound:
    """Return the transfers that are bound to the request.

    `block` is the first block in which our nodes saw the transaction. `is_complete` is False if a part of the
    transaction can't be read. A missing binding may be in that part, so the failure is then "not verifiable".
    """
    certain, others = partition(arrived, evidence.is_certain)
    return with_certain(certain, evidence, _bind(others, evidence, block, is_complete=is_complete))


def with_certain(
    certain: Sequence[Transfer], evidence: Evidence, others: "Bound | Unbound"
) -> "Bound | Unbound":
    """Put the `certain` transfers before the other bound transfers. Certain transfers belong to the request even if
    another request claims them.
    """
    if not certain:
        return others
    by = BoundBy.ADDRESS if any(map(evidence.is_addressed, certain)) else BoundBy.AUTHORIZATION
    if isinstance(others, Unbound):
        return Bound(tuple(certain), by)
    return Bound((*certain, *others.transfers), by, others.proved_at)


def _bind(
    arrived: Sequence[Transfer], evidence: Evidence, block: Block, *, is_complete: bool
) -> Bound | Unbound:
    claims = claims_in(arrived, evidence, block)
    swapped, left = partition(claims.unclaimed, lambda t: _is_swapped(t, evidence))
    if claims.are_contested(left, evidence):
        return AMBIGUOUS_DELIVERY
    if credited := limit_to_gains([*claims.claimable, *swapped]):
        by = claims.by if claims.clear or claims.proved else BoundBy.PROVIDER
        return Bound(tuple(credited), by, proved_at(credited, evidence))
    if claims.has_ambiguous:
        return _AMBIGUOUS
    if evidence.is_accepted and (accepted := limit_to_gains(claims.acceptable)):
        return Bound(tuple(accepted), BoundBy.MANUAL)
    if evidence.names_ours and claims.acceptable:
        return AMBIGUOUS_SWAP if evidence.names_others else _NOT_FROM_CONTRACT
    return UNBOUND if is_complete else UNVERIFIABLE


def proved_at(credited: Iterable[Transfer], evidence: Evidence) -> datetime | None:
    """Return when the last sender proof for these transfers was given, or None."""
    proofs = (evidence.claimed.get(transfer.slot) for transfer in credited)
    return max((proof.given_at for proof in proofs if proof is not None), default=None)


@dataclass(frozen=True)
class Claims:
    """How a request's reference and proofs divide the arrived transfers.

    - `clear` carry the request's reference, and no other request's.
    - `proved` are covered by a proof for the request.
    - `unclaimed` transfers have no claim by any request.
    - `acceptable` are `proved` and `unclaimed` in the order of arrival. The merchant can accept them.
    - `has_ambiguous`: a transfer carries the references of several requests.
    """

    clear: tuple[Transfer, ...]
    proved: tuple[Transfer, ...]
    unclaimed: tuple[Transfer, ...]
    acceptable: tuple[Transfer, ...]
    has_ambiguous: bool

    @property
    def by(self) -> Payment.BoundBy:
        return BoundBy.REFERENCE if self.clear else BoundBy.PAYER

    @property
    def claimable(self) -> list[Transfer]:
        """The claimed transfers. Each has only the amount that a reference or a proof can claim."""
        return [part for t in (*self.clear, *self.proved) if (part := claimable_part(t)).amount > 0]

    def are_contested(self, left: Sequence[Transfer], evidence: Evidence) -> bool:
        """Whether one of the claimed transfers may be the delivery of another request's swap.

        That is possible if a provider reports its amount for another request. But if an unclaimed transfer (in
        `left`) has the same amount, that transfer counts as the delivery.
        """
        if evidence.is_accepted or not self.claimable:
            return False
        contested = Counter(evidence.elsewhere) - Counter(t.amount for t in left)
        return any(t.amount in contested for t in (*self.clear, *self.proved))


def claims_in(arrived: Sequence[Transfer], evidence: Evidence, block: Block) -> Claims:
    """Divide the arrived transfers by the request's reference and proofs."""
    referenced, others = partition(
        arrived, lambda t: t.authorization is None and evidence.reference in t.references
    )
    # Anyone can add a transfer that carries several references. So ignore that transfer, not the whole
    # transaction.
    clear = [t for t in referenced if evidence.is_accepted or not evidence.foreign.intersection(t.references)]
    acceptable = [t for t in others if not evidence.is_others(t, block)]
    proved, unclaimed = partition(
        acceptable,
        lambda t: not _may_be_others_swap(t, evidence) and evidence.is_proved_by(t, block, ours=True),
    )
    return Claims(
        tuple(clear), tuple(proved), tuple(unclaimed), tuple(acceptable), len(clear) < len(referenced)
    )


def partition(
    transfers: Iterable[Transfer], has: Callable[[Transfer], bool]
) -> tuple[list[Transfer], list[Transfer]]:
    parts: tuple[list[Transfer], list[Transfer]] = ([], [])
    for transfer in transfers:
        parts[0 if has(transfer) else 1].append(transfer)
    return parts


def _is_swapped(transfer: Transfer, evidence: Evidence) -> bool:
    """Whether the request's single-chain swap made the transfer, in the customer's own transaction.

    The sender must be the provider's pinned contract. The innermost call to a pinned contract may carry only ids
    of this request. Otherwise an attacker's swap could complete another customer's delivery in a nested call, and
    be credited for it.
    """
    is_located = bool(evidence.others_calls) or not evidence.names_others
    innermost = max(transfer.within, default=None)
    is_ours_alone = (
        evidence.names_ours and is_located and innermost in evidence.our_calls - evidence.others_calls
    )
    return is_ours_alone and transfer.sender in evidence.routers


def _may_be_others_swap(transfer: Transfer, evidence: Evidence) -> bool:
    """Whether another request's swap may have made the transfer: a call with that swap's id encloses it.

    Other calls with the id don't count, because anyone can add such a call to a transaction that relays a signed
    operation. If only logs name the swap, its call is unknown, and any transfer may be its delivery. On EVM chains,
    contracts pay out swaps, so a user account's own transfer is not part of a swap. On Solana, a wallet's transfer
    may be the last step of its swap.
    """
    if evidence.names_others and not evidence.others_calls:
        return transfer.gain is not None or not transfer.made_by
    return bool(evidence.others_calls.intersection(transfer.within))


def claimable_part(transfer: Transfer) -> Transfer:
    """Reduce the transfer to the amount that a reference or a proof can claim."""
    if transfer.claimable is None:
        return transfer
    return replace(transfer, amount=max(min(transfer.amount, transfer.claimable), 0))


def limit_to_gains(transfers: Iterable[Transfer]) -> list[Transfer]:
    """On Solana, limit the sum of the transfers to each account to the account's gain."""
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
