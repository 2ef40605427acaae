"""Classify a node's response to a trace query: a trace, an unreadable trace, no trace, or a failure."""

import re
from dataclasses import dataclass
from typing import Any

from chains.client import ChainError
from chains.families.evm.quantities import address, data_bytes, hash32, quantity
from chains.families.evm.transactions import binding
from chains.families.evm.transactions.trace import (
    MAX_FRAMES,
    RawFrame,
    RawLog,
    Trace,
    Untraceable,
    read_trace,
)
from chains.families.evm.transactions.transfers import logs_of, token_transfers
from chains.rpc.json_rpc import RpcFault, TooLarge, json_object, result_of

_METHOD_NOT_FOUND = -32601
_METHOD_NOT_SUPPORTED = -32004
_IS_NOT_OFFERED = re.compile(
    r"(method|debug_|namespace|module|tracer).*(not |n't |unsupported|disabled|unavailable)"
    r"|(unsupported|unknown|invalid) (method|tracer)",
    re.IGNORECASE | re.DOTALL,
)
_IS_NO_TRANSACTION = re.compile(r"transaction.* not found|(unknown|no such) transaction", re.IGNORECASE)
_IS_LOST = re.compile(
    r"historical state|missing trie node|state .*(pruned|not available)|reexec", re.IGNORECASE
)
_IS_TOO_MUCH = re.compile(
    r"(execution|tracing|trace).*(timeout|timed out)|response.*(too (large|big)|size|exceed)|context deadline",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Mined:
    """A mined transaction from a node, its receipt, and the hash of its block."""

    transaction: dict[str, Any]
    receipt: dict[str, Any]
    block_hash: str


# Represents a trace that exists but can't be read.
UNREADABLE = Trace((), None)


class Unable(Exception):
    """The node doesn't support traces."""


def trace_of(result: Any, mined: Mined, whole_input_of: frozenset[str], has_traced: bool) -> Trace | None:
    """Return the trace, None if the node has no trace, or UNREADABLE.

    Raises Unable if the node doesn't support traces, and ChainError if the response isn't usable.
    """
    if isinstance(result, RpcFault):
        if _is_no_method(result) or (not has_traced and is_unsupported(result)):
            raise Unable
        if _IS_LOST.search(result.message):
            return None
        raise ChainError(f"the node could not trace: {result.message}")
    try:
        trace = read_trace(result, whole_input_of)
    except Untraceable:
        return UNREADABLE
    if not _is_of(trace, mined.transaction):
        raise ChainError("the node traced another transaction")
    return trace if _shows_transfers(trace, mined.receipt) else UNREADABLE


def is_too_much(result: Any) -> bool:
    """Whether the trace exceeded the node's own limits."""
    return isinstance(result, RpcFault) and bool(_IS_TOO_MUCH.search(result.message))


def is_able(result: Any) -> bool:
    """Whether the response is a trace, or an error that the transaction doesn't exist."""
    if isinstance(result, RpcFault):
        return bool(_IS_NO_TRANSACTION.search(result.message))
    return isinstance(result, dict)


def is_unsupported(result: Any) -> bool:

    return isinstance(result, RpcFault) and (
        _is_no_method(result) or bool(_IS_NOT_OFFERED.search(result.message))
    )


def _is_no_method(fault: RpcFault) -> bool:
    return fault.code in (_METHOD_NOT_FOUND, _METHOD_NOT_SUPPORTED)


def transactions(results: list[Any]) -> list[str]:
    transactions = json_object(result_of(results[0])).get("transactions")
    if not isinstance(transactions, list):
        raise ChainError("the node's block has no list of transactions")
    return [hash32(transaction) for transaction in transactions]


class Compact:
    """Convert each object of a trace, innermost first, to the value to store."""

    def __init__(self, whole_input_of: frozenset[str]) -> None:
        self._whole_input_of = whole_input_of
        self._count = 0

    def __call__(self, part: dict[str, Any]) -> Any:
        self._count += 1
        if self._count > MAX_FRAMES:
            raise TooLarge(f"more than {MAX_FRAMES} calls and logs")
        if "topics" in part:
            return RawLog.read(part)
        return RawFrame(part, self._whole_input_of) if "type" in part else part


def _shows_transfers(trace: Trace, receipt: dict[str, Any]) -> bool:
    logs = logs_of(receipt)
    return binding.is_complete(token_transfers(logs), logs, trace)


def _is_of(trace: Trace, transaction: dict[str, Any]) -> bool:
    if not trace.calls:
        return False
    call, to = trace.calls[0], transaction.get("to")
    return (
        call.sender == address(transaction.get("from"))
        and (to is None or call.to == address(to))
        and call.value == quantity(transaction.get("value"))
        and data_bytes(transaction.get("input")).startswith(call.data)
    )
