"""Was this request paid by this transaction? A pure function over the chain's facts: no database, no network, no clock.

The answers are of four kinds. `Paid` and `Refused` are final, at the required depth only, since a reorganisation can
turn either round; `NotFound` and `NotYet` are not. (The fourth kind, no usable answer, never gets here: clients raise
it as a ChainError.)
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from chains.amounts import display_amount
from chains.client import Block, Head, TransactionFacts, Transfer
from payments.evaluation.binding import AMBIGUOUS_SWAP, UNBOUND, Bound, BoundBy, Claims, bind
from payments.evaluation.own_money import EXCHANGED, LENT, RETURNED, lent_before, was_exchanged, went_back
from payments.evaluation.proof_windows import CLOCK_ALLOWANCE
from payments.models.payment import FailureCode

_AHEAD = 2**62  # above every block's number
_COMMITMENTS = ("confirmed", "finalized")


WRONG_CHAIN = "The transaction is on another network than the one asked for."
NOT_OUR_SWAP = (
    "The transaction is on another network than the one asked for, and is none of the swaps that were offered for this "
    "request, so it can't be matched to this request."
)
_UNREADABLE = (
    "The transaction is too large for this network's nodes to show, so it can't be verified for now."
)
_ARRIVED_UNMATCHED = frozenset(
    {FailureCode.TRANSACTION_NOT_BOUND, FailureCode.TRANSACTION_AMBIGUOUS, FailureCode.NOT_VERIFIABLE}
)
_NOTHING_CAME = frozenset(
    {
        FailureCode.WRONG_TOKEN,
        FailureCode.WRONG_RECIPIENT,
        FailureCode.WRONG_AMOUNT,
        FailureCode.NOT_VERIFIABLE,
    }
)


@dataclass(frozen=True)
class Terms:
    """What a request asks for, and what binds a transfer to it. `known_tokens` names the catalogue's, for messages.

    `created_at` is when the request was made; of a swap's delivery, the time before which it can't have been made.
    `asked_at` is the time of the evaluation: a transaction in no block yet is mined after it.
    `first_block` is the first block in which our nodes saw the transaction: its time and height count for expiry and
    proofs even if a reorganisation moves the transaction to a later one.
    """

    chain_id: int
    token: str
    symbol: str
    decimals: int
    recipient: str
    created_at: datetime
    claims: Claims
    known_tokens: Mapping[str, str]
    asked_at: datetime
    first_block: tuple[int, datetime] | None = None


@dataclass(frozen=True)
class Finality:
    """How deep a block has to lie: under `confirmations` blocks, itself counted, or under the head of a `tag`."""

    confirmations: int | None = None
    tag: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Finality":
        """Return the rule that a chain's `confirmations` writes: a number, `safe`, `confirmed` or `finalized`."""
        return cls(confirmations=int(text)) if text.isdigit() else cls(tag=text)

    def is_reached(self, facts: TransactionFacts, head: Head) -> bool:
        """Whether the mined transaction lies deep enough; a tag that the node does not know is never reached."""
        if facts.block is None:
            return False
        if self.confirmations is not None:
            return depth(facts.block, head) >= self.confirmations
        if facts.commitment in _COMMITMENTS and self.tag in _COMMITMENTS:
            return _COMMITMENTS.index(facts.commitment) >= _COMMITMENTS.index(self.tag)
        reached = head.safe if self.tag == "safe" else head.finalized
        return reached is not None and reached >= facts.block.number


@dataclass(frozen=True)
class Paid:
    """Bound, successful, deep enough: these transfers count."""

    bound: Bound
    block: Block
    confirmations: int


@dataclass(frozen=True)
class Refused:
    """A no, in a block that is deep enough. `arrived` is what reached the recipient all the same: it can be accepted.

    With `may_be_delivery` it is none yet where the request's own swap began with the transaction.
    """

    code: FailureCode
    message: str
    arrived: int | None = None
    may_be_delivery: bool = False


@dataclass(frozen=True)
class NotFound:
    """Healthy nodes do not know the transaction."""


@dataclass(frozen=True)
class NotYet:
    """It is there, but can't be counted yet.

    `bound` is what will count once it is deep enough; without a `block`, what its own bytes promise (for a swap, no
    transfers, bound by its provider's id). `likely` is the no that it will get instead.
    """

    detail: str
    block: Block | None = None
    confirmations: int = 0
    bound: Bound | None = None
    likely: Refused | None = None


@dataclass(frozen=True)
class Departed:
    """A swap of the request has begun with this transaction. What it delivers is not in it: its provider is asked."""

    block: Block
    confirmations: int


Verdict = Paid | Refused | NotFound | NotYet


def evaluate(
    terms: Terms, chain_id: int, facts: TransactionFacts | None, head: Head, finality: Finality
) -> Verdict:
    """Return whether the transaction `facts` on `chain_id` pays a request with these `terms`, seen from `head`."""
    if chain_id != terms.chain_id:
        return Refused(FailureCode.WRONG_CHAIN, WRONG_CHAIN)
    if facts is None:
        return NotFound()
    if facts.block is None:
        return _unmined(terms, facts)
    decided = _decide(terms, facts, facts.block)
    confirmations, is_deep = depth(facts.block, head), finality.is_reached(facts, head)
    if isinstance(decided, Refused):
        return decided if is_deep else _likely(decided, facts.block, finality, confirmations)
    if not is_deep:
        return NotYet(_waiting(finality, confirmations), facts.block, confirmations, decided)
    return Paid(decided, facts.block, confirmations)


def evaluate_departure(
    terms: Terms, facts: TransactionFacts | None, head: Head, finality: Finality
) -> Departed | Verdict:
    """Return whether a swap of the request has begun with the transaction `facts`, on whatever chain it is.

    Nothing is credited by it, so its own depth does not matter: the delivery has to be deep, wherever it is made. That
    it is no swap of the request is final at the required depth only.
    """
    if facts is None:
        return NotFound()
    if facts.block is None:
        return _unmined(terms, facts)
    refused = _refused_outright(terms, facts, facts.block) or _refused_departure(terms.claims)
    confirmations = depth(facts.block, head)
    if refused is None:
        return Departed(facts.block, confirmations)
    is_deep = finality.is_reached(facts, head)
    return refused if is_deep else _likely(refused, facts.block, finality, confirmations)


def departed_here(
    terms: Terms, verdict: Verdict, facts: TransactionFacts | None, head: Head, finality: Finality
) -> Departed | Verdict:
    """Return what `verdict` means for a transaction on the requested chain, which may be a swap's beginning as well.

    A swap on one chain usually delivers in its own transaction, out of its own contract. Where nothing came that way,
    its provider may deliver by another transaction; what came otherwise is the swap's if its provider reports it.
    """
    claims = terms.claims
    refused = verdict.likely if isinstance(verdict, NotYet) else verdict
    is_open = isinstance(refused, Refused) and (refused.code in _NOTHING_CAME or refused.may_be_delivery)
    if not (is_open and claims.names_ours and claims.delivery is None):
        return verdict
    return evaluate_departure(terms, facts, head, finality)


def _unmined(terms: Terms, facts: TransactionFacts) -> NotYet:
    """Return what the bytes of a transaction in no block promise: that they bind it to the request, or nothing."""
    claims, bound = terms.claims, None
    if claims.delivery is None:
        block = _first_block(terms, Block(_AHEAD, "", terms.asked_at))
        promised = bind(_arrived(terms, facts.intended, facts.sender), claims, block)
        bound = promised if isinstance(promised, Bound) else None
        if bound is None and claims.names_ours and not claims.names_others:
            bound = Bound((), BoundBy.PROVIDER)
    return NotYet("Seen by the network, not in a block yet.", bound=bound)


def _likely(refused: Refused, block: Block, finality: Finality, confirmations: int) -> NotYet:
    """Return a no whose block may still be reorganised away."""
    detail = f"{refused.message} {_waiting(finality, confirmations)}"
    return NotYet(detail, block, confirmations, likely=refused)


def _decide(terms: Terms, facts: TransactionFacts, block: Block) -> Bound | Refused:
    """Return what a mined transaction comes to once its block is deep enough."""
    refused = _refused_outright(terms, facts, block)
    if refused is not None:
        return refused
    arrived = _arrived(terms, facts.transfers, facts.sender)
    if not arrived:
        return _nothing_arrived(terms, facts)
    bound = bind(arrived, terms.claims, _first_block(terms, block), is_complete=facts.is_complete)
    if isinstance(bound, Bound):
        return _without_own_money(terms, facts, block, arrived, bound)
    amount = sum(t.amount for t in arrived) if bound.code in _ARRIVED_UNMATCHED else None
    return Refused(bound.code, bound.message, amount, bound.may_be_delivery)


def _refused_outright(terms: Terms, facts: TransactionFacts, block: Block) -> Refused | None:
    """Return why a mined transaction can't count, before its money is looked at."""
    if not facts.is_readable:
        return Refused(FailureCode.NOT_VERIFIABLE, _UNREADABLE)
    if not facts.succeeded:
        return Refused(
            FailureCode.TRANSACTION_REVERTED, "The transaction failed on the chain, so nothing was paid."
        )
    if _first_block(terms, block).time < terms.created_at - CLOCK_ALLOWANCE:
        older_than = (
            "payment request" if terms.claims.delivery is None else "swap that it is reported to deliver"
        )
        return Refused(FailureCode.TRANSACTION_TOO_OLD, f"The transaction is older than the {older_than}.")
    return None


def _refused_departure(claims: Claims) -> Refused | None:
    if not claims.names_ours:
        return Refused(UNBOUND.code, NOT_OUR_SWAP)
    if claims.names_others:
        return Refused(AMBIGUOUS_SWAP.code, AMBIGUOUS_SWAP.message)
    return None


def _first_block(terms: Terms, block: Block) -> Block:
    """Return the block by whose height and time a transaction counts: the first that our nodes saw."""
    if terms.first_block is None or terms.first_block[1] > block.time:
        return block
    number, time = terms.first_block
    return replace(block, number=number, time=time)


def _arrived(terms: Terms, transfers: Sequence[Transfer], signer: str) -> list[Transfer]:
    """Return what reached the recipient, less what the recipient sent back to its payer in the same transaction.

    On Solana every credit is held to the account's own gain as well. The gain alone would let a payer who gets the
    money back be credited with what another payer's delivery brought.
    """
    moved = [t for t in transfers if t.token == terms.token and t.amount > 0 and t.sender != t.recipient]
    arrived = [t for t in moved if t.recipient == terms.recipient]
    returned: Counter[str] = Counter()
    for back in moved:
        if back.sender == terms.recipient:
            returned[back.recipient] += back.amount
    return _less(arrived, returned, signer) if returned else arrived


def _without_own_money(
    terms: Terms, facts: TransactionFacts, block: Block, arrived: Sequence[Transfer], bound: Bound
) -> Bound | Refused:
    """Return `bound` without what may be the recipient's own money. What the merchant accepted is not asked."""
    claims, refused = terms.claims, Refused(FailureCode.NOT_VERIFIABLE, LENT, bound.amount)
    if claims.is_accepted or (claims.delivery is not None and not claims.delivery.is_own):
        return bound
    payers = {facts.sender, *(t.sender for t in arrived), *(t.made_by for t in arrived)}
    lent = lent_before(facts.transfers, arrived, terms.token, terms.recipient, payers)
    if not lent.isdisjoint(t.slot for t in bound.transfers):
        # What anyone puts beside a payment that came before, or after all was back, spoils nothing.
        rest = [t for t in arrived if t.slot not in lent]
        without = bind(rest, claims, _first_block(terms, block), is_complete=facts.is_complete)
        if not isinstance(without, Bound):
            return refused
        bound = without
    if went_back(facts.transfers, bound.transfers, terms.token, terms.recipient, payers):
        return replace(refused, message=RETURNED)
    is_claimed = bound.by in (BoundBy.REFERENCE, BoundBy.PAYER)
    if is_claimed and was_exchanged(
        facts.transfers, terms.token, terms.recipient, terms.known_tokens, facts.sender
    ):
        return replace(refused, message=EXCHANGED)
    return bound


def _less(arrived: Sequence[Transfer], returned: Mapping[str, int], signer: str) -> list[Transfer]:
    """Return `arrived` less what came back to each payer: from what that account paid, then from all that it signed.

    What can be claimed comes first. A transfer that the account did not make itself may serve another payer's order.
    The cost grows with the transfers alone: who makes the transaction decides how many there are.
    """
    by_payer: dict[str, list[Transfer]] = defaultdict(list)
    for transfer in arrived:
        for payer in {transfer.sender, transfer.made_by} & returned.keys():
            by_payer[payer].append(transfer)
    left = {id(t): t.amount for t in arrived}
    for payer, amount in returned.items():
        own = {id(t) for t in by_payer[payer]}
        deductible = arrived if payer == signer else by_payer[payer]
        for transfer in sorted(
            deductible, key=lambda t: (t.made_by != payer, not t.references, id(t) not in own)
        ):
            taken = min(amount, left[id(transfer)])
            left[id(transfer)] -= taken
            amount -= taken
    return [replace(t, amount=left[id(t)]) for t in arrived if left[id(t)] > 0]


def depth(block: Block, head: Head) -> int:
    """Return how many blocks confirm `block`, itself counted; 0 where the head runs behind it."""
    return max(head.latest - block.number + 1, 0)


def _nothing_arrived(terms: Terms, facts: TransactionFacts) -> Refused:
    """Say what went elsewhere or came as something else, where that can be told."""
    # On Solana tokens move in inner instructions too; an EVM token's logs are complete without a trace.
    may_be_hidden = terms.token == "" or facts.commitment is not None
    if may_be_hidden and not facts.is_complete:
        message = (
            "The money may have moved inside a contract's call, and no node of this network can show those."
        )
        return Refused(FailureCode.NOT_VERIFIABLE, message)
    reached = (t for t in facts.transfers if t.recipient == terms.recipient and t.amount > 0)
    other = next((t for t in reached if t.token != terms.token), None)
    if other is not None:
        paid_with = terms.known_tokens.get(other.token, "another token")
        return Refused(FailureCode.WRONG_TOKEN, f"It paid {paid_with} instead of {terms.symbol}.")
    left = (t for t in facts.transfers if t.token == terms.token and t.amount > 0)
    elsewhere = next((t for t in left if t.recipient != terms.recipient != t.sender), None)
    if elsewhere is not None:
        amount = display_amount(elsewhere.amount, terms.decimals)
        message = f"It sent {amount} {terms.symbol} to {elsewhere.recipient}, not to {terms.recipient}."
        return Refused(FailureCode.WRONG_RECIPIENT, message)
    return Refused(FailureCode.WRONG_AMOUNT, f"No {terms.symbol} reached the recipient in this transaction.")


def _waiting(finality: Finality, confirmations: int) -> str:
    if finality.confirmations is None:
        return f"In a block; waiting for the network to call it {finality.tag}."
    return f"In a block; {confirmations} of {finality.confirmations} confirmations."


def all_references(transfers: Sequence[Transfer]) -> set[bytes]:
    """Return every reference that these transfers carry."""
    return {reference for transfer in transfers for reference in transfer.references}
