"""The client for EVM chains: transactions, receipts and logs turned into facts, and unsigned transfers.

Sources: the Ethereum execution API, ERC-20 (Transfer), EIP-1559 (fees).
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from eth_abi.abi import decode as abi_decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from chains.clients import evm_transfers
from chains.clients.base import (
    Block,
    ChainError,
    Head,
    Refusal,
    Snapshot,
    TokenMetadata,
    TransactionFacts,
    TransferRefused,
)
from chains.clients.quantities import data_bytes, hash32, quantity, to_hex
from chains.clients.rpc import Call, Identity, JsonRpc, RpcFault

_BALANCE_OF = "0x70a08231"
_DECIMALS = "0x313ce567"
_SYMBOL = "0x95d89b41"
_GAS_MARGIN_PERCENT = 125
_BASE_FEE_GROWTH = 2  # a base fee can grow by 12.5 % a block: doubling covers about six full blocks
_FALLBACK_TIP_WEI = 1_000_000_000


class EvmClient:
    """One EVM chain, asked through its nodes. See `ChainClient` for what each method promises."""

    def __init__(self, urls: Sequence[str], chain_id: int) -> None:
        self._chain_id = chain_id
        self._rpc = JsonRpc(urls, Identity(("eth_chainId", []), self._is_right_chain))

    def chain_id(self) -> int:
        """Return the chain id that the node reports."""
        return quantity(self._results([("eth_chainId", [])])[0])

    def look_up(self, transaction_hashes: Sequence[str], *, with_finality: bool) -> Snapshot:
        """Return the head and these transactions in two batches, whatever their number.

        A receipt counts only if the block that the node has now at that height is the very block it names: otherwise
        the chain was reorganised between the two answers, and the transaction is reported as not mined.
        """
        tags = ["latest", "safe", "finalized"] if with_finality else ["latest"]
        calls: list[Call] = [("eth_getBlockByNumber", [tag, False]) for tag in tags]
        for transaction_hash in transaction_hashes:
            calls.append(("eth_getTransactionByHash", [transaction_hash]))
            calls.append(("eth_getTransactionReceipt", [transaction_hash]))
        answers = self._rpc.batch(calls)
        head = _head(answers[: len(tags)])
        found = {
            wanted: _mined_pair(wanted, transaction, receipt)
            for wanted, transaction, receipt in zip(
                transaction_hashes, answers[len(tags) :: 2], answers[len(tags) + 1 :: 2], strict=True
            )
        }
        blocks = self._blocks(
            {quantity(pair[1]["blockNumber"]) for pair in found.values() if pair and pair[1]}
        )
        return Snapshot(head, {wanted: _facts(wanted, pair, blocks) for wanted, pair in found.items()})

    def build_transfer(
        self, *, token: str, sender: str, recipient: str, amount: int, reference: bytes | None
    ) -> dict[str, Any]:
        """Return the unsigned transfer as hex quantities, ready for `eth_sendTransaction` (contract 8)."""
        to, value, data = evm_transfers.encode_transfer(token, recipient, amount, reference)
        call = {"from": sender, "to": to, "data": to_hex(data), "value": hex(value)}
        block, tip, coins, tokens, gas = self._rpc.batch(
            [
                ("eth_getBlockByNumber", ["latest", False]),
                ("eth_maxPriorityFeePerGas", []),
                ("eth_getBalance", [sender, "latest"]),
                _balance_call(token, sender) if token else ("eth_getBalance", [sender, "latest"]),
                ("eth_estimateGas", [call]),
            ]
        )
        held = quantity(tokens) if token == "" else _word(tokens)
        if held < amount:
            raise TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=amount - held)
        max_fee, priority_fee = _fees(block, tip)
        if isinstance(gas, RpcFault):
            raise _refusal(gas, quantity(coins), value, max_fee)
        limit = quantity(gas) * _GAS_MARGIN_PERCENT // 100
        missing_gas = value + limit * max_fee - quantity(coins)
        if missing_gas > 0:
            raise TransferRefused(Refusal.INSUFFICIENT_GAS, missing=missing_gas)
        return {
            "chainId": hex(self._chain_id),
            **call,
            "gas": hex(limit),
            "maxFeePerGas": hex(max_fee),
            "maxPriorityFeePerGas": hex(priority_fee),
        }

    def token_metadata(self, addresses: Sequence[str]) -> list[TokenMetadata]:
        """Return the `symbol()` and `decimals()` of each contract; ChainError if one has none."""
        calls: list[Call] = []
        for address in addresses:
            calls.append(("eth_call", [{"to": address, "data": _SYMBOL}, "latest"]))
            calls.append(("eth_call", [{"to": address, "data": _DECIMALS}, "latest"]))
        answers = self._results(calls)
        return [
            TokenMetadata(_text(symbol), _word(decimals))
            for symbol, decimals in zip(answers[::2], answers[1::2], strict=True)
        ]

    def _is_right_chain(self, answer: Any) -> bool:
        try:
            return quantity(answer) == self._chain_id
        except ChainError:
            return False

    def _results(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of calls none of which may fail."""
        return [_sound(answer) for answer in self._rpc.batch(calls)]

    def _blocks(self, numbers: set[int]) -> dict[int, Block]:
        wanted = sorted(numbers)
        answers = (
            self._results([("eth_getBlockByNumber", [hex(number), False]) for number in wanted])
            if wanted
            else []
        )
        return {
            number: _block(answer)
            for number, answer in zip(wanted, answers, strict=True)
            if answer is not None
        }


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


def _mined_pair(
    wanted: str, transaction: Any, receipt: Any
) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
    """Return the transaction with its receipt, if it has one; None where the node knows no such transaction."""
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
    return transaction, receipt


def _facts(
    wanted: str, pair: tuple[dict[str, Any], dict[str, Any] | None] | None, blocks: dict[int, Block]
) -> TransactionFacts | None:
    if pair is None:
        return None
    transaction, receipt = pair
    sender, nonce = _address(transaction.get("from")), quantity(transaction.get("nonce"))
    block = blocks.get(quantity(receipt["blockNumber"])) if receipt else None
    if receipt is None or block is None or hash32(receipt.get("blockHash")) != block.hash:
        return TransactionFacts(wanted, sender, nonce, None, succeeded=False, transfers=())
    succeeded = quantity(receipt.get("status")) == 1
    transfers = evm_transfers.transfers(transaction, receipt) if succeeded else ()
    return TransactionFacts(wanted, sender, nonce, block, succeeded, transfers)


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


def _address(answer: Any) -> str:
    data = data_bytes(answer)
    if len(data) != 20:
        raise ChainError("the node's answer is not an address")
    return to_checksum_address(data)
