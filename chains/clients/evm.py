"""The client for EVM chains: transactions, receipts and logs turned into facts, and unsigned transfers.

Sources: the Ethereum execution API, ERC-20 (Transfer), EIP-1559 (fees).
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from eth_abi.abi import decode as abi_decode
from eth_abi.exceptions import DecodingError

from chains.clients import agreement, evm_discovery, evm_signatures, evm_transfers
from chains.clients.base import (
    Action,
    Block,
    ChainError,
    Discovery,
    Head,
    NodeHealth,
    Refusal,
    Snapshot,
    Spending,
    TokenMetadata,
    TransactionFacts,
    TransferRefused,
    Watch,
)
from chains.clients.evm_tracing import Mined, Tracer, Traces, traces_of
from chains.clients.nodes import WrongChain
from chains.clients.quantities import address, data_bytes, hash32, quantity, to_hex
from chains.clients.rpc import HEAD_ALLOWANCE, Call, Identity, JsonRpc, RpcFault

NeedsTrace = Callable[[dict[str, Any], dict[str, Any]], bool]

_CHAIN_ID: Call = ("eth_chainId", [])
# Receipts from before Byzantium tell no status; what is not said to have succeeded has not.
_NO_STATUS = "0x0"
_BALANCE_OF = "0x70a08231"
_DECIMALS = "0x313ce567"
_SYMBOL = "0x95d89b41"
_GAS_MARGIN_PERCENT = 125
_BASE_FEE_GROWTH = 2  # a base fee can grow by 12.5 % a block: doubling covers about six full blocks
_FALLBACK_TIP_WEI = 1_000_000_000
# The codes with which nodes say that the transaction itself would fail: reverted (3), refused by the transaction
# pool or the virtual machine. Any other code tells of the node, not of the payment.
_EXECUTION_FAILED = {3, -32000, -32003, -32015}


class EvmClient:
    """One EVM chain, asked through its nodes. See `ChainClient` for what each method promises."""

    def __init__(
        self,
        urls: Sequence[str],
        chain_id: int,
        *,
        head_allowance: int = HEAD_ALLOWANCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chain_id = chain_id
        identity = Identity(_CHAIN_ID, self._is_right_chain, (("eth_blockNumber", []), quantity))
        self._rpc = JsonRpc(urls, identity, head_allowance=head_allowance, clock=clock)
        alone = Identity(_CHAIN_ID, self._is_right_chain)
        self._tracers = {url: Tracer(JsonRpc([url], alone, clock=clock), clock=clock) for url in urls}

    def health(self) -> list[NodeHealth]:
        """Return how each node does, in the catalogue's order."""
        return self._rpc.health()

    def chain_id(self) -> int:
        """Return the chain id that the node reports."""
        return self._rpc.batch([_CHAIN_ID], lambda answers: quantity(_sound(answers[0])))

    def look_up(
        self,
        transaction_hashes: Sequence[str],
        *,
        with_finality: bool,
        mentioning: Collection[str] = (),  # noqa: ARG002 - not read yet
    ) -> Snapshot:
        """Return the head and these transactions, by as many nodes as have to agree; see `_look_up`."""
        return self._agreed_look(transaction_hashes, with_finality, evm_transfers.needs_trace)

    def _agreed_look(self, hashes: Sequence[str], with_finality: bool, needs_trace: NeedsTrace) -> Snapshot:
        return agreement.look_up(
            self._rpc, hashes, lambda node, part: self._look_up(node, part, with_finality, needs_trace)
        )

    def _look_up(
        self, node: JsonRpc, transaction_hashes: Sequence[str], with_finality: bool, needs_trace: NeedsTrace
    ) -> Snapshot:
        """Return what one node says, in two rounds of questions, whatever their number, and one more for traces.

        First the transactions with their receipts, then the traces of those that need one, then the head with the
        blocks that the receipts name, and the chain id once more, since an address may have come to stand for another
        node. A receipt counts only if the block that the node has now at that height is the very block it names:
        otherwise the chain was reorganised between the answers, and the transaction is reported as not mined. So is one
        whose trace could not be had now, though it may be at another time.
        """
        calls: list[Call] = []
        for transaction_hash in transaction_hashes:
            calls.append(("eth_getTransactionByHash", [transaction_hash]))
            calls.append(("eth_getTransactionReceipt", [transaction_hash]))
        found = node.batch(calls, lambda answers: _found(transaction_hashes, answers))
        traces = self._traces(node, found.pairs, needs_trace)
        tags = ["latest", "safe", "finalized"] if with_finality else ["latest"]
        heights = sorted(
            {found_in for pair in found.pairs.values() if (found_in := _height(pair)) is not None}
        )
        calls = [("eth_getBlockByNumber", [tag, False]) for tag in [*tags, *map(hex, heights)]]
        return node.batch(
            [_CHAIN_ID, *calls], lambda answers: self._snapshot(found, traces, len(tags), answers)
        )

    def _snapshot(self, found: "_Found", traces: Traces, tags: int, answers: Sequence[Any]) -> Snapshot:
        if not self._is_right_chain(answers[0]):
            raise WrongChain("the node serves another chain than before")
        return _snapshot(found, traces, answers[1 : tags + 1], answers[tags + 1 :])

    def _traces(self, node: JsonRpc, found: dict[str, "_Pair"], needs_trace: NeedsTrace) -> Traces:
        """Return the traces that are needed. Where nodes have to agree each speaks for itself; else any may tell."""
        wanted = {
            hash_: Mined(pair[0], hash32(pair[1].get("blockHash")))
            for hash_, pair in found.items()
            if pair
            and pair[1]
            and quantity(pair[1].get("status", _NO_STATUS)) == 1
            and needs_trace(pair[0], pair[1])
        }
        own = [self._tracers[url] for url in node.urls]
        if self._rpc.size < agreement.NODES_FOR_AGREEMENT:
            own += [tracer for tracer in self._tracers.values() if tracer not in own]
        return traces_of(own, wanted)

    def build_transfer(
        self, *, token: str, sender: str, recipient: str, amount: int, reference: bytes | None
    ) -> dict[str, Any]:
        """Return the unsigned transfer as hex quantities, ready for `eth_sendTransaction` (contract 8)."""
        to, value, data = evm_transfers.encode_transfer(token, recipient, amount, reference)
        call = {"from": sender, "to": to, "data": to_hex(data), "value": hex(value)}
        calls: list[Call] = [
            ("eth_getBlockByNumber", ["latest", False]),
            ("eth_maxPriorityFeePerGas", []),
            ("eth_getBalance", [sender, "latest"]),
            _balance_call(token, sender) if token else ("eth_getBalance", [sender, "latest"]),
            ("eth_estimateGas", [call]),
        ]
        funding = self._rpc.batch(calls, lambda answers: _funding(token, answers))
        limit = _gas_limit(funding, amount, value)
        return {
            "chainId": hex(self._chain_id),
            **call,
            "gas": hex(limit),
            "maxFeePerGas": hex(funding.max_fee),
            "maxPriorityFeePerGas": hex(funding.priority_fee),
        }

    def prepare(
        self, action: Action, *, sender: str, spending: Spending, simulate: bool = True
    ) -> dict[str, Any] | str:
        """Return the unsigned transaction of an action that somebody else made, simulated."""
        raise NotImplementedError

    def balances(self, owner: str, tokens: Sequence[str]) -> dict[str, int]:
        """Return what `owner` has of each token."""
        raise NotImplementedError

    def allowance(self, token: str, owner: str, spender: str) -> int:
        """Return how much `spender` may move."""
        raise NotImplementedError

    def tells_inner_calls(self) -> bool:
        """Return whether an inner call's value can be proved here."""
        raise NotImplementedError

    def token_metadata(self, addresses: Sequence[str]) -> list[TokenMetadata]:
        """Return the `symbol()` and `decimals()` of each contract; ChainError if one has none."""
        calls: list[Call] = []
        for contract in addresses:
            calls.append(("eth_call", [{"to": contract, "data": _SYMBOL}, "latest"]))
            calls.append(("eth_call", [{"to": contract, "data": _DECIMALS}, "latest"]))
        return self._rpc.batch(calls, _metadata)

    def recipient_problem(self, recipient: str) -> str | None:  # noqa: ARG002 - the interface
        """Return None: any address can hold coins and tokens, and what can't was refused by its form."""
        return None

    def transaction_counts(self, senders: Sequence[str]) -> dict[str, int]:
        """Return each sender's next nonce in mined blocks; the lower where two nodes have to agree and do not."""
        calls: list[Call] = [("eth_getTransactionCount", [sender, "latest"]) for sender in senders]

        def counts(answers: list[Any]) -> list[int]:
            return [quantity(_sound(answer)) for answer in answers]

        said = agreement.ask_enough(self._rpc, lambda node: node.batch(calls, counts))
        return dict(zip(senders, map(min, zip(*said, strict=True)), strict=True))

    def is_signed_by(self, address: str, message: str, signature: str) -> bool:
        """Return whether `address` signed `message` (EIP-191), or as a contract says that it did (EIP-1271)."""
        return evm_signatures.is_signed_by(address, message, signature, self._answers)

    def discover(self, watches: Sequence[Watch], *, since_block: int | None) -> Discovery:
        """Return transactions that carry a watched reference, by the recipients' `Transfer` logs in a bounded range."""
        latest = quantity(self._results([("eth_blockNumber", [])])[0])
        blocks = evm_discovery.block_range(since_block, latest)
        if blocks is None:
            return Discovery((), since_block or 0)
        logs = self._results(evm_discovery.log_questions(watches, *blocks))
        found = self._agreed_look(
            evm_discovery.transaction_hashes(logs), False, evm_discovery.worth_tracing(watches)
        )
        return Discovery(evm_discovery.matches(watches, found.transactions.values()), blocks[1] + 1)

    def _answers(self, calls: Sequence[Call]) -> list[Any]:
        """Return what a node answered to each call, its own errors included."""
        return self._rpc.batch(calls, list)

    def _results(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of calls none of which may fail."""
        return self._rpc.batch(calls, lambda answers: [_sound(answer) for answer in answers])

    def _is_right_chain(self, answer: Any) -> bool:
        try:
            return quantity(answer) == self._chain_id
        except ChainError:
            return False


# A transaction with its receipt, if it has one; None where the node knows no such transaction.
_Pair = tuple[dict[str, Any], dict[str, Any] | None] | None


@dataclass(frozen=True)
class _Funding:
    """What a wallet has (wei, base units of the token), and what a transfer costs; `gas` may be the node's refusal."""

    coins: int
    tokens: int
    gas: int | RpcFault
    max_fee: int
    priority_fee: int


def _sound(answer: Any) -> Any:
    if isinstance(answer, RpcFault):
        raise ChainError(f"the node refused a call: {answer.message}")
    return answer


def _head(answers: Sequence[Any]) -> Head:
    """Return the head; a node that does not know a tag leaves it unknown rather than guessed."""
    latest = _block(_object(_sound(answers[0])))
    numbers = [
        None if isinstance(answer, RpcFault) or answer is None else _block(_object(answer)).number
        for answer in answers[1:]
    ]
    safe, finalized = numbers if numbers else (None, None)
    return Head(latest.number, safe, finalized)


def _block(answer: Any) -> Block:
    block = _object(answer)
    try:
        time = datetime.fromtimestamp(quantity(block.get("timestamp")), UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise ChainError("the node's block has an impossible time") from error
    return Block(quantity(block.get("number")), hash32(block.get("hash")), time)


@dataclass(frozen=True)
class _Found:
    """What a node says of each transaction; `odd` are those that it could say nothing sound of."""

    pairs: dict[str, _Pair]
    odd: frozenset[str]


def _found(transaction_hashes: Sequence[str], answers: list[Any]) -> _Found:
    """Return what was found. One odd answer spoils its own transaction alone; nothing but odd ones, the node."""
    pairs: dict[str, _Pair] = {}
    failure: ChainError | None = None
    for wanted, transaction, receipt in zip(transaction_hashes, answers[::2], answers[1::2], strict=True):
        try:
            pairs[wanted] = _pair(wanted, transaction, receipt)
        except ChainError as error:
            failure = error
    if failure is not None and not pairs:
        raise failure
    return _Found(pairs, frozenset(wanted for wanted in transaction_hashes if wanted not in pairs))


def _pair(wanted: str, transaction: Any, receipt: Any) -> _Pair:
    transaction, receipt = _sound(transaction), _sound(receipt)
    if transaction is None:
        if receipt is not None:
            raise ChainError("the node has a receipt for a transaction that it does not know")
        return None
    transaction = _object(transaction)
    if hash32(transaction.get("hash")) != wanted:
        raise ChainError("the node answered with another transaction")
    if receipt is None or _object(receipt).get("blockNumber") is None:
        return transaction, None
    if hash32(receipt.get("transactionHash")) != wanted:
        raise ChainError("the node answered with another transaction's receipt")
    quantity(receipt["blockNumber"])
    hash32(receipt.get("blockHash"))
    quantity(receipt.get("status", _NO_STATUS))
    return transaction, receipt


def _height(pair: _Pair) -> int | None:
    return quantity(pair[1]["blockNumber"]) if pair and pair[1] else None


def _snapshot(found: _Found, traces: Traces, head: Sequence[Any], blocks: Sequence[Any]) -> Snapshot:
    known = [_block(_sound(answer)) for answer in blocks if answer is not None]
    by_height = {block.number: block for block in known}
    odd = set(found.odd)
    facts: dict[str, TransactionFacts | None] = dict.fromkeys(found.odd)
    for wanted, pair in found.pairs.items():
        try:
            facts[wanted] = _facts(wanted, pair, by_height, traces)
        except ChainError:
            facts[wanted] = None
            odd.add(wanted)
    return Snapshot(_head(head), facts, traces.unanswered | odd)


def _facts(wanted: str, pair: _Pair, blocks: dict[int, Block], traces: Traces) -> TransactionFacts | None:
    if pair is None:
        return None
    transaction, receipt = pair
    sender, nonce = address(transaction.get("from")), quantity(transaction.get("nonce"))
    block = blocks.get(quantity(receipt["blockNumber"])) if receipt else None
    is_there = receipt is not None and block is not None and hash32(receipt.get("blockHash")) == block.hash
    if receipt is None or not is_there or wanted in traces.unanswered:
        return TransactionFacts(wanted, sender, nonce, None, succeeded=False, transfers=())
    succeeded = quantity(receipt.get("status", _NO_STATUS)) == 1
    trace = traces.told.get(wanted)
    transfers = evm_transfers.transfers(transaction, receipt, trace) if succeeded else ()
    known = trace is not None or wanted not in traces.missing
    return TransactionFacts(wanted, sender, nonce, block, succeeded, transfers, inner_calls_known=known)


def _funding(token: str, answers: list[Any]) -> _Funding:
    block, tip, coins, tokens, gas = answers
    max_fee, priority_fee = _fees(block, tip)
    if isinstance(gas, RpcFault) and gas.code not in _EXECUTION_FAILED:
        raise ChainError(f"the node could not simulate: {gas.message}")
    return _Funding(
        coins=quantity(_sound(coins)),
        tokens=_word(tokens) if token else quantity(_sound(tokens)),
        gas=gas if isinstance(gas, RpcFault) else quantity(gas),
        max_fee=max_fee,
        priority_fee=priority_fee,
    )


def _gas_limit(funding: _Funding, amount: int, value: int) -> int:
    """Return the gas limit of a transfer that the wallet can pay for; raises TransferRefused."""
    if funding.tokens < amount:
        raise TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=amount - funding.tokens)
    if isinstance(funding.gas, RpcFault):
        raise _refusal(funding.gas, funding.coins, value, funding.max_fee)
    limit = funding.gas * _GAS_MARGIN_PERCENT // 100
    missing = value + limit * funding.max_fee - funding.coins
    if missing > 0:
        raise TransferRefused(Refusal.INSUFFICIENT_GAS, missing=missing)
    return limit


def _fees(block: Any, tip: Any) -> tuple[int, int]:
    """Return (max fee, priority fee) per gas in wei (EIP-1559); the same figure twice where a chain has no base fee."""
    priority_fee = _FALLBACK_TIP_WEI if isinstance(tip, RpcFault) else quantity(tip)
    base_fee = _object(_sound(block)).get("baseFeePerGas")
    return (quantity(base_fee) * _BASE_FEE_GROWTH if base_fee else 0) + priority_fee, priority_fee


def _refusal(fault: RpcFault, coins: int, value: int, max_fee: int) -> TransferRefused:
    """Return why the node would not estimate: gas where the wallet can't pay for even a plain transfer."""
    plain_transfer = value + 21_000 * max_fee
    if coins < plain_transfer:
        return TransferRefused(Refusal.INSUFFICIENT_GAS, missing=plain_transfer - coins)
    return TransferRefused(Refusal.WOULD_FAIL, note=fault.message)


def _balance_call(token: str, owner: str) -> Call:
    return "eth_call", [{"to": token, "data": _BALANCE_OF + owner[2:].lower().rjust(64, "0")}, "latest"]


def _metadata(answers: list[Any]) -> list[TokenMetadata]:
    return [
        TokenMetadata(_text(_sound(symbol)), _word(decimals))
        for symbol, decimals in zip(answers[::2], answers[1::2], strict=True)
    ]


def _word(answer: Any) -> int:
    """Return the one unsigned integer that a contract's call answered with."""
    data = data_bytes(_sound(answer))
    if len(data) < 32:
        raise ChainError("the contract's answer is not a number: is the token's address right?")
    return int.from_bytes(data[:32])


def _text(answer: Any) -> str:
    """Return a contract's string; some early tokens answer with 32 padded bytes instead."""
    data = data_bytes(answer)
    try:
        return str(abi_decode(["string"], data)[0])
    except (DecodingError, UnicodeDecodeError, OverflowError):
        return data[:32].rstrip(b"\0").decode("utf-8", "replace")


def _object(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise ChainError("the node's answer is not an object")
    return answer
