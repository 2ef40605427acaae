"""Was this request paid by this transaction? A pure function over the chain's facts: no database, no network, no clock.

The answers are of four kinds (contract 6). `Paid` and `Refused` are verdicts, `NotFound` and `NotYet` are not. (The
fourth kind, no usable answer, never gets here: clients raise it as a ChainError.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from chains.amounts import display_amount
from chains.clients.base import Block, Head, TransactionFacts, Transfer
from payments.binding import AMBIGUOUS_SWAP, CLOCK_ALLOWANCE, UNBOUND, Bound, Claims, Unbound, bind
from payments.models.payment import FailureCode

_COMMITMENTS = ("confirmed", "finalized")


WRONG_CHAIN = "The transaction is on another network than the one asked for."
NOT_OUR_SWAP = (
    "The transaction is on another network than the one asked for, and is none of the swaps that were offered for this "
    "request, so it can't be told whose payment it is."
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
    """What a request asks for, and what ties a transfer to it. `known_tokens` names the catalogue's, for messages.

    `created_at` is when the request was made; of a swap's delivery, the time before which it can't have been made.
    """

    chain_id: int
    token: str
    symbol: str
    decimals: int
    recipient: str
    created_at: datetime
    claims: Claims
    known_tokens: Mapping[str, str]


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
    """A no that can't change. `arrived` is what reached the recipient all the same, for whoever may accept it.

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
    """It is there, but can't be counted yet. `bound` is what will count once it is deep enough."""

    detail: str
    block: Block | None = None
    confirmations: int = 0
    bound: Bound | None = None


@dataclass(frozen=True)
class Departed:
    """A swap of the request has begun with this transaction. What it delivers is not in it: its provider is asked."""

    block: Block
    confirmations: int


Verdict = Paid | Refused | NotFound | NotYet


def judge(
    terms: Terms, chain_id: int, facts: TransactionFacts | None, head: Head, finality: Finality
) -> Verdict:
    """Return whether the transaction `facts` on `chain_id` pays a request with these `terms`, seen from `head`."""
    if chain_id != terms.chain_id:
        return Refused(FailureCode.WRONG_CHAIN, WRONG_CHAIN)
    if facts is None:
        return NotFound()
    block = _mined(terms, facts)
    if not isinstance(block, Block):
        return block
    arrived = [
        t
        for t in facts.transfers
        if t.recipient == terms.recipient and t.token == terms.token and t.amount > 0
    ]
    if not arrived:
        return _nothing_arrived(terms, facts)
    bound = bind(arrived, terms.claims, block.time)
    if isinstance(bound, Unbound):
        is_unclaimed = bound.code == FailureCode.TRANSACTION_NOT_BOUND
        amount = sum(t.amount for t in arrived) if is_unclaimed else None
        return Refused(bound.code, bound.message, amount, bound.may_be_delivery)
    confirmations = depth(block, head)
    if not finality.is_reached(facts, head):
        return NotYet(_waiting(finality, confirmations), block, confirmations, bound)
    return Paid(bound, block, confirmations)


def judge_departure(terms: Terms, facts: TransactionFacts | None, head: Head) -> Departed | Verdict:
    """Return whether a swap of the request has begun with the transaction `facts` on a chain that was not asked for.

    Nothing is credited by it, so that its depth does not matter: the delivery has to lie deep, wherever it is made.
    """
    if facts is None:
        return NotFound()
    block = _mined(terms, facts)
    if not isinstance(block, Block):
        return block
    if not terms.claims.names_ours:
        return Refused(UNBOUND.code, NOT_OUR_SWAP)
    if terms.claims.names_others:
        return Refused(AMBIGUOUS_SWAP.code, AMBIGUOUS_SWAP.message)
    return Departed(block, depth(block, head))


def departed_here(
    terms: Terms, verdict: Verdict, facts: TransactionFacts | None, head: Head
) -> Departed | Verdict:
    """Return what `verdict` means for a transaction on the requested chain, which may be a swap's beginning as well.

    A swap on one chain mostly delivers in its own transaction, out of its own contract. Where nothing came by that, its
    provider may do it by another one; what came otherwise is the swap's if its provider knows of it.
    """
    claims = terms.claims
    is_open = isinstance(verdict, Refused) and (verdict.code in _NOTHING_CAME or verdict.may_be_delivery)
    if not (is_open and claims.names_ours and claims.delivery is None):
        return verdict
    return judge_departure(terms, facts, head)


def _mined(terms: Terms, facts: TransactionFacts) -> Block | Refused | NotYet:
    """Return the block of a transaction that may count, or what there is to say of it before its money is looked at."""
    if facts.block is None:
        return NotYet("Seen by the network, not in a block yet.")
    if not facts.succeeded:
        return Refused(
            FailureCode.TRANSACTION_REVERTED, "The transaction failed on the chain, so nothing was paid."
        )
    if facts.block.time < terms.created_at - CLOCK_ALLOWANCE:
        older_than = "payment request" if terms.claims.delivery is None else "swap that it is said to deliver"
        return Refused(FailureCode.TRANSACTION_TOO_OLD, f"The transaction is older than the {older_than}.")
    return facts.block


def depth(block: Block, head: Head) -> int:
    """Return how many blocks confirm `block`, itself counted; 0 where the head runs behind it."""
    return max(head.latest - block.number + 1, 0)


def _nothing_arrived(terms: Terms, facts: TransactionFacts) -> Refused:
    """Say what went elsewhere or came as something else, where that can be told."""
    if terms.token == "" and not facts.is_complete:
        message = "The money may have moved inside a contract's call, and no node here can look into those."
        return Refused(FailureCode.NOT_VERIFIABLE, message)
    other = next((t for t in facts.transfers if t.recipient == terms.recipient and t.amount > 0), None)
    if other is not None:
        paid_with = terms.known_tokens.get(other.token, "another token")
        return Refused(FailureCode.WRONG_TOKEN, f"It paid {paid_with} instead of {terms.symbol}.")
    elsewhere = next((t for t in facts.transfers if t.token == terms.token and t.amount > 0), None)
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
