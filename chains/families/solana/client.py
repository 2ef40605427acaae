"""The client for Solana clusters.

Sources: Solana's RPC HTTP methods, SPL Token and Token-2022, Solana Pay (reference keys), RFC 8032 (ed25519).
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from chains.client import (
    Action,
    Block,
    ChainError,
    Discovery,
    EvmCall,
    FeedAnswer,
    NodeAbilities,
    NodeHealth,
    Refusal,
    SearchLimits,
    Snapshot,
    Spending,
    TokenMetadata,
    TransferRefused,
    Watch,
)
from chains.facts.deposits import CoinsReceived, Deposit, DepositProblem
from chains.facts.proposals import Proposal, ProposalSearch
from chains.facts.searches import Arrivals, LoggedWords
from chains.families.solana import building
from chains.families.solana.accounts import (
    TOKEN_PROGRAMS,
    Account,
    Holding,
    mint_decimals,
    mint_problem,
    read_account,
    read_holding,
    spendable,
    why_not_payable,
)
from chains.families.solana.commitments import ACCOUNTS, CONFIRMED
from chains.families.solana.cosigning.client import CosigningReader
from chains.families.solana.discovery import Finds, ReferenceSearch
from chains.families.solana.results import blockhash, result_of, sequence, value_of, whole
from chains.families.solana.signatures import is_signed_by_key
from chains.families.solana.transactions import lookup
from chains.families.solana.transactions.fees import FeeBook
from chains.families.solana.unsigned_transfers import SIGNATURE_FEE
from chains.families.solana.vetting import preparing
from chains.rpc import quorum
from chains.rpc.json_rpc import HEAD_ALLOWANCE, MAX_BATCH, Call, Failing, Identity, JsonRpc
from chains.rpc.nodes import WrongChain

_GENESIS: Call = ("getGenesisHash", [])
_MAX_ACCOUNTS = 100
_MAX_WATCHES = 1000
_NO_LIMIT = 2**256 - 1

# The known clusters: (network in the catalogue, genesis hash, LI.FI's chain id).
_CLUSTERS = (
    ("", "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d", 1151111081099710),
    ("devnet", "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG", 1151111081099712),
)


class SolanaClient:
    """A client of one Solana cluster. `ChainClient` documents the methods.

    `network` comes from the catalogue. `network` is empty for mainnet, `devnet`, or the name of a private cluster. A
    private cluster's genesis hash is not checked.
    """

    authorizations = None

    def __init__(
        self,
        urls: Sequence[str],
        chain_id: int,
        network: str,
        *,
        head_allowance: int = HEAD_ALLOWANCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chain_id = chain_id
        self._genesis = next((genesis for name, genesis, _ in _CLUSTERS if name == network), None)
        identity = Identity(_GENESIS, self._is_right_cluster, (("getSlot", [CONFIRMED]), whole))
        self._rpc = JsonRpc(urls, identity, head_allowance=head_allowance, clock=clock)
        self.cosigning = CosigningReader(self._rpc)
        self._fees = FeeBook(clock)
        self._failing = Failing()
        self._searches = self._reference_searches()

    def _reference_searches(self) -> Mapping[tuple[str, ...], ReferenceSearch]:
        """Return the searches by the URLs of their nodes: one search for each node if the cluster has a quorum,
        because nodes' lists can differ; otherwise one search for all nodes.
        """
        look_up = partial(self.look_up, with_finality=False)
        if quorum.nodes_needed(self._rpc) == 1:
            return {self._rpc.urls: ReferenceSearch(self._rpc, look_up)}
        return {node.urls: ReferenceSearch(node, look_up) for node in self._rpc.alone()}

    def health(self) -> list[NodeHealth]:
        return self._rpc.health()

    def chain_id(self) -> int:
        """Return the catalogue's number of the cluster that the node serves."""
        genesis = self._rpc.batch([_GENESIS], lambda results: blockhash(result_of(results[0])))
        return next((number for _, known, number in _CLUSTERS if known == genesis), self._chain_id)

    def abilities(self) -> NodeAbilities:
        """Probe this client's only node. `history` counts blocks, not state."""
        calls: list[Call] = [("getSlot", [CONFIRMED]), ("getFirstAvailableBlock", [])]
        head, first = self._rpc.batch(calls, lambda results: [whole(result_of(each)) for each in results])
        self._rpc.batch([_GENESIS] * MAX_BATCH, list)
        return NodeAbilities(head, self._rpc.batch_limit, None, None, max(head - first, 0))

    def look_up(
        self,
        transaction_hashes: Sequence[str],
        *,
        with_finality: bool,
        mentioning: Collection[str] = (),
    ) -> Snapshot:
        """Return the head and these transactions, confirmed by the required number of nodes.

        A transaction that no node can return is `contradicted`.
        """
        unreadable: set[str] = set()

        def query(node: JsonRpc, hashes: Sequence[str]) -> Snapshot:
            node.batch([_GENESIS], self._require_right_cluster)
            snapshot = lookup.look_up(
                node,
                hashes,
                with_finality=with_finality,
                mentioning=mentioning,
                fees=self._fees,
                failing=self._failing,
            )
            unreadable.update(snapshot.contradicted)
            return snapshot

        snapshot = quorum.look_up(self._rpc, transaction_hashes, query)
        known = {name for name, facts in snapshot.transactions.items() if facts and facts.block}
        return replace(snapshot, contradicted=snapshot.contradicted | (unreadable - known))

    def build_transfer(
        self,
        *,
        token: str,
        sender: str,
        recipient: str,
        amount: int,
        reference: bytes | None,
        memo_reference: bytes | None = None,
    ) -> str:
        """Return the unsigned v0 transfer in base64. The transfer is valid for about a minute, as long as its
        blockhash.
        """
        order = building.Order(token, sender, recipient, amount, reference, memo_reference)
        return building.build(self._rpc, order).transaction

    def prepare(self, action: Action, *, sender: str, spending: Spending, simulate: bool = True) -> str:
        """Return the unsigned transaction in base64. Raises TransferRefused."""
        if isinstance(action, EvmCall):
            raise TransferRefused(Refusal.WOULD_FAIL, note="a Solana cluster can't run an EVM contract call")
        return preparing.prepare(self._rpc, action, sender, spending, simulate=simulate)

    def rehearse(
        self,
        call: EvmCall,  # noqa: ARG002 - the interface
        *,
        sender: str,  # noqa: ARG002 - the interface
        spending: Spending,  # noqa: ARG002 - the interface
        after: Sequence[EvmCall] = (),  # noqa: ARG002 - the interface
    ) -> bool:
        """Return False: a Solana cluster can't run an EVM contract call."""
        return False

    def balances(self, owner: str, tokens: Sequence[str]) -> dict[str, int]:
        """In one round trip, return the amount of each token that the owner can spend in one payment."""
        calls: list[Call] = [("getBalance", [owner, CONFIRMED])]
        calls += [
            ("getTokenAccountsByOwner", [owner, {"programId": program}, ACCOUNTS])
            for program in TOKEN_PROGRAMS
        ]
        held = self._rpc.batch(calls, _holdings)
        return {token: held[token] for token in tokens}

    def allowance(self, token: str, owner: str, spender: str) -> int:  # noqa: ARG002 - the interface
        """Return the maximum, because payments on Solana need no approval."""
        return _NO_LIMIT

    def can_prove_internal_transfers(self) -> bool:
        """Return True, because nodes record the inner instructions."""
        return True

    def usual_fee(self, token: str) -> int:  # noqa: ARG002 - the interface
        """Return the fee of one signature in lamports, because a transfer has only one signature."""
        return SIGNATURE_FEE

    def account_deposit(self, token: str, recipient: str) -> int:
        """Return the rent-exempt minimum of a new token account, in lamports; 0 for SOL or an existing account."""
        return building.account_deposit(self._rpc, token, recipient) if token else 0

    def may_be_unverifiable(self, sender: str) -> bool:  # noqa: ARG002 - the interface
        """Return False, because a transaction shows all of its instructions, including inner instructions."""
        return False

    def price_feeds(self, addresses: Sequence[str]) -> list[FeedAnswer]:
        """Return zeros: only EVM chains have price feeds."""
        return [FeedAnswer(0, 0, 0) for _ in addresses]

    def contract_code(self, address: str) -> bytes:  # noqa: ARG002 - the interface
        """Return nothing, because Solana stores a program's code in another account."""
        return b""

    def deposit_problem(
        self,
        deposit: Deposit,  # noqa: ARG002 - the interface
        *,
        recipient: str,  # noqa: ARG002 - the interface
        token: str,  # noqa: ARG002 - the interface
        amount: int,  # noqa: ARG002 - the interface
        is_confirmed: bool = False,  # noqa: ARG002 - the interface
    ) -> DepositProblem:

        return DepositProblem.UNSUPPORTED

    def estimated_gas(self, calls: Sequence[EvmCall]) -> list[int | None]:
        """Return no estimates, because the chain has no deposit addresses to sweep."""
        return [None for _ in calls]

    def holdings(self, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:  # noqa: ARG002 - the interface
        """Return nothing: the chain has no deposit addresses."""
        return {}

    def coins_received(self, *_: Any, **__: Any) -> CoinsReceived:
        raise ChainError("this chain has no deposit addresses", permanent=True)

    def coins_swept(self, *_: Any, **__: Any) -> dict[str, int]:
        raise ChainError("this chain has no deposit addresses", permanent=True)

    def blocks(self, heights: Collection[int]) -> dict[int, Block]:  # noqa: ARG002 - the interface
        raise ChainError("this chain has no deposit addresses", permanent=True)

    def token_metadata(self, addresses: Sequence[str]) -> list[TokenMetadata]:
        """Return the decimals and the problem of each mint. Mints have no symbol. Raises ChainError for other
        accounts.
        """
        chunks = [
            list(addresses[start : start + _MAX_ACCOUNTS])
            for start in range(0, len(addresses), _MAX_ACCOUNTS)
        ]
        calls: list[Call] = [("getMultipleAccounts", [chunk, ACCOUNTS]) for chunk in chunks]
        return self._rpc.batch(calls, lambda results: _metadata(chunks, results)) if calls else []

    def recipient_problem(self, recipient: str) -> str | None:
        """Return why the account at this address can't receive payments. An unused address can receive payments."""
        call: Call = ("getAccountInfo", [recipient, ACCOUNTS])
        return self._rpc.batch([call], lambda results: why_not_payable(read_account(value_of(results[0]))))

    def transaction_counts(self, senders: Sequence[str]) -> dict[str, int]:  # noqa: ARG002 - the interface
        """Return no counts: Solana's transactions have no nonces."""
        return {}

    def transaction_of_nonce(self, sender: str, nonce: int) -> str | None:  # noqa: ARG002 - the interface
        """Return None: Solana's transactions have no nonces."""
        return None

    def may_return_proposals(self, account: str) -> bool:  # noqa: ARG002 - the interface
        """Return False: wallets on Solana return the transaction's signature."""
        return False

    def find_executions(self, wanted: Sequence[Proposal], *, until_block: int) -> ProposalSearch:  # noqa: ARG002 - the interface
        """Return no executions, because Solana has no proposals."""
        return ProposalSearch({}, {})

    def is_signed_by(
        self,
        address: str,
        message: str,
        signature: str,
        *,
        also_at: int | None = None,  # noqa: ARG002 - the interface
    ) -> bool:
        """Whether the key `address` signed the UTF-8 bytes of `message` (ed25519). The signature is 64 bytes in
        base58 or base64.
        """
        return is_signed_by_key(address, message, signature)

    def head(self) -> int:
        """Return the newest confirmed slot. On a cluster with a quorum, it is the lower of two nodes' slots."""

        def read(results: list[Any]) -> int:
            return whole(result_of(results[0]))

        return min(quorum.query_enough(self._rpc, lambda node: node.batch([("getSlot", [CONFIRMED])], read)))

    def block_at(self, moment: datetime) -> int:  # noqa: ARG002 - the interface
        """Return 0, because searches on Solana have no start block: they look up references directly."""
        return 0

    def search_limits(self) -> SearchLimits:
        # Each watch needs a call of its own.
        return SearchLimits(by_block=False, watches=_MAX_WATCHES, searches=1)

    def discover(
        self,
        watches: Sequence[Watch],
        *,
        since_block: int | None,
        until_block: int | None = None,  # noqa: ARG002 - the interface
    ) -> Discovery:
        """Return the transactions that pay with a watched reference.

        `since_block` and `next_block` count watches instead of blocks: each call searches for the next 1,000 watches.
        """
        start = since_block if since_block and since_block < len(watches) else 0
        end = min(start + _MAX_WATCHES, len(watches))
        found, doubtful = self._find(watches[start:end])
        return Discovery(found, end if end < len(watches) else 0, doubtful=doubtful)

    def _find(self, watches: Sequence[Watch]) -> Finds:
        """Return the payments that the search finds; on a cluster with a quorum, what either of two nodes lists."""
        if (search := self._searches.get(self._rpc.urls)) is not None:
            return search.run(watches)
        parts = quorum.query_enough(self._rpc, lambda node: self._searches[node.urls].run(watches))
        found = dict.fromkeys(pair for part in parts for pair in part.found)
        doubtful = dict.fromkeys(pair for part in parts for pair in part.doubtful if pair not in found)
        return Finds(tuple(found), tuple(doubtful))

    def find_in_logs(
        self,
        words: Collection[bytes],  # noqa: ARG002 - the interface
        contracts: Collection[str],  # noqa: ARG002 - the interface
        *,
        since_block: int,  # noqa: ARG002 - the interface
        until_block: int,
    ) -> LoggedWords:
        """Return nothing, because nodes don't index the logs of programs."""
        return LoggedWords((), until_block + 1)

    def find_arrivals(
        self,
        tokens: Mapping[str, str],  # noqa: ARG002 - the interface
        *,
        since_block: int,  # noqa: ARG002 - the interface
        until_block: int,
    ) -> Arrivals:
        """Return nothing: the chain has no deposit addresses."""
        return Arrivals((), until_block + 1)

    def _require_right_cluster(self, results: Sequence[Any]) -> None:
        if not self._is_right_cluster(results[0]):
            raise WrongChain("the node serves a different cluster than before")

    def _is_right_cluster(self, result: Any) -> bool:
        genesis = blockhash(result_of(result))
        return self._genesis is None or genesis == self._genesis


def _metadata(chunks: Sequence[Sequence[str]], results: Sequence[Any]) -> list[TokenMetadata]:
    accounts: list[Any] = []
    for chunk, result in zip(chunks, results, strict=True):
        entries = sequence(value_of(result))
        if len(entries) != len(chunk):
            raise ChainError("the node did not return every account")
        accounts += entries
    return [_mint_metadata(read_account(account)) for account in accounts]


def _mint_metadata(account: Account | None) -> TokenMetadata:
    decimals = mint_decimals(account)
    return TokenMetadata(None, decimals, mint_problem(account) if account else "")


def _holdings(results: Sequence[Any]) -> Counter[str]:
    coins, *accounts = results
    by_mint: defaultdict[str, list[Holding]] = defaultdict(list)
    for holding in (read_holding(entry) for result in accounts for entry in sequence(value_of(result))):
        by_mint[holding.mint].append(holding)
    held = {mint: sum(each.amount for each in spendable(holdings)) for mint, holdings in by_mint.items()}
    return Counter({"": whole(value_of(coins)), **held})
