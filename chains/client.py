"""The narrow interface between the service and a chain: what may be asked, and the one form of the answers.

A client speaks for one chain. It returns facts and never verdicts: whether a request is paid is judged elsewhere, by a
pure function over these dataclasses. "Not there" is a value (`None`); whatever prevents a trustworthy answer (a node
that is down, lagging, rate-limiting or contradicting itself) is a `ChainError`. A family of chains has one class that
satisfies `ChainClient`; its `make_client` returns one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


class ChainError(Exception):
    """No usable answer came from the chain's nodes. `permanent` means that asking again can't help.

    `retry_after` is in seconds, where a node named a time.
    """

    def __init__(self, message: str, *, permanent: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.retry_after = retry_after


class Refusal(StrEnum):
    """Why a transfer can't be built for this wallet at this moment."""

    INSUFFICIENT_FUNDS = "insufficient_funds"
    INSUFFICIENT_GAS = "insufficient_gas"
    WOULD_FAIL = "transaction_would_fail"


class TransferRefused(Exception):
    """The transfer would fail if it were signed now.

    `missing` is what the wallet lacks, in base units of the token (funds) or the native coin (gas); `note` is the
    node's word for anything else.
    """

    def __init__(self, refusal: Refusal, *, missing: int = 0, note: str = "") -> None:
        super().__init__(f"{refusal}: {note or missing}")
        self.refusal = refusal
        self.missing = missing
        self.note = note


@dataclass(frozen=True)
class Transfer:
    """Money that moved inside one transaction, as the chain itself records it. Amounts are in base units.

    `slot` is the transfer's place in the transaction, so that each transfer is consumed once: the log's position in its
    own receipt (EVM token), `value` or the inner call's path (EVM native coin), the instruction's path (Solana: `2`, or
    `2.5` for an inner instruction, or `gain.3` for lamports that the account of the fourth key gained without one).
    `token` is the contract's or mint's address, empty for the native coin. `sender` is
    whose balance fell (EVM: the log's `from`), empty where the tokens were minted or the chain does not say. `amount`
    is what arrived.

    What follows says who may claim the transfer. A field that could not be proved keeps its default, which claims
    nothing.

    - `references`: the 16-byte references of the call or top-level instruction that made this very transfer.
    - `made_by`: the account that itself made the transfer: it signed the transaction and called the token directly, a
      complete trace shows its call, or (Solana) it is the authority of a top-level instruction. Empty for what a
      contract or program moved on its behalf.
    - `claimable`: how much of `amount` a reference or a proof can claim, at most what that call or instruction names;
      None means all of it.
    - `within`: the places, among the transaction's `mentions`, of the calls that enclose this transfer.
    - `account`, `gain` (Solana): the token account that received it (the recipient itself for SOL), and that account's
      own gain in the whole transaction. All credits of one transaction to one account are at most its gain.
    """

    slot: str
    token: str
    sender: str
    recipient: str
    amount: int
    references: tuple[bytes, ...] = ()
    made_by: str = ""
    claimable: int | None = None
    within: tuple[int, ...] = ()
    account: str = ""
    gain: int | None = None


@dataclass(frozen=True)
class Block:
    """The block (on Solana the slot) a transaction stands in; `time` is the block's own, in UTC."""

    number: int
    hash: str
    time: datetime


@dataclass(frozen=True)
class Mention:
    """Input that a watched contract or program received from the payer, or (`is_log`) a log that it wrote.

    `data` is the call's whole input, the instruction's data or, for a log, its topics followed by its data. Routing
    providers' ids are looked for here, and nowhere else.
    """

    contract: str
    data: bytes
    is_log: bool = False


@dataclass(frozen=True)
class TransactionFacts:
    """What the chain knows of one transaction.

    - `block` is None while the transaction is not mined. Then `transfers` is empty, and `intended` holds what its own
      bytes would move (a direct transfer of a token or of native coin, with its reference): a promise, not a payment.
    - `nonce` is the sender's (EVM). A replacement shares it. `effect` is a digest of what the transaction asks for
      (recipient, value and data, without fees): equal effects mean that one is a speed-up of the other. Empty where the
      chain has no replacements.
    - `commitment` is Solana's own word: `confirmed` or `finalized`.
    - `is_complete` is False where money may have moved in calls that could not be read (no trace, or an account of
      unknown code). What is missing among `transfers`, their `references` or `made_by` is then not proved missing.
    - `is_readable` is False where the receipt or the block's evidence of a mined transaction is too large or too
      malformed to read. Nothing else about it is then known.
    - `mentions` are the calls and logs of the contracts that the caller asked about.
    """

    hash: str
    sender: str
    nonce: int | None
    block: Block | None
    succeeded: bool
    transfers: tuple[Transfer, ...]
    commitment: str | None = None
    is_complete: bool = True
    mentions: tuple[Mention, ...] = ()
    intended: tuple[Transfer, ...] = ()
    effect: str = ""
    is_readable: bool = True


@dataclass(frozen=True)
class Head:
    """How far the chain has come: the newest block, and the newest that its own rules call safe and final."""

    latest: int
    safe: int | None = None
    finalized: int | None = None


@dataclass(frozen=True)
class Snapshot:
    """One look at a chain: its head, and each transaction asked for (None where healthy nodes do not know it).

    `contradicted` names those of which there is no usable answer, since the nodes tell different things or none can
    show what it did; among the transactions they stand as not mined or unknown.
    """

    head: Head
    transactions: Mapping[str, TransactionFacts | None]
    contradicted: frozenset[str] = frozenset()


@dataclass(frozen=True)
class EvmCall:
    """A call that a wallet is to make: `value` in wei, `gas` the limit that whoever made the call advises."""

    to: str
    data: bytes
    value: int = 0
    gas: int | None = None


@dataclass(frozen=True)
class SolanaTransaction:
    """A whole Solana transaction, as a routing provider serialised it, that a wallet is to sign."""

    serialized: bytes


@dataclass(frozen=True)
class SolanaInstruction:
    """One instruction: accounts are (key, is signer, is writable)."""

    program: str
    accounts: tuple[tuple[str, bool, bool], ...]
    data: bytes


@dataclass(frozen=True)
class SolanaInstructions:
    """Instructions that are still to be made a transaction, and the lookup tables that shorten it."""

    instructions: tuple[SolanaInstruction, ...]
    lookup_tables: tuple[str, ...] = ()


Action = EvmCall | SolanaTransaction | SolanaInstructions


@dataclass(frozen=True)
class Spending:
    """What an action may take from the wallet that signs it: base units of a token, empty for the native coin.

    The native coin that the action takes beyond that (a bridge's own fee) is `extra_native`.
    """

    token: str
    amount: int
    extra_native: int = 0


@dataclass(frozen=True)
class TokenMetadata:
    """What a token's contract or mint says of itself; `symbol` is None where the chain keeps none (Solana)."""

    symbol: str | None
    decimals: int


@dataclass(frozen=True)
class Watch:
    """A payment to look out for whose hash nobody has submitted: `token` to `recipient`, carrying `reference`."""

    reference: bytes
    token: str
    recipient: str


@dataclass(frozen=True)
class Discovery:
    """What was found: (reference, transaction hash) pairs, and where to go on from next time.

    A pair is a transfer of the watched token to the watched recipient with the reference, or a transaction that brought
    such tokens, has the reference in its input, and could not be read fully. `unreadable` counts the pairs of a block
    and a recipient whose logs no node shows; they were passed over.
    """

    found: tuple[tuple[bytes, str], ...]
    next_block: int
    unreadable: int = 0


@dataclass(frozen=True)
class SearchLimits:
    """How `discover` searches a chain, and how much of it at once.

    `by_block`: a search covers a range of blocks for all of its watches (EVM logs). Otherwise it looks each watch up by
    itself, at any height (Solana); `since_block` and `next_block` then count watches, and 0 means that all were looked
    up. `watches` is the most watches of one search, `searches` the most searches of the chain in one pass.
    """

    by_block: bool
    watches: int
    searches: int


class NodeState(StrEnum):
    """What a node was last known to be."""

    UNASKED = "unasked"
    ANSWERING = "answering"
    LIMITING = "limiting"
    LAGGING = "lagging"
    WRONG_CHAIN = "wrong_chain"
    CONTRADICTED = "contradicted"
    FAILING = "failing"


@dataclass(frozen=True)
class NodeHealth:
    """How one node does, as this process sees it; `head` is the highest block it told of, `since` in UTC."""

    host: str
    state: NodeState
    head: int | None
    last_error: str
    since: datetime


class ChainClient(Protocol):
    """One chain, asked through its nodes. Every method but `health` raises ChainError when no usable answer came."""

    def health(self) -> list[NodeHealth]:
        """Return how each node does, in the catalogue's order, without asking any. Hosts alone are told: no keys."""
        ...

    def chain_id(self) -> int:
        """Return the chain id that the node reports (on Solana: the catalogue's number of the cluster it serves)."""
        ...

    def look_up(
        self, transaction_hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        """Return the head and these transactions in a number of round trips that does not grow with each of them.

        `with_finality` also asks for the safe and finalized blocks. `mentioning` names the contracts or programs whose
        calls and logs the facts are to hold.
        """
        ...

    def build_transfer(
        self, *, token: str, sender: str, recipient: str, amount: int, reference: bytes | None
    ) -> dict[str, Any] | str:
        """Return the unsigned transaction that moves `amount` base units, in the form that wallets take (contract 8).

        It was simulated: raises TransferRefused if the wallet lacks the funds or the gas, or if it would fail.
        """
        ...

    def prepare(
        self, action: Action, *, sender: str, spending: Spending, simulate: bool = True
    ) -> dict[str, Any] | str:
        """Return the unsigned transaction of an action that somebody else made, in the form that wallets take.

        It was simulated: raises TransferRefused if the wallet lacks the funds or the gas, if it would fail or, where
        the simulation tells, take more from the wallet than `spending`. Without `simulate` (a call that can only
        succeed after another one) the action's own gas limit stands and nothing is refused.
        """
        ...

    def balances(self, owner: str, tokens: Sequence[str]) -> Mapping[str, int]:
        """Return how many base units `owner` has of each token ("" the native coin), zero included.

        Few round trips, however many tokens. A token whose contract gives no sound answer is left out.
        """
        ...

    def allowance(self, token: str, owner: str, spender: str) -> int:
        """Return how many base units `spender` may move of the owner's (ERC-20); 2^256 - 1 where no leave is asked."""
        ...

    def usual_fee(self, token: str) -> int:
        """Return what a direct transfer of the token ("" the native coin) costs now, in base units of the coin.

        An estimate for people: an account that has to be opened on the way, or what a rollup pays to its parent chain,
        is not in it.
        """
        ...

    def tells_inner_calls(self) -> bool:
        """Return whether native coin that arrives by a contract's inner call can be proved here (by a node's trace)."""
        ...

    def may_be_unverifiable(self, sender: str) -> bool:
        """Return whether the nodes might not tell what a payment of this account paid; raises ChainError.

        True for an account with code where no node tells inner calls: what it sends may need the merchant's acceptance.
        """
        ...

    def token_metadata(self, addresses: Sequence[str]) -> list[TokenMetadata]:
        """Return what each contract says of itself, in order."""
        ...

    def recipient_problem(self, recipient: str) -> str | None:
        """Return why money must not be sent to this well-formed address, in a sentence, or None if it may."""
        ...

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        """Return how many transactions of each sender are mined (its next nonce); empty where chains have no nonces."""
        ...

    def transaction_of_nonce(self, sender: str, nonce: int) -> str | None:
        """Return the hash of the sender's transaction with this nonce, mined or waiting; None where no node can tell.

        It is a hint where to look: one node's answer is enough, and proves nothing.
        """
        ...

    def is_signed_by(self, address: str, message: str, signature: str) -> bool:
        """Return whether `address` signed `message`: EIP-191 or EIP-1271 (hex) on EVM, ed25519 (base58) on Solana."""
        ...

    def head(self) -> int:
        """Return the height of the newest block (on Solana: the newest confirmed slot)."""
        ...

    def block_at(self, moment: datetime) -> int:
        """Return the height of a block not later than `moment`, near the last such block; 0 where all are later.

        Results are kept: the same moment is looked up once.
        """
        ...

    def search_limits(self) -> SearchLimits:
        """Return how `discover` searches, and how much at once. Nothing is asked."""
        ...

    def discover(
        self, watches: Sequence[Watch], *, since_block: int | None, until_block: int | None = None
    ) -> Discovery:
        """Return transactions that carry a watched reference, mined from `since_block` to `until_block` (or the head).

        The work of one call is bounded; `next_block` says where it ended. It begins with exactly `since_block`, so that
        each call makes progress; without it, near the head. One query serves all watches, however many. See
        `SearchLimits` for chains that are not searched by block.
        """
        ...
