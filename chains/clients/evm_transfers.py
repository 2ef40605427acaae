"""What moved in an EVM transaction, and which bytes the payer tied to it; pure functions over a node's answers.

For a token what counts is the contract's own `Transfer` log, never the call data (a contract may move less than it was
asked to, or nothing). Call data is read for one thing alone: the reference directly after the arguments of the very
call that wrote the log. Native coin leaves no log: beyond the transaction's own value it is known by a trace alone.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from eth_utils.address import to_checksum_address

from chains.clients import evm_binding
from chains.clients.base import ChainError, Transfer
from chains.clients.evm_calls import REFERENCE_BYTES, TRANSFER, WORD, address_word, reference_at, token_call
from chains.clients.evm_signed_calls import Log, is_bundle, signed_calls
from chains.clients.evm_trace import Trace
from chains.clients.quantities import address, data_bytes, quantity

__all__ = [
    "REFERENCE_BYTES",
    "TRANSFER_TOPIC",
    "encode_transfer",
    "logs_of",
    "needs_trace",
    "token_transfers",
    "transfers",
]

# keccak256("Transfer(address,address,uint256)")
TRANSFER_TOPIC = bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
# Where EIP-7708 is in force, this address logs native coin as if it were a token. It is counted by its value alone.
SYSTEM_ADDRESS = "0xffffFFFfFFffffffffffffffFfFFFfffFFFfFFfE"
_PLAIN_GAS = 21_000
# What the cheapest call that moves value costs is more than this (EIP-2929: 2,600 and 9,000, less a stipend of 2,300).
_IDLE_GAS = 5_000


def encode_transfer(
    token: str, recipient: str, amount: int, reference: bytes | None
) -> tuple[str, int, bytes]:
    """Return (to, value in wei, data) of a direct transfer that carries `reference` (contract 7)."""
    tail = reference or b""
    if token == "":
        return recipient, amount, tail
    return token, 0, TRANSFER + address_word(recipient) + amount.to_bytes(WORD) + tail


def transfers(
    transaction: dict[str, Any],
    receipt: dict[str, Any],
    trace: Trace | None = None,
    *,
    is_trace_unreadable: bool = False,
) -> tuple[Transfer, ...]:
    """Return every transfer that a successful transaction's receipt, value and trace prove.

    `is_trace_unreadable` says that a trace exists and could not be read: then nothing is decoded from the call data in
    its place, and no token's transfer is bound or has a maker.

    A log's slot is its place in its own receipt: the index in the block changes when the block does, and a transfer
    must not be counted twice for having been mined twice.
    """
    logs = logs_of(receipt)
    tokens = token_transfers(logs)
    references = {} if is_trace_unreadable else _references(transaction, logs, tokens, trace)
    to = transaction.get("to")
    called = address(to) if to else None
    pulled = set(tokens)
    if not is_trace_unreadable:
        pulled = evm_binding.pulled(address(transaction.get("from")), called, tokens, logs, trace)
    return (
        *(
            _carrying(
                replace(transfer, made_by="" if place in pulled else transfer.sender), references.get(place)
            )
            for place, transfer in tokens.items()
        ),
        *_own_value(transaction),
        *(_inner_values(trace) if trace else ()),
    )


def token_transfers(logs: Sequence[Log]) -> dict[int, Transfer]:
    """Return the ERC-20 transfers that these logs record, by their places among them."""
    return {
        place: transfer for place, log in enumerate(logs) if (transfer := _token_transfer(log, str(place)))
    }


def needs_trace(transaction: dict[str, Any], receipt: dict[str, Any]) -> bool:
    """Return whether a successful transaction may have moved money in calls that only a trace shows.

    It can't if it ran no code, or if it is a token's `transfer` whose single log tells all. What is malformed is not
    worth a trace: reading it will say so.
    """
    try:
        return not (_ran_no_code(transaction, receipt) or _is_direct(transaction, receipt))
    except ChainError:
        return False


def _references(
    transaction: dict[str, Any], logs: list[Log], tokens: dict[int, Transfer], trace: Trace | None
) -> dict[int, bytes]:
    if not tokens:
        return {}
    if trace is not None:
        return dict(evm_binding.by_trace(tokens, logs, trace))
    sender, to = address(transaction.get("from")), transaction.get("to")
    data = data_bytes(transaction.get("input"))
    signed = signed_calls(sender, address(to) if to else None, data, logs)
    return dict(evm_binding.by_signed_calls(tokens, signed))


def _is_direct(transaction: dict[str, Any], receipt: dict[str, Any]) -> bool:
    """Whether the transaction is a token's transfer, and the one log of it, from payer to payee, is the token's own."""
    to = transaction.get("to")
    if to is None or quantity(transaction.get("value")):
        return False
    sender, data = address(transaction.get("from")), data_bytes(transaction.get("input"))
    call = token_call(sender, address(to), data)
    logs = logs_of(receipt)
    if call is None or is_bundle(logs):
        return False
    moved = [transfer for log in logs if (transfer := _token_transfer(log, ""))]
    reached = [transfer for transfer in moved if transfer.recipient == call.recipient]
    return (
        all(transfer.token == call.token for transfer in moved)
        and [transfer.sender for transfer in reached] == [call.sender]
        and reached[0].amount <= call.amount
    )


def _ran_no_code(transaction: dict[str, Any], receipt: dict[str, Any]) -> bool:
    """Whether the gas used is what a transaction costs of itself (EIP-2028, EIP-7623): nothing was left for code."""
    if transaction.get("to") is None or not isinstance(receipt.get("gasUsed"), str):
        return False
    data, used = data_bytes(transaction.get("input")), quantity(receipt.get("gasUsed"))
    zeros = data.count(0)
    others = len(data) - zeros
    cost, floor = _PLAIN_GAS + 4 * zeros + 16 * others, _PLAIN_GAS + 10 * zeros + 40 * others
    return used == cost or (used == floor and floor - cost < _IDLE_GAS)


def logs_of(receipt: dict[str, Any]) -> list[Log]:
    """Return the logs of a receipt, in the order in which they were written. Raises ChainError."""
    logs = receipt.get("logs")
    if not isinstance(logs, list) or not all(isinstance(log, dict | Log) for log in logs):
        raise ChainError("the node's receipt has no logs")
    return [log if isinstance(log, Log) else read_log(log) for log in logs]


def read_log(log: dict[str, Any]) -> Log:
    """Return a receipt's log. Raises ChainError."""
    topics = log.get("topics")
    if not isinstance(topics, list):
        raise ChainError("the node's log is malformed")
    return Log(
        address(log.get("address")), tuple(data_bytes(topic) for topic in topics), data_bytes(log.get("data"))
    )


def _token_transfer(log: Log, slot: str) -> Transfer | None:
    """Return the ERC-20 transfer that `log` records, if it is one: three topics and one word of data, exactly.

    Any contract may log what it likes, so a log of another shape is passed over and spoils nothing.
    """
    if len(log.topics) != 3 or log.topics[0] != TRANSFER_TOPIC or len(log.data) != WORD:
        return None
    if any(len(topic) != WORD or topic[:12] != bytes(12) for topic in log.topics[1:]):
        return None
    if log.address == SYSTEM_ADDRESS:
        return None
    sender, recipient = (to_checksum_address(topic[12:]) for topic in log.topics[1:])
    return Transfer(slot, log.address, sender, recipient, int.from_bytes(log.data))


def _carrying(transfer: Transfer, reference: bytes | None) -> Transfer:
    return transfer if reference is None else replace(transfer, references=(reference,))


def _own_value(transaction: dict[str, Any]) -> tuple[Transfer, ...]:
    """Return the transaction's own value, whose reference is its data."""
    value, to = quantity(transaction.get("value")), transaction.get("to")
    if value == 0 or to is None:
        return ()
    sender, data = address(transaction.get("from")), data_bytes(transaction.get("input"))
    return (_native("value", sender, address(to), value, data),)


def _inner_values(trace: Trace) -> tuple[Transfer, ...]:
    """Return what moved in inner calls; the first call is the transaction itself, whose value is told apart."""
    return tuple(
        _native(call.slot, call.sender, call.to, call.value, call.data if call.kind == "CALL" else b"")
        for call in trace.calls[1:]
        if call.value and call.sender != call.to
    )


def _native(slot: str, sender: str, recipient: str, value: int, data: bytes) -> Transfer:
    return _carrying(Transfer(slot, "", sender, recipient, value, made_by=sender), reference_at(data, 0))
