"""Evaluate whether a transaction pays a request. Pure functions: no database, network or clock.

`Paid` and `Refused` are final. Final verdicts need the required depth, because a reorganisation could reverse
them before that depth. `NotFound` and `NotYet` are not final. If no node gives a usable response, the clients
raise a ChainError instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from chains.amounts import display_amount
from chains.client import Block, Head, TransactionFacts, Transfer
from payments.evaluation import messages
from payments.evaluation.arrivals import arrived_transfers, as_one_account, came_out_of, coins_to
from payments.evaluation.binding import (
    AMBIGUOUS_QUOTES,
    AMBIGUOUS_SWAP,
    UNBOUND,
    UNBOUND_REFUND,
    Bound,
    BoundBy,
    Evidence,
    Unbound,
    bind,
)
from payments.evaluation.deliveries import find_delivery
from payments.evaluation.own_money import (
    ACCEPTABLE,
    EXCHANGED,
    LENT,
    RETURNED,
    lent_before,
    was_exchanged,
    went_back,
)
from payments.evaluation.proof_windows import CLOCK_ALLOWANCE
from payments.models.payment import ACCEPTABLE_FAILURES, FailureCode

_UNMINED_NUMBER = 2**62  # above every block's number
_COMMITMENTS = ("confirmed", "finalized")
_NOTHING_ARRIVED = frozenset(
    {
        FailureCode.WRONG_TOKEN,
        FailureCode.WRONG_RECIPIENT,
        FailureCode.WRONG_AMOUNT,
        FailureCode.NOT_VERIFIABLE,
    }
)


@dataclass(frozen=True)
class Terms:
    """The terms of a request, and the evidence that can bind a transfer to it.

    - `known_tokens` has the symbol of each token of the catalogue, by address.
    - `created_at` is when the request was created or, for the delivery of a swap, its earliest possible time.
    - `asked_at` is the time of the evaluation.
    - `is_refund` means that the merchant pays the customer.
    - `first_block` is the first block in which our nodes saw the transaction. That block's time and height
      count for the expiry and for proofs, even if a reorganisation moves the transaction to a later block.
    """

    chain_id: int
    token: str
    symbol: str
    decimals: int
    recipient: str
    created_at: datetime
    evidence: Evidence
    known_tokens: Mapping[str, str]
    asked_at: datetime
    first_block: tuple[int, datetime] | None = None
    is_refund: bool = False

    @property
    def own(self) -> frozenset[str]:
        """The request's addresses: its recipient, and its deposit address if it has one."""
        return frozenset({self.recipient, self.evidence.deposit_address} - {""})

    def arrived(self, transfers: Sequence[Transfer], signer: str) -> list[Transfer]:
        """Return the transfers to the request's own addresses (see `arrived_transfers`)."""
        return arrived_transfers(transfers, self.token, self.own, self.evidence.forwarders, signer)


@dataclass(frozen=True)
class Finality:
    """The required depth of a block: a number of `confirmations`, or a `tag` of the network such as `finalized`.

    The block counts as the first confirmation. `fallback` confirmations are enough even before the network tags the
    block. If the tag has stopped moving, `still_since` is when it stopped.
    """

    confirmations: int | None = None
    tag: str | None = None
    fallback: int | None = None
    still_since: datetime | None = None

    @classmethod
    def parse(cls, text: str, fallback: int | None = None, still_since: datetime | None = None) -> "Finality":
        """Parse a chain's `confirmations` setting: a number, `safe`, `confirmed` or `finalized`."""
        if text.isdigit():
            return cls(confirmations=int(text))
        return cls(tag=text, fallback=fallback, still_since=still_since)

    def is_reached(self, facts: TransactionFacts, head: Head) -> bool:
        """Whether the mined transaction is deep enough. If the node doesn't know the tag, only `fallback` can make
        this true.
        """
        if facts.block is None:
            return False
        if self.confirmations is not None:
            return depth(facts.block, head) >= self.confirmations
        if self.fallback is not None and depth(facts.block, head) >= self.fallback:
            return True
        if facts.commitment in _COMMITMENTS and self.tag in _COMMITMENTS:
            return _COMMITMENTS.index(facts.commitment) >= _COMMITMENTS.index(self.tag)
        reached = head.safe if self.tag == "safe" else head.finalized
        return reached is not None and reached >= facts.block.number


@dataclass(frozen=True)
class Paid:
    """The transaction is deep enough, and these transfers pay the request."""

    bound: Bound
    block: Block
    confirmations: int


@dataclass(frozen=True)
class Refused:
    """The transaction does not pay the request.

    `arrived` is an amount that reached the recipient and that the merchant can accept, or None. With
    `may_be_delivery`, the money may come from the request's own swap: query the swap's provider first.
    """

    code: FailureCode
    message: str
    arrived: int | None = None
    may_be_delivery: bool = False


@dataclass(frozen=True)
class NotFound:
    """Healthy nodes don't know the transaction."""


@dataclass(frozen=True)
class NotYet:
    """The nodes know the transaction, but its result is not final.

    `bound` has the transfers that count once the transaction is deep enough. Without a `block`, the transaction is
    unmined: `bound` then has the transfers that it will make (none for a swap). `likely` has the refusal that will
    probably become final.
    """

    detail: str
    block: Block | None = None
    confirmations: int = 0
    bound: Bound | None = None
    likely: Refused | None = None


@dataclass(frozen=True)
class SwapStarted:
    """The transaction started a swap of the request. The swap's provider reports the transaction that pays."""

    block: Block
    confirmations: int


Verdict = Paid | Refused | NotFound | NotYet


def evaluate(
    terms: Terms, chain_id: int, facts: TransactionFacts | None, head: Head, finality: Finality
) -> Verdict:
    """Return whether a transaction pays a request.

    `facts` is the transaction on the chain `chain_id`. `head` is that chain's head, and `finality` the required
    depth.
    """
    if chain_id != terms.chain_id:
        return Refused(FailureCode.WRONG_CHAIN, messages.WRONG_CHAIN)
    if facts is None:
        return NotFound()
    if facts.block is None:
        return _unmined(terms, facts)
    decided = _decide_with_acceptance(terms, facts, facts.block)
    confirmations, is_deep = depth(facts.block, head), finality.is_reached(facts, head)
    if isinstance(decided, Refused):
        coins = coins_to(terms.evidence.coin_address, facts)
        # If money also reached the recipient, the payment is refused, so that the merchant can accept that money.
        if coins and not decided.arrived:
            bound = Bound(coins, BoundBy.ADDRESS)
            return NotYet(messages.AT_ADDRESS, facts.block, confirmations, bound)
        return decided if is_deep else _likely(decided, facts.block, finality, confirmations)
    if not is_deep:
        return NotYet(_waiting(finality, confirmations), facts.block, confirmations, decided)
    return Paid(decided, facts.block, confirmations)


def evaluate_swap_start(
    terms: Terms, facts: TransactionFacts | None, head: Head, finality: Finality
) -> SwapStarted | Verdict:
    """Return whether a transaction, on any chain, started a swap of the request.

    Nothing is credited when a swap starts, so the block may be new. A delivery or a refusal needs the required depth.
    """
    if facts is None:
        return NotFound()
    if facts.block is None:
        return _unmined(terms, facts)
    refused = refused_outright(terms, facts, facts.block) or _refused_swap_start(terms.evidence)
    confirmations = depth(facts.block, head)
    if refused is None:
        return SwapStarted(facts.block, confirmations)
    is_deep = finality.is_reached(facts, head)
    return refused if is_deep else _likely(refused, facts.block, finality, confirmations)


def evaluate_possible_swap_start(
    terms: Terms, verdict: Verdict, facts: TransactionFacts | None, head: Head, finality: Finality
) -> SwapStarted | Verdict:
    """Return the verdict on a transaction of the requested chain that may have started a single-chain swap.

    A single-chain swap usually delivers in the same transaction, from the provider's contract. If it does not,
    query the provider: the delivery may be another transaction, or another transfer of this one.
    """
    evidence = terms.evidence
    refused = verdict.likely if isinstance(verdict, NotYet) else verdict
    is_open = isinstance(refused, Refused) and (refused.code in _NOTHING_ARRIVED or refused.may_be_delivery)
    if not (is_open and evidence.names_ours and evidence.delivery is None):
        return verdict
    return evaluate_swap_start(terms, facts, head, finality)


def _unmined(terms: Terms, facts: TransactionFacts) -> NotYet:
    """Return the verdict on an unmined transaction. Only its own content can bind an unmined transaction."""
    evidence, bound = terms.evidence, None
    if evidence.delivery is None:
        block = first_block(terms, Block(_UNMINED_NUMBER, "", terms.asked_at))
        promised = bind(terms.arrived(facts.intended, facts.sender), evidence, block)
        bound = promised if isinstance(promised, Bound) else None
        if bound is None and (coins := coins_to(evidence.coin_address, facts)):
            bound = Bound(coins, BoundBy.ADDRESS)
        if bound is None and evidence.names_ours and not evidence.names_others:
            bound = Bound((), BoundBy.PROVIDER)
    return NotYet("Seen by the network; not in a block yet.", bound=bound)


def _likely(refused: Refused, block: Block, finality: Finality, confirmations: int) -> NotYet:
    """Return the verdict for a refusal that a reorganisation could still reverse."""
    detail = f"{refused.message} {_waiting(finality, confirmations)}"
    return NotYet(detail, block, confirmations, likely=refused)


def _decide_with_acceptance(terms: Terms, facts: TransactionFacts, block: Block) -> Bound | Refused:
    """Decide a mined transaction. If it counts only because the merchant accepted it, it is bound by `MANUAL`."""
    decided = decide(terms, facts, block)
    if not (terms.evidence.is_accepted and isinstance(decided, Bound)):
        return decided
    unaccepted = replace(terms, evidence=replace(terms.evidence, is_accepted=False))
    if isinstance(decide(unaccepted, facts, block), Bound):
        return decided
    return replace(decided, by=BoundBy.MANUAL)


def decide(terms: Terms, facts: TransactionFacts, block: Block) -> Bound | Refused:
    """Decide a mined transaction as if its block were deep enough."""
    refused = refused_outright(terms, facts, block)
    if refused is not None:
        return refused
    arrived = terms.arrived(facts.transfers, facts.sender)
    if not arrived:
        return _nothing_arrived(terms, facts)
    bound = _counted(terms, facts, block, arrived)
    if isinstance(bound, Bound):
        return _exclude_own_money(terms, facts, block, arrived, bound)
    amount = sum(t.amount for t in arrived) if bound.code in ACCEPTABLE_FAILURES else None
    message = UNBOUND_REFUND if terms.is_refund and bound == UNBOUND else bound.message
    if amount is not None:
        message += _doubt(terms, facts, block, arrived)
    return Refused(bound.code, message, amount, bound.may_be_delivery)


def _doubt(terms: Terms, facts: TransactionFacts, block: Block, arrived: Sequence[Transfer]) -> str:
    """Return a sentence that says why unbound money may be the recipient's own, or "" if it can't be.

    The merchant must know this before accepting the payment.
    """
    accepted = replace(terms, evidence=replace(terms.evidence, is_accepted=True))
    bound = _counted(accepted, facts, block, arrived)
    if not isinstance(bound, Bound):
        return ""
    decided = _exclude_own_money(terms, facts, block, arrived, bound)
    return f" {decided.message.removesuffix(ACCEPTABLE)}" if isinstance(decided, Refused) else ""


def _counted(
    terms: Terms, facts: TransactionFacts, block: Block, arrived: Sequence[Transfer]
) -> Bound | Unbound:
    """Return the transfers to credit. If a provider reported the transaction, return the swap's delivery."""
    first = first_block(terms, block)
    evidence = terms.evidence.with_claims(arrived, first)
    if evidence.delivery is None:
        return bind(arrived, evidence, first, is_complete=facts.is_complete)
    return find_delivery(arrived, evidence, evidence.delivery, first, is_complete=facts.is_complete)


def refused_outright(terms: Terms, facts: TransactionFacts, block: Block) -> Refused | None:
    """Return why a mined transaction can't pay the request with any transfer, or None if it can."""
    if not facts.is_readable:
        message = messages.UNREADABLE if facts.is_known_form else messages.UNKNOWN_FORM
        return Refused(FailureCode.NOT_VERIFIABLE, message)
    if not facts.succeeded:
        return Refused(
            FailureCode.TRANSACTION_REVERTED, "The transaction failed on the chain, so nothing was paid."
        )
    if first_block(terms, block).time < terms.created_at - CLOCK_ALLOWANCE:
        older_than = "payment request" if terms.evidence.delivery is None else "swap that it should deliver"
        return Refused(FailureCode.TRANSACTION_TOO_OLD, f"The transaction is older than the {older_than}.")
    return None


def _refused_swap_start(evidence: Evidence) -> Refused | None:
    if not evidence.names_ours:
        return Refused(UNBOUND.code, messages.NOT_OUR_SWAP)
    if evidence.names_others:
        return Refused(AMBIGUOUS_SWAP.code, AMBIGUOUS_SWAP.message)
    if evidence.names_several:
        return Refused(AMBIGUOUS_QUOTES.code, AMBIGUOUS_QUOTES.message)
    return None


def first_block(terms: Terms, block: Block) -> Block:
    """Return `block`, but with the height and time of the first block in which our nodes saw the transaction."""
    if terms.first_block is None or terms.first_block[1] > block.time:
        return block
    number, time = terms.first_block
    return replace(block, number=number, time=time)


def _exclude_own_money(
    terms: Terms, facts: TransactionFacts, block: Block, arrived: Sequence[Transfer], bound: Bound
) -> Bound | Refused:
    """Remove money from `bound` that may be the recipient's own, unless the merchant accepted the payment.

    Refunds are not checked. A refund's recipient may be the customer's contract, which could make the check fail.
    """
    evidence, refused = terms.evidence, Refused(FailureCode.NOT_VERIFIABLE, LENT, bound.amount)
    if (
        terms.is_refund
        or evidence.is_accepted
        or (evidence.delivery is not None and not evidence.delivery.is_own)
    ):
        return bound
    payers = {facts.sender, *(t.sender for t in arrived), *(t.made_by for t in arrived)}
    transfers = as_one_account(facts.transfers, terms.recipient, evidence.deposit_address)
    lent = lent_before(transfers, arrived, terms.token, terms.recipient, payers)
    if not lent.isdisjoint(t.slot for t in bound.transfers):
        # Another person can add a loan to the transaction. Payments before the loan, or after it was repaid, still
        # count.
        rest = [t for t in arrived if t.slot not in lent]
        without = _counted(terms, facts, block, rest)
        if not isinstance(without, Bound):
            return refused
        bound = without
    if went_back(transfers, bound.transfers, terms.token, terms.recipient, payers):
        return replace(refused, message=RETURNED)
    is_swap = bound.by == BoundBy.PROVIDER
    if not is_swap and was_exchanged(
        transfers, terms.token, terms.recipient, terms.known_tokens, facts.sender
    ):
        return replace(refused, message=EXCHANGED)
    return bound


def depth(block: Block, head: Head) -> int:
    """Return the number of blocks that confirm `block`, itself included. Return 0 if the head is behind it."""
    return max(head.latest - block.number + 1, 0)


def _nothing_arrived(terms: Terms, facts: TransactionFacts) -> Refused:
    """Return why nothing arrived: a sweep, another token, another recipient, or no transfer of the token."""
    if came_out_of(terms.evidence.forwarders, facts.transfers, terms.token, terms.recipient):
        return Refused(FailureCode.TRANSACTION_ALREADY_USED, messages.SWEPT)
    # Native coin can move in inner calls, and so can any token on Solana. The logs of EVM tokens are always complete.
    may_be_hidden = terms.token == "" or facts.commitment is not None
    if may_be_hidden and not facts.is_complete:
        message = (
            "The money may have moved inside a contract call, and no node of this network can show those."
        )
        return Refused(FailureCode.NOT_VERIFIABLE, message)
    reached = (t for t in facts.transfers if t.recipient in terms.own and t.amount > 0)
    other = next((t for t in reached if t.token != terms.token), None)
    if other is not None:
        paid_with = terms.known_tokens.get(other.token, "another token")
        return Refused(
            FailureCode.WRONG_TOKEN, f"The transaction paid {paid_with} instead of {terms.symbol}."
        )
    left = (t for t in facts.transfers if t.token == terms.token and t.amount > 0)
    elsewhere = next((t for t in left if t.recipient != terms.recipient != t.sender), None)
    if elsewhere is not None:
        amount = display_amount(elsewhere.amount, terms.decimals)
        message = f"The transaction sent {amount} {terms.symbol} to {elsewhere.recipient}, not to {terms.recipient}."
        return Refused(FailureCode.WRONG_RECIPIENT, message)
    return Refused(FailureCode.WRONG_AMOUNT, f"No {terms.symbol} reached the recipient in this transaction.")


def _waiting(finality: Finality, confirmations: int) -> str:
    if finality.confirmations is None:
        fallback = (
            f" or for {finality.fallback} confirmations ({confirmations} so far)" if finality.fallback else ""
        )
        still = (
            f" No new block has been marked since {finality.still_since:%Y-%m-%d %H:%M} UTC."
            if finality.still_since
            else ""
        )
        return f"In a block; waiting for the network to mark it as {finality.tag}{fallback}.{still}"
    return f"In a block; {confirmations} of {finality.confirmations} confirmations."


def all_references(transfers: Sequence[Transfer]) -> set[bytes]:
    """Return every reference that these transfers carry."""
    return {reference for transfer in transfers for reference in transfer.references}
