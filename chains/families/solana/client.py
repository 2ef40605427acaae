"""The client for Solana clusters: instructions turned into facts, and unsigned transfers.

Sources: Solana's RPC HTTP methods, SPL Token and Token-2022, Solana Pay (reference keys), RFC 8032 (ed25519).
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from chains.client import (
    Action,
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
from chains.families.solana import building
from chains.families.solana.accounts import (
    TOKEN_PROGRAMS,
    mint_decimals,
    read_account,
    read_holding,
    why_not_payable,
)
from chains.families.solana.answers import blockhash, sequence, sound, value_of, whole
from chains.families.solana.commitments import ACCOUNTS, CONFIRMED
from chains.families.solana.discovery import ReferenceSearch
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

# The known clusters: (the catalogue's network, the genesis hash, LI.FI's chain id).
_CLUSTERS = (
    ("", "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d", 1151111081099710),
    ("devnet", "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG", 1151111081099712),
)


class SolanaClient:
    """A client of one Solana cluster. `ChainClient` documents the methods.

    `network` is the catalogue's: empty for mainnet, `devnet`, or the name of a private cluster, whose genesis hash is
    not checked.
    """

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
        self._fees = FeeBook(clock)
        self._failing = Failing()
        self._search = ReferenceSearch(self._rpc, lambda hashes: self.look_up(hashes, with_finality=False))

    def health(self) -> list[NodeHealth]:
        """Return each node's health, in the catalogue's order."""
        return self._rpc.health()

    def chain_id(self) -> int:
        """Return the catalogue's number of the cluster that the node serves."""
        genesis = self._rpc.batch([_GENESIS], lambda answers: blockhash(sound(answers[0])))
        return next((number for _, known, number in _CLUSTERS if known == genesis), self._chain_id)

    def abilities(self) -> NodeAbilities:
        """Return what this client's only node can do, by trying it. Its history is of blocks, not of state."""
        calls: list[Call] = [("getSlot", [CONFIRMED]), ("getFirstAvailableBlock", [])]
        head, first = self._rpc.batch(calls, lambda answers: [whole(sound(each)) for each in answers])
        self._rpc.batch([_GENESIS] * MAX_BATCH, list)
        return NodeAbilities(head, self._rpc.batch_limit, None, None, max(head - first, 0))

    def look_up(
        self,
        transaction_hashes: Sequence[str],
        *,
        with_finality: bool,
        mentioning: Collection[str] = (),
    ) -> Snapshot:
        """Return the head and these transactions, confirmed by the required number of nodes; see `lookup.look_up`.

        A transaction that no node can return is `contradicted`.
        """
        unreadable: set[str] = set()

        def look(node: JsonRpc, hashes: Sequence[str]) -> Snapshot:
            node.batch([_GENESIS], self._demand_right_cluster)
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

        snapshot = quorum.look_up(self._rpc, transaction_hashes, look)
        known = {name for name, facts in snapshot.transactions.items() if facts and facts.block}
        return replace(snapshot, contradicted=snapshot.contradicted | (unreadable - known))

    def build_transfer(
        self, *, token: str, sender: str, recipient: str, amount: int, reference: bytes | None
    ) -> str:
        """Return the unsigned v0 transfer in base64, valid as long as its blockhash (about a minute)."""
        order = building.Order(token, sender, recipient, amount, reference)
        return building.build(self._rpc, order)

    def prepare(self, action: Action, *, sender: str, spending: Spending, simulate: bool = True) -> str:
        """Return the unsigned transaction in base64; see `preparing`. Raises if it would spend more than allowed."""
        if isinstance(action, EvmCall):
            raise TransferRefused(
                Refusal.WOULD_FAIL, note="a call to a contract is nothing to a Solana cluster"
            )
        return preparing.prepare(self._rpc, action, sender, spending, simulate=simulate)

    def balances(self, owner: str, tokens: Sequence[str]) -> dict[str, int]:
        """Return the owner's balance of each token over all token accounts that are not frozen, in one round trip."""
        calls: list[Call] = [("getBalance", [owner, CONFIRMED])]
        calls += [
            ("getTokenAccountsByOwner", [owner, {"programId": program}, ACCOUNTS])
            for program in TOKEN_PROGRAMS
        ]
        held = self._rpc.batch(calls, _holdings)
        return {token: held[token] for token in tokens}

    def allowance(self, token: str, owner: str, spender: str) -> int:  # noqa: ARG002 - the interface
        """Return the maximum: on Solana, the spending transaction needs no prior approval."""
        return _NO_LIMIT

    def can_prove_internal_transfers(self) -> bool:
        """Return True: nodes record the instructions that programs call."""
        return True

    def usual_fee(self, token: str) -> int:  # noqa: ARG002 - the interface
        """Return the fee of the one signature that a transfer has, in lamports."""
        return SIGNATURE_FEE

    def may_be_unverifiable(self, sender: str) -> bool:  # noqa: ARG002 - the interface
        """Return False: a transaction shows all of its instructions, inner ones included."""
        return False

    def price_feeds(self, addresses: Sequence[str]) -> list[FeedAnswer]:
        """Return nothing: feeds are read on EVM chains only, and the catalogue accepts none elsewhere."""
        return [FeedAnswer(0, 0, 0) for _ in addresses]

    def token_metadata(self, addresses: Sequence[str]) -> list[TokenMetadata]:
        """Return the decimals of each mint; mints have no symbol. Raises ChainError for anything but a mint."""
        chunks = [
            list(addresses[start : start + _MAX_ACCOUNTS])
            for start in range(0, len(addresses), _MAX_ACCOUNTS)
        ]
        calls: list[Call] = [("getMultipleAccounts", [chunk, ACCOUNTS]) for chunk in chunks]
        return self._rpc.batch(calls, lambda answers: _metadata(chunks, answers)) if calls else []

    def recipient_problem(self, recipient: str) -> str | None:
        """Return why this address can't receive payments, from its account; an unused address can."""
        call: Call = ("getAccountInfo", [recipient, ACCOUNTS])
        return self._rpc.batch([call], lambda answers: why_not_payable(read_account(value_of(answers[0]))))

    def transaction_counts(self, senders: Sequence[str]) -> dict[str, int]:  # noqa: ARG002 - the interface
        """Return nothing: Solana's transactions have no nonces."""
        return {}

    def transaction_of_nonce(self, sender: str, nonce: int) -> str | None:  # noqa: ARG002 - the interface
        """Return None: Solana's transactions have no nonces."""
        return None

    def is_signed_by(self, address: str, message: str, signature: str) -> bool:
        """Return whether the key `address` signed the UTF-8 of `message` (ed25519, 64 bytes in base58 or base64)."""
        return is_signed_by_key(address, message, signature)

    def head(self) -> int:
        """Return the newest confirmed slot."""
        return self._rpc.batch([("getSlot", [CONFIRMED])], lambda answers: whole(sound(answers[0])))

    def block_at(self, moment: datetime) -> int:  # noqa: ARG002 - the interface
        """Return 0: references are looked up directly, so searches have no start block."""
        return 0

    def search_limits(self) -> SearchLimits:
        """Return the limits of one search: each watch needs a call."""
        return SearchLimits(by_block=False, watches=_MAX_WATCHES, searches=1)

    def discover(
        self,
        watches: Sequence[Watch],
        *,
        since_block: int | None,
        until_block: int | None = None,  # noqa: ARG002 - the interface
    ) -> Discovery:
        """Return the transactions that pay with a watched reference; see `discovery`.

        Searches watches instead of blocks: with more than 1,000, each call searches the next 1,000, and `next_block`
        counts watches.
        """
        start = since_block if since_block and since_block < len(watches) else 0
        end = min(start + _MAX_WATCHES, len(watches))
        return Discovery(self._search.run(watches[start:end]), end if end < len(watches) else 0)

    def _demand_right_cluster(self, answers: Sequence[Any]) -> None:
        if not self._is_right_cluster(answers[0]):
            raise WrongChain("the node serves another cluster than before")

    def _is_right_cluster(self, answer: Any) -> bool:
        genesis = blockhash(sound(answer))
        return self._genesis is None or genesis == self._genesis


def _metadata(chunks: Sequence[Sequence[str]], answers: Sequence[Any]) -> list[TokenMetadata]:
    accounts: list[Any] = []
    for chunk, answer in zip(chunks, answers, strict=True):
        entries = sequence(value_of(answer))
        if len(entries) != len(chunk):
            raise ChainError("the node did not answer for every account")
        accounts += entries
    return [TokenMetadata(None, mint_decimals(read_account(account))) for account in accounts]


def _holdings(answers: Sequence[Any]) -> Counter[str]:
    coins, *accounts = answers
    held = Counter({"": whole(value_of(coins))})
    for holding in (read_holding(entry) for answer in accounts for entry in sequence(value_of(answer))):
        held[holding.mint] += 0 if holding.is_frozen else holding.amount
    return held
