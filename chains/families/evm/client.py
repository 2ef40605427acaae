"""The client for EVM chains, which queries one chain through its nodes.

`chains.rpc.quorum` decides which nodes must agree. The other modules of this package build calls and parse results.
Sources: the Ethereum execution API, ERC-20.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from eth_utils.address import to_checksum_address

from chains.client import (
    Action,
    ChainError,
    Discovery,
    EvmCall,
    FeedAnswer,
    Head,
    NodeAbilities,
    NodeHealth,
    SearchLimits,
    Snapshot,
    Spending,
    TokenMetadata,
    TransactionFacts,
    Watch,
)
from chains.facts.proposals import Proposal, ProposalSearch
from chains.facts.searches import Arrivals, LoggedWords
from chains.families.evm import abilities, balances, feeds, signatures, tokens
from chains.families.evm.building import fees
from chains.families.evm.building import transactions as building
from chains.families.evm.building.simulation import Simulator
from chains.families.evm.calls import encode_transfer
from chains.families.evm.deposits.reader import DepositReader
from chains.families.evm.deposits.sweeps import KnownReceipts
from chains.families.evm.nonces import NonceLookup, transaction_counts
from chains.families.evm.provider import connect
from chains.families.evm.quantities import data_bytes, quantity
from chains.families.evm.search import contract_logs, discovery, proposals
from chains.families.evm.search.authorizations import AuthorizationReader
from chains.families.evm.search.block_times import BlockTime, KeptHeights, last_block_until, read_block_time
from chains.families.evm.transactions import accounts, facts, transfers
from chains.families.evm.transactions.evidence import EvidenceReader, Evidences, Unproven
from chains.families.evm.transactions.oversized import OversizedReader
from chains.families.evm.transactions.tracing import Alone, Mined, Tracer, Traces, traces_of
from chains.rpc import quorum
from chains.rpc.json_rpc import HEAD_ALLOWANCE, Call, Identity, JsonRpc, result_of
from chains.rpc.nodes import WrongChain

_CHAIN_ID: Call = ("eth_chainId", [])
_HEAD: Call = ("eth_blockNumber", [])
_MAX_SIMULATIONS = 2
_MAX_TRIES_ALONE = 3
_UNLIMITED = 2**256 - 1
_NO_RULES = fees.FeeRules()


class EvmClient(DepositReader):
    """A client of one EVM chain. `ChainClient` documents the methods."""

    cosigning = None

    def __init__(
        self,
        urls: Sequence[str],
        chain_id: int,
        *,
        head_allowance: int = HEAD_ALLOWANCE,
        fee_rules: fees.FeeRules = _NO_RULES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chain_id = chain_id
        self._fee_rules = fee_rules
        identity = Identity(_CHAIN_ID, self._is_right_chain, (_HEAD, quantity))
        self._rpc = JsonRpc(urls, identity, head_allowance=head_allowance, clock=clock)
        self._web3 = connect(self._rpc)
        self.authorizations = AuthorizationReader(self._rpc, fee_rules, chain_id)
        alone = Identity(_CHAIN_ID, self._is_right_chain)
        self._simulators = [Simulator(JsonRpc([url], alone, clock=clock), clock=clock) for url in urls]
        self._oversized = {url: OversizedReader(clock=clock) for url in urls}
        self._heights = KeptHeights()
        self._known_receipts = KnownReceipts()
        self._nonces = NonceLookup(self._rpc, clock=clock)
        self._tracers = {url: Tracer(JsonRpc([url], alone, clock=clock), clock=clock) for url in urls}
        self._readers = {url: EvidenceReader(JsonRpc([url], alone, clock=clock)) for url in urls}

    def health(self) -> list[NodeHealth]:
        return self._rpc.health()

    def chain_id(self) -> int:
        return self._web3.eth.chain_id

    def abilities(self) -> NodeAbilities:
        return abilities.find(self._rpc, traces=self.can_prove_internal_transfers())

    def head(self) -> int:
        """Return the newest block. On a chain with a quorum, it is the lower of two nodes' newest blocks."""

        def read(results: list[Any]) -> int:
            return quantity(result_of(results[0]))

        return min(quorum.query_enough(self._rpc, lambda node: node.batch([_HEAD], read)))

    def look_up(
        self, transaction_hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        """Return the head and these transactions, confirmed by the required number of nodes."""
        query = partial(
            self._look_up,
            with_finality=with_finality,
            mentioning=frozenset(map(to_checksum_address, mentioning)),
        )
        return quorum.look_up(self._rpc, transaction_hashes, query)

    def _look_up(
        self,
        node: JsonRpc,
        transaction_hashes: Sequence[str],
        *,
        with_finality: bool,
        mentioning: frozenset[str] = frozenset(),
        alone: Alone | None = None,
    ) -> Snapshot:
        """Read the transactions from one node, in several batches.

        1. The transactions with their receipts.
        2. The traces of the transactions that need one. If a trace is missing, two more batches read account state.
        3. The head, the blocks that the receipts name, and the chain id: the URL may now serve another node.

        A transaction is reported as not mined if its trace is temporarily unavailable. The same holds if the node has a
        different block at the receipt's height, because the chain was reorganised between the batches.

        Oversized transactions are read by a background thread (see `oversized.py`), which passes `alone` and one hash.
        """
        if alone:
            found = facts.fetch_alone(node, transaction_hashes[0], is_last_try=alone.is_last_try)
        else:
            known = self._oversized[node.urls[0]].known(transaction_hashes)
            found = facts.fetch(node, transaction_hashes, known)
        mined = facts.mined(found, transfers.needs_trace)
        traces = facts.checked(found, self._traces(node, mined, mentioning, alone=alone))
        found = facts.set_apart(found, traces.oversized)
        evidences = self._evidences(node, facts.unproven(found, traces, mentioning))
        read_alone: dict[str, TransactionFacts] = {}
        if found.oversized and not alone:
            read_alone = self._read_alone(node, found, mentioning)
            failing = self._oversized[node.urls[0]].failing(found.oversized, mentioning)
            found = facts.without(found, failing - read_alone.keys())
        tags = ["latest", "safe", "finalized"] if with_finality else ["latest"]
        heights = map(hex, facts.heights(found))
        calls: list[Call] = [("eth_getBlockByNumber", [tag, False]) for tag in [*tags, *heights]]

        def read(results: list[Any]) -> Snapshot:
            if not self._is_right_chain(results[0]):
                raise WrongChain("the node serves a different chain than before")
            head, blocks = results[1 : len(tags) + 1], results[len(tags) + 1 :]
            return facts.snapshot(found, traces, evidences, head, blocks, mentioning, read_alone)

        return node.batch([_CHAIN_ID, *calls], read, isolating=True)

    def _read_alone(
        self, node: JsonRpc, found: facts.Found, mentioning: frozenset[str]
    ) -> dict[str, TransactionFacts]:
        """Return the facts of the oversized transactions that a background thread has read. The thread reads the other
        transactions later.
        """
        reader, quiet = self._oversized[node.urls[0]], node.quietly()
        reader.remember(found.oversized)

        def read(transaction_hash: str, failures: int) -> TransactionFacts | None:
            alone = Alone(is_last_try=failures + 1 >= _MAX_TRIES_ALONE)
            snapshot = self._look_up(
                quiet, [transaction_hash], with_finality=False, mentioning=mentioning, alone=alone
            )
            is_usable = transaction_hash not in snapshot.contradicted
            return snapshot.transactions[transaction_hash] if is_usable else None

        blocks = {hash_: block_hash for hash_, (_, block_hash) in found.places.items()}
        is_waiting = found.oversized == found.pairs.keys()
        return reader.facts(blocks, mentioning, read, is_waiting=is_waiting)

    def _traces(
        self, node: JsonRpc, wanted: dict[str, Mined], whole_input_of: frozenset[str], *, alone: Alone | None
    ) -> Traces:
        """Return these traces.

        On a chain with a quorum, only this node is queried. On other chains, every node may be queried.
        """
        own = [self._tracers[url] for url in node.urls]
        if self._rpc.size < quorum.NODES_FOR_QUORUM:
            own += [tracer for tracer in self._tracers.values() if tracer not in own]
        return traces_of(own, wanted, whole_input_of, alone=alone)

    def _evidences(self, node: JsonRpc, wanted: Sequence[Unproven]) -> Evidences:
        (url,) = node.urls
        return self._readers[url].evidences(wanted) if wanted else Evidences({})

    def build_transfer(
        self,
        *,
        token: str,
        sender: str,
        recipient: str,
        amount: int,
        reference: bytes | None,
        memo_reference: bytes | None = None,  # noqa: ARG002 - the interface
    ) -> dict[str, Any]:
        """Return the unsigned transfer as hex quantities, ready for `eth_sendTransaction`.

        A wallet with code needs no coin for gas, because another account may pay for it.
        """
        to, value, data = encode_transfer(token, recipient, amount, reference)
        return self._simulated(EvmCall(to, data, value), sender, token, amount, is_direct=True)

    def prepare(
        self, action: Action, *, sender: str, spending: Spending, simulate: bool = True
    ) -> dict[str, Any]:
        """Return the unsigned call as hex quantities. Raises ValueError if the call's value is wrong."""
        if not isinstance(action, EvmCall):
            raise TypeError(f"{type(action).__name__} is not for an EVM chain")
        building.check_value(action, spending)
        if simulate:
            transaction = self._simulated(action, sender, spending.token, spending.amount)
            self.rehearse(action, sender=sender, spending=spending)
            return transaction
        cost = self._fees(action)
        return building.unsigned(action, sender=sender, chain_id=self._chain_id, gas=action.gas, fees=cost)

    def rehearse(
        self, call: EvmCall, *, sender: str, spending: Spending, after: Sequence[EvmCall] = ()
    ) -> bool:
        usable = (simulator for simulator in self._simulators if simulator.is_usable())
        tried = islice(usable, _MAX_SIMULATIONS)
        return any(simulator.check(call, sender, spending, after=after) for simulator in tried)

    def _simulated(
        self, call: EvmCall, sender: str, token: str, amount: int, *, is_direct: bool = False
    ) -> dict[str, Any]:
        """Return the unsigned call.

        Raises TransferRefused if the wallet can't make the call now. `is_direct` is true for our own transfers, whose
        gas another account may pay.
        """
        prices = fees.price_calls(call, self._fee_rules, self._chain_id)
        calls = [*prices, *building.funding_calls(call, sender, token, with_code=is_direct)]

        def read(results: list[Any]) -> tuple[fees.Prices, building.Funding]:
            known, rest = results[: len(prices)], results[len(prices) :]
            return fees.prices(known), building.funding(token, rest)

        known, funding = self._rpc.batch(calls, read)
        cost = self._completed(known)
        is_token_transfer = is_direct and token != ""
        limit = building.gas_limit(funding, cost, amount, call, is_token_transfer=is_token_transfer)
        return building.unsigned(call, sender=sender, chain_id=self._chain_id, gas=limit, fees=cost)

    def _fees(self, call: EvmCall) -> fees.Fees:

        calls = fees.price_calls(call, self._fee_rules, self._chain_id)
        return self._completed(self._rpc.batch(calls, fees.prices))

    def _completed(self, known: fees.Prices) -> fees.Fees:
        """Return the fees at these prices. If a price is missing, query it first."""
        calls = fees.fallback_calls(known)
        if not calls:
            return fees.fees(known, [], self._fee_rules)
        return self._rpc.batch(calls, lambda results: fees.fees(known, results, self._fee_rules))

    def balances(self, owner: str, tokens: Sequence[str]) -> dict[str, int]:
        failure: ChainError | None = None
        for node in self._rpc.each():
            try:
                return balances.balances(node, owner, tokens)
            except ChainError as error:
                failure = error
        raise failure or ChainError("no node sent a usable response")

    def allowance(self, token: str, owner: str, spender: str) -> int:

        if token == "":
            return _UNLIMITED
        call = tokens.allowance_call(token, owner, spender)
        return self._rpc.batch([call], lambda results: tokens.word(results[0]))

    def account_deposit(self, token: str, recipient: str) -> int:  # noqa: ARG002 - the interface
        return 0  # every address can receive tokens

    def can_prove_internal_transfers(self) -> bool:
        """Whether traces can prove an inner call's value. On a chain with a quorum, two nodes must support traces."""
        needed = quorum.nodes_needed(self._rpc)
        offering = (tracer for tracer in self._tracers.values() if tracer.is_offered())
        return sum(1 for _ in islice(offering, needed)) == needed

    def usual_fee(self, token: str) -> int:
        """Return the cost of a transfer with its reference in wei, at the latest block's base fee and the usual tip."""
        return building.usual_fee(token, self._fees(building.usual_transfer(token)))

    def may_be_unverifiable(self, sender: str) -> bool:
        """Whether `sender` has unknown code and no node of the chain supports traces."""
        if self.can_prove_internal_transfers():
            return False
        code = self._web3.eth.get_code(to_checksum_address(sender), "latest")
        return code != b"" and not accounts.is_listed(bytes(code))

    def contract_code(self, address: str) -> bytes:
        return bytes(self._web3.eth.get_code(to_checksum_address(address), "latest"))

    def token_metadata(self, addresses: Sequence[str]) -> list[TokenMetadata]:
        """Return the `symbol()` and `decimals()` of each contract; ChainError if one has none."""
        calls = [call for contract in addresses for call in tokens.metadata_calls(contract)]
        # Parse outside the batch: the node isn't at fault if the contract isn't a token.
        return tokens.metadata(self._rpc.batch(calls, list))

    def price_feeds(self, addresses: Sequence[str]) -> list[FeedAnswer]:
        calls = [call for feed in addresses for call in feeds.feed_calls(feed)]
        return quorum.query_until_agreed(self._rpc, lambda node: node.batch(calls, feeds.feed_answers))

    def recipient_problem(self, recipient: str) -> str | None:  # noqa: ARG002 - the interface
        """Return None: every address can hold coins and tokens."""
        return None

    def transaction_counts(self, senders: Sequence[str]) -> dict[str, int]:
        """Return each sender's next nonce in mined blocks. If the nodes of a quorum disagree, return the lower one."""
        addresses = [to_checksum_address(sender) for sender in senders]
        counts = quorum.query_enough(self._rpc, partial(transaction_counts, addresses))
        return dict(zip(senders, map(min, zip(*counts, strict=True)), strict=True))

    def transaction_of_nonce(self, sender: str, nonce: int) -> str | None:
        """Return the hash of the sender's transaction with this nonce, from the first node that knows it."""
        return self._nonces.transaction(sender, nonce)

    def is_signed_by(self, address: str, message: str, signature: str, *, also_at: int | None = None) -> bool:
        """Whether `address` signed `message` by its key (EIP-191), or its contract accepts the signature (EIP-1271).

        A quorum of nodes queries the contract, because one faulty node could accept a forged signature. With `also_at`,
        the contract must also accept it in the block of this height.
        """
        blocks = ["latest"] if also_at is None else ["latest", hex(also_at)]

        def is_signed_by_contract(node: JsonRpc) -> bool:
            check = partial(signatures.is_signed_by_contract, address, message, signature)
            return all(check(lambda calls: node.batch(calls, list), block) for block in blocks)

        return signatures.is_signed_by_key(address, message, signature) or quorum.query_until_agreed(
            self._rpc, is_signed_by_contract
        )

    def block_at(self, moment: datetime) -> int:
        """Return a height at or before `moment`. On a chain with a quorum, it is the lower of two nodes' heights."""
        time = int(moment.timestamp())

        def find(node: JsonRpc) -> int:
            def block(tag: str) -> BlockTime:
                call: Call = ("eth_getBlockByNumber", [tag, False])
                # Parse outside the batch: a node without old blocks isn't at fault.
                return read_block_time(result_of(node.batch([call], list)[0]))

            return last_block_until(time, block("latest"), lambda height: block(hex(height)))

        return self._heights.get(time, lambda: min(quorum.query_enough(self._rpc, find)))

    def search_limits(self) -> SearchLimits:
        return discovery.LIMITS

    def discover(
        self, watches: Sequence[Watch], *, since_block: int | None, until_block: int | None = None
    ) -> Discovery:
        """Search the recipients' `Transfer` logs for transactions with a watched reference."""
        latest = self.head() if until_block is None else until_block
        blocks = discovery.block_range(since_block, latest)
        if blocks is None:
            return Discovery((), since_block or 0)
        search = discovery.Search(watches)
        search.run(self._rpc, *blocks)
        candidates = search.candidates(self._rpc)
        if not candidates:
            return Discovery((), search.next_block, search.unreadable)
        query = partial(self._look_up, with_finality=False)
        looked_up = quorum.look_up(self._rpc, sorted(candidates), query)
        found = discovery.matches(candidates, looked_up)
        return Discovery(found, search.next_block, search.unreadable)

    def find_in_logs(
        self, words: Collection[bytes], contracts: Collection[str], *, since_block: int, until_block: int
    ) -> LoggedWords:
        return contract_logs.find(self._rpc, words, contracts, since_block, until_block)

    def find_arrivals(self, tokens: Mapping[str, str], *, since_block: int, until_block: int) -> Arrivals:
        return discovery.find_arrivals(self._rpc, tokens, since_block, until_block)

    def may_return_proposals(self, account: str) -> bool:
        calls: list[Call] = [
            (method, [account, "latest"]) for method in ("eth_getCode", "eth_getTransactionCount")
        ]

        def read(results: list[Any]) -> bool:
            code, count = map(result_of, results)
            return data_bytes(code) != b"" or quantity(count) == 0

        return quorum.query_until_agreed(self._rpc, lambda node: node.batch(calls, read))

    def find_executions(self, wanted: Sequence[Proposal], *, until_block: int) -> ProposalSearch:
        """Search the logs for the executions' events. A quorum then confirms them."""
        search = proposals.Search(wanted, until_block)
        search.run(self._rpc)
        hashes = sorted({hash_ for named in search.candidates.values() for hash_ in named})
        contracts = proposals.watched_contracts(search.candidates)
        query = partial(self._look_up, with_finality=False, mentioning=contracts)
        looked_up = quorum.look_up(self._rpc, hashes, query) if hashes else Snapshot(Head(until_block), {})
        found = proposals.executions(search.candidates, looked_up)
        # If an event could not be confirmed, the next search covers its blocks again.
        unclear = {each for each in search.candidates if each not in found}
        next_blocks = {
            each: each.first_block if each in unclear else block
            for each, block in search.next_blocks.items()
            if each not in found
        }
        return ProposalSearch(found, next_blocks, search.unreadable - found.keys())

    def _is_right_chain(self, result: Any) -> bool:
        try:
            return quantity(result) == self._chain_id
        except ChainError:
            return False
