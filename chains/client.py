"""The interface between the service and a chain, and the dataclasses it returns.

A client serves one chain. A client returns facts, not decisions: `payments.evaluation` decides from the facts whether a
request is paid. `None` means "not found". If no node sends a usable response (all are down, lag, limit the rate or
contradict each other), a method raises `ChainError`. Each chain family has one implementation of `ChainClient`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from chains.facts.authorizations import AuthorizationClient
from chains.facts.blocks import Block as Block
from chains.facts.cosigning import CosigningClient
from chains.facts.deposits import CoinClient, Deposit, DepositProblem
from chains.facts.failures import ChainError as ChainError
from chains.facts.failures import StateMissing as StateMissing
from chains.facts.nodes import NodeAbilities as NodeAbilities
from chains.facts.nodes import NodeHealth as NodeHealth
from chains.facts.nodes import NodeState as NodeState
from chains.facts.proposals import Proposal, ProposalSearch
from chains.facts.searches import Arrivals, LoggedWords
from chains.facts.searches import Discovery as Discovery
from chains.facts.searches import SearchLimits as SearchLimits
from chains.facts.searches import Watch as Watch
from chains.facts.tokens import FeedAnswer as FeedAnswer
from chains.facts.tokens import TokenMetadata as TokenMetadata


class Refusal(StrEnum):
    """Why a transfer can't be built for this wallet now."""

    INSUFFICIENT_FUNDS = "insufficient_funds"
    INSUFFICIENT_GAS = "insufficient_gas"
    WOULD_FAIL = "transaction_would_fail"


class TransferRefused(Exception):
    """The transfer would fail if it were signed now.

    If the wallet lacks tokens or gas, `missing` is the shortfall in base units of the token or the native coin. For
    other failures, `note` is the node's reason.
    """

    def __init__(self, refusal: Refusal, *, missing: int = 0, note: str = "") -> None:
        super().__init__(f"{refusal}: {note or missing}")
        self.refusal = refusal
        self.missing = missing
        self.note = note


@dataclass(frozen=True)
class Transfer:
    """A transfer inside one transaction, as the chain records it. Amounts are in base units.

    - `token`: the contract's or mint's address, empty for the native coin.
    - `sender`: the account whose balance fell (on EVM the log's `from`). Empty for minted tokens and unknown senders.
    - `amount`: the amount that arrived.
    - `slot`: the transfer's position in the transaction; each position is credited only once. For an EVM token, it is
      the log's position in its receipt; for EVM native coin, `value` or the inner call's path. On Solana, it is the
      instruction's path (`2`, `2.5` if inner), or `gain.3` if the fourth key gained lamports without an instruction.

    The fields below are evidence of who may claim the transfer. A field without proof has its default value.

    - `references`: the 16-byte references in the call or top-level instruction that made this transfer.
    - `made_by`: the account that made the transfer itself; empty if a contract or program moved the tokens on its
      behalf. One of three proofs is enough: the account signed the transaction and called the token directly; a
      complete trace shows the account's call; or, on Solana, the account is the authority of a top-level instruction.
    - `claimable`: the part of `amount` that a reference or a proof can claim. It is at most the amount that the call or
      instruction requests. None means the whole `amount`.
    - `within`: the calls that enclose this transfer, as indexes into the transaction's `mentions`.
    - `account`, `gain` (Solana): the token account that received the transfer (for SOL, the recipient itself), and the
      account's gain in the whole transaction. All credits of a transaction to one account sum to at most its gain.
    - `authorization`: the nonce of the authorization that `sender` signed for this transfer. Only this nonce shows
      which request the transfer pays.
    - `is_marked`: exactly 16 bytes follow the call's arguments (EVM), or the instruction has an extra read-only key
      (Solana). Some system, perhaps not this service, built such a transfer for one order.
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
    is_marked: bool = False
    authorization: bytes | None = None

    @property
    def claimable_amount(self) -> int:
        return self.amount if self.claimable is None else self.claimable


@dataclass(frozen=True)
class Mention:
    """The input of a call to a watched contract or program or, if `is_log`, a log that it wrote.

    `data` is the call's whole input, the instruction's data or, for a log, its topics followed by its data. Only `data`
    is searched for routing providers' IDs.
    """

    contract: str
    data: bytes
    is_log: bool = False


@dataclass(frozen=True)
class TransactionFacts:
    """A transaction's facts on the chain.

    - While the transaction is not mined, `block` is None and `transfers` is empty. If the transaction's bytes are a
      direct transfer of a token or the native coin, `intended` holds this transfer, with its reference.
    - `nonce` is the sender's nonce; a replacement has the same nonce. `effect` is a digest of the recipient, value and
      data, without fees. If two transactions have the same nonce and effect, one is a speed-up of the other. Chains
      without replacements set neither field.
    - `commitment` is Solana's commitment level: `confirmed` or `finalized`.
    - `is_complete` is False if money may have moved in calls that could not be read (no trace, or an account of
      unknown code). `transfers`, `references` and `made_by` may then lack entries.
    - `is_readable` is False if the transaction is mined, but its receipt or block is too large or too malformed to
      read. If False, the other fields are unknown.
    - `is_known_form` is False if the contents could not be parsed: the transaction has a newer type, or the node sent
      garbage.
    - `mentions` are the calls and logs of the contracts that the caller named.
    - `network_fee` is the fee paid, in base units of the native coin; for display, not evidence.
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
    is_known_form: bool = True
    network_fee: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Head:
    """The heights of the latest, the safe and the finalized block."""

    latest: int
    safe: int | None = None
    finalized: int | None = None

    def tagged(self, tag: str) -> int | None:
        """Return the height of the block with this tag; None if the node doesn't know it."""
        return {"safe": self.safe, "finalized": self.finalized}.get(tag, self.latest)


@dataclass(frozen=True)
class Snapshot:
    """The chain's head and the requested transactions (None for a transaction that healthy nodes don't know).

    `contradicted` holds the hashes without a usable result: the nodes disagree, or none can return the details.
    `transactions` shows them as not mined or unknown.
    """

    head: Head
    transactions: Mapping[str, TransactionFacts | None]
    contradicted: frozenset[str] = frozenset()


@dataclass(frozen=True)
class EvmCall:
    """A call for a wallet to send: `value` is in wei, `gas` is the suggested limit."""

    to: str
    data: bytes
    value: int = 0
    gas: int | None = None


@dataclass(frozen=True)
class SolanaTransaction:
    """A whole Solana transaction for a wallet to sign, in a routing provider's serialisation."""

    serialized: bytes


@dataclass(frozen=True)
class SolanaInstruction:
    """One instruction: accounts are (key, is signer, is writable)."""

    program: str
    accounts: tuple[tuple[str, bool, bool], ...]
    data: bytes


@dataclass(frozen=True)
class SolanaInstructions:
    """The instructions of a transaction to build, and address lookup tables that make it shorter."""

    instructions: tuple[SolanaInstruction, ...]
    lookup_tables: tuple[str, ...] = ()


Action = EvmCall | SolanaTransaction | SolanaInstructions


@dataclass(frozen=True)
class Spending:
    """The maximum that an action may spend from the signing wallet, in base units of `token` (empty for the native
    coin).

    `extra_native` is additional native coin, such as a bridge's fee.
    """

    token: str
    amount: int
    extra_native: int = 0


class ChainClient(CoinClient, Protocol):
    """A client of one chain. Every method except `health` raises ChainError if no node sends a usable response.

    One call of a search method does a limited amount of work. The next call continues at the returned `next_block`.
    """

    @property
    def authorizations(self) -> AuthorizationClient | None:
        """Queries about transfers that a payer only signs; None if the chain has no such transfers."""

    @property
    def cosigning(self) -> CosigningClient | None:
        """Queries about transactions that the operator's account signs too; None if the chain has no such
        transactions.
        """

    def health(self) -> list[NodeHealth]:
        """Return the health of each node in the catalogue's order. Queries no node; returns hosts, never full URLs."""

    def chain_id(self) -> int:
        """Return the chain id that the node reports; on Solana, the catalogue's number for the node's cluster."""

    def abilities(self) -> NodeAbilities:
        """Probe this client's only node with a few calls, one of them a large batch."""

    def look_up(
        self, transaction_hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        """Return the head and these transactions. More transactions don't need more round trips.

        `with_finality` also queries the safe and finalized blocks. The calls and logs of the contracts or programs in
        `mentioning` are returned as `mentions`.
        """

    def build_transfer(
        self,
        *,
        token: str,
        sender: str,
        recipient: str,
        amount: int,
        reference: bytes | None,
        memo_reference: bytes | None = None,
    ) -> dict[str, Any] | str:
        """Return the unsigned transaction that moves `amount` base units, in the format that wallets accept.

        `memo_reference` goes into the memo that some Solana token accounts require, but it isn't evidence. The transfer
        is simulated. Raises TransferRefused if the wallet lacks funds or gas, or if the transfer would fail.
        """

    def prepare(
        self, action: Action, *, sender: str, spending: Spending, simulate: bool = True
    ) -> dict[str, Any] | str:
        """Return the unsigned transaction of a third party's action, in the format that wallets accept.

        The action is simulated. Raises TransferRefused if the wallet lacks funds or gas, or if the action would fail or
        spend more than `spending`. Without `simulate`, the action is not simulated, and its own gas limit is used. Use
        this for a call that can only succeed after another call.
        """

    def rehearse(
        self, call: EvmCall, *, sender: str, spending: Spending, after: Sequence[EvmCall] = ()
    ) -> bool:
        """Simulate the call after the other calls of its atomic batch. Return whether a node could simulate it.

        Raises TransferRefused if the call would spend more than `spending`, or if a call of a batch would fail.
        """

    def balances(self, owner: str, tokens: Sequence[str]) -> Mapping[str, int]:
        """Return how many base units of each token `owner` can spend in one payment; "" is the native coin.

        More tokens don't need more round trips. Tokens whose contract returns no valid response are omitted.
        """

    def allowance(self, token: str, owner: str, spender: str) -> int:
        """Return the base units of the owner's tokens that `spender` may move; 2^256 - 1 if no allowance is needed."""

    def usual_fee(self, token: str) -> int:
        """Return the current fee of a direct transfer of the token, in base units of the native coin.

        The fee is an estimate for display, without `account_deposit` or a rollup's L1 fee.
        """

    def account_deposit(self, token: str, recipient: str) -> int:
        """Return the deposit that opens the recipient's account for the token, in base units of the native coin.

        The payer pays the deposit on top of the fee. The deposit is 0 if the account exists or isn't needed.
        """

    def can_prove_internal_transfers(self) -> bool:
        """Return whether a node can trace inner calls, which proves native coin that a contract sends."""

    def may_be_unverifiable(self, sender: str) -> bool:
        """Return whether the nodes may be unable to verify a payment from this account; raises ChainError.

        If no node traces inner calls, payments from an account with code may need the merchant's acceptance.
        """

    def contract_code(self, address: str) -> bytes:
        """Return the contract's code in the latest block; empty if the chain has none at this address."""

    def deposit_problem(
        self, deposit: Deposit, *, recipient: str, token: str, amount: int, is_confirmed: bool = False
    ) -> DepositProblem | None:
        """Return why the deposit address can't be shown; None if money that arrives there reaches the recipient.

        A node simulates a payment of `amount` base units and its sweep. On a chain with a quorum, two nodes have to
        return the same result. If `is_confirmed`, the recipient may be a contract that the merchant controls.
        """

    def holdings(self, places: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
        """Return the balance of each (address, token) in base units; the token "" is the native coin.

        One node is enough, because a sweep sends the whole balance anyway. Tokens without a valid response are omitted.
        """

    def estimated_gas(self, calls: Sequence[EvmCall]) -> Sequence[int | None]:
        """Return one node's gas estimate for each call, sent by any account. None for a call without an estimate."""

    def blocks(self, heights: Collection[int]) -> Mapping[int, Block]:
        """Return the block at each height. On a chain with a quorum, a block is omitted if only one node reports it."""

    def token_metadata(self, addresses: Sequence[str]) -> list[TokenMetadata]:
        """Return the metadata of each contract, in this order."""

    def price_feeds(self, addresses: Sequence[str]) -> list[FeedAnswer]:
        """Return the latest round of each price feed, in the given order."""

    def recipient_problem(self, recipient: str) -> str | None:
        """Return a sentence on why this well-formed address can't receive payments, or None if it can."""

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        """Return each sender's next nonce after its mined transactions; empty if the chain has no nonces."""

    def transaction_of_nonce(self, sender: str, nonce: int) -> str | None:
        """Return the hash of the sender's transaction with this nonce, mined or waiting; None if no node knows it.

        A hint, not proof: one node's response is enough.
        """

    def may_return_proposals(self, account: str) -> bool:
        """Return whether this account's wallet may return a proposal's id instead of a hash; see `Proposal`.

        This is possible for accounts with code, and for new accounts, whose code may be deployed later.
        """

    def find_executions(self, wanted: Sequence[Proposal], *, until_block: int) -> ProposalSearch:
        """Search the blocks up to `until_block` for the transactions that executed these proposals."""

    def is_signed_by(self, address: str, message: str, signature: str, *, also_at: int | None = None) -> bool:
        """Return whether `address` signed `message`: EIP-191 or EIP-1271 (hex) on EVM, ed25519 (base58) on Solana.

        With `also_at`, a contract must also accept the signature in the block of this height.
        """

    def head(self) -> int:
        """Return the newest block (on Solana: the newest confirmed slot); with a quorum, one that two nodes have."""

    def block_at(self, moment: datetime) -> int:
        """Return the height of one of the last blocks before `moment`; 0 if no block is earlier. Results are cached."""

    def search_limits(self) -> SearchLimits:
        """Return the way in which `discover` searches, and its limits. Queries no node."""

    def discover(
        self, watches: Sequence[Watch], *, since_block: int | None, until_block: int | None = None
    ) -> Discovery:
        """Return transactions that contain a watched reference, mined from `since_block` to `until_block`.

        Without `since_block`, the search starts near the head; without `until_block`, it ends at the head. One query
        searches for all watches. `SearchLimits` explains chains without a search by block.
        """

    def find_in_logs(
        self, words: Collection[bytes], contracts: Collection[str], *, since_block: int, until_block: int
    ) -> LoggedWords:
        """Return the transactions in which a log of these contracts contains one of `words` (32 bytes each).

        With a quorum, two nodes' logs are searched. `look_up` confirms the transactions. Chains that are not searched
        by block return nothing.
        """

    def find_arrivals(self, tokens: Mapping[str, str], *, since_block: int, until_block: int) -> Arrivals:
        """Return the amounts that transactions moved to these recipients.

        `tokens` maps each recipient to one token to search for. One query searches for all recipients. With a quorum,
        two nodes' logs are searched. `look_up` confirms the transactions. Other chains than EVM return nothing.
        """
