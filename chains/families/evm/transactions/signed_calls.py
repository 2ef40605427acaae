"""Decode the calls that smart accounts execute from the transaction itself, for nodes without traces.

Supported are a Safe's `execTransaction` (also through MultiSend), the user operations of an ERC-4337 bundle, and a
batch that an EIP-7702 account sends to itself. Only the bytes that the account signed are read. Data that doesn't match
its ABI is ignored. `evidence` checks whether the account's code really executes these calls.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from eth_utils.address import to_checksum_address

from chains.families.evm.abi import WORD, selector, topic
from chains.families.evm.transactions.accounts import (
    BATCH_OF_STRUCTS,
    BATCH_OF_THREE_ARRAYS,
    BATCH_OF_TWO_ARRAYS,
    ENTRY_POINTS,
    EXEC_TRANSACTION,
    EXECUTE,
    EXECUTE_BY_MODE,
    EXECUTE_STRUCT,
    MULTI_SENDS,
)

MAX_CALLS = 1000
USER_OPERATION_EVENT = topic("UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)")
BEFORE_EXECUTION = topic("BeforeExecution()")
EXECUTION_SUCCESS = topic("ExecutionSuccess(bytes32,uint256)")
EXECUTION_FAILURE = topic("ExecutionFailure(bytes32,uint256)")
SAFE_TRANSACTION = topic(
    "SafeMultiSigTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes,bytes)"
)
SENT_PREFUND = topic("SentPrefund(address,uint256,bool)")

_MULTI_SEND = selector("multiSend(bytes)")
_OPERATION_V6 = "(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)"
_OPERATION_V7 = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)"
# handleOps of v0.6, and of v0.7 and later. The values are the indexes of `paymasterAndData` in an operation.
_HANDLE_OPS = {
    selector(f"handleOps({_OPERATION_V6}[],address)"): 9,
    selector(f"handleOps({_OPERATION_V7}[],address)"): 7,
}
_MARKER_7702 = bytes.fromhex("7702")  # the init code of an operation by an EIP-7702 account
_CALL, _DELEGATE_CALL = 0, 1


class Way(StrEnum):
    """How a transaction makes an account execute calls."""

    SAFE = "safe"
    OPERATION = "operation"
    BATCH = "batch"


# While accounts of known code execute calls, they log only these events. Any other event shows that an upgrade, a
# module or another operation ran.
_EXPECTED_LOGS = {
    Way.SAFE: {EXECUTION_SUCCESS, SAFE_TRANSACTION},
    Way.OPERATION: {SENT_PREFUND},
    Way.BATCH: set[bytes](),
}


@dataclass(frozen=True)
class Log:
    address: str
    topics: tuple[bytes, ...]
    data: bytes


@dataclass(frozen=True)
class SignedCall:
    """A call that an account executes. `value` is in wei. `data` is a view, which is copied only when it is read."""

    to: str
    value: int
    data: memoryview


@dataclass(frozen=True)
class Execution:
    """All calls that one account executes. The calls can have written only the logs from index `first` up to `end`.

    `selector` is the account's function that executes them. `evidence` checks that the account's code has this
    function.
    """

    account: str
    way: Way
    selector: bytes
    calls: tuple[SignedCall, ...]
    first: int
    end: int


class _Malformed(Exception):
    """The bytes don't match the call's ABI."""


def executions(sender: str, to: str | None, data: bytes, logs: Sequence[Log]) -> tuple[Execution, ...]:
    """Return the calls that smart accounts execute in this transaction; none if its layout is unknown."""
    if to is None:
        return ()
    try:
        if is_bundle(logs):
            found = list(_of_bundle(to, data, logs)) if to in ENTRY_POINTS else []
        elif data[:4] == EXEC_TRANSACTION:
            found = [_of_safe(to, data, logs)]
        else:
            found = [_of_batch(to, data, logs)] if to == sender else []
    except _Malformed:
        return ()
    return tuple(execution for execution in found if _logged_nothing_else(execution, logs))


def is_bundle(logs: Sequence[Log]) -> bool:
    """Whether the transaction's events show that it ran user operations."""
    return any(log.topics[:1] == (USER_OPERATION_EVENT,) for log in logs)


def _logged_nothing_else(execution: Execution, logs: Sequence[Log]) -> bool:
    own = [log.topics[0] if log.topics else b"" for log in logs if log.address == execution.account]
    is_safe = execution.way == Way.SAFE
    return set(own) <= _EXPECTED_LOGS[execution.way] and (not is_safe or own.count(EXECUTION_SUCCESS) == 1)


class _Arguments:
    """ABI-encoded arguments. The arguments are views, so that many pointers to the same bytes need no memory."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def word(self, place: int) -> int:
        word = self._data[place * WORD : (place + 1) * WORD]
        if len(word) != WORD:
            raise _Malformed
        return int.from_bytes(word)

    def address(self, place: int) -> str:
        number = self.word(place)
        if number >> 160:
            raise _Malformed
        return to_checksum_address(number.to_bytes(20))

    def behind(self, place: int) -> "_Arguments":
        """Return the data that the pointer at `place` points to."""
        offset = self.word(place)
        if offset >= len(self._data):
            raise _Malformed
        return _Arguments(self._data[offset:])

    def bytes_at(self, place: int) -> memoryview:
        value = self.behind(place)
        length = value.word(0)
        if length > len(value._data) - WORD:
            raise _Malformed
        return value._data[WORD : WORD + length]

    def array(self, place: int) -> tuple[int, "_Arguments"]:
        """Return the array's length, and its elements or the pointers to them."""
        value = self.behind(place)
        length = value.word(0)
        if length > MAX_CALLS:
            raise _Malformed
        return length, _Arguments(value._data[WORD:])


def _of_safe(safe: str, data: bytes, logs: Sequence[Log]) -> Execution:
    """Return the calls of `execTransaction(to, value, data, operation, safeTxGas, baseGas, gasPrice, …)`.

    A call with a gas refund (gasPrice) is rejected, because the relayer chooses the address that gets the refund.
    """
    arguments = _Arguments(memoryview(data)[4:])
    to, value, inner, operation = (
        arguments.address(0),
        arguments.word(1),
        arguments.bytes_at(2),
        arguments.word(3),
    )
    if arguments.word(6):
        raise _Malformed
    calls: tuple[SignedCall, ...]
    if operation == _CALL:
        calls = (SignedCall(to, value, inner),)
    elif operation == _DELEGATE_CALL and to in MULTI_SENDS and bytes(inner[:4]) == _MULTI_SEND:
        calls = tuple(_of_multi_send(_Arguments(inner[4:]).bytes_at(0)))
    else:
        raise _Malformed
    return Execution(safe, Way.SAFE, EXEC_TRANSACTION, calls, 0, len(logs))


def _of_multi_send(packed: memoryview) -> Iterator[SignedCall]:
    """Yield the calls of a MultiSend. Each call is packed as its operation, address, value, length and data."""
    at = 0
    for _ in range(MAX_CALLS):
        if at == len(packed):
            return
        operation, to = packed[at], packed[at + 1 : at + 21]
        value, length = (int.from_bytes(packed[at + start : at + start + WORD]) for start in (21, 53))
        data = packed[at + 85 : at + 85 + length]
        if len(packed) < at + 85 or len(data) != length or operation != _CALL:
            raise _Malformed
        yield SignedCall(to_checksum_address(bytes(to)), value, data)
        at += 85 + length
    raise _Malformed


def _of_batch(account: str, data: bytes, logs: Sequence[Log]) -> Execution:
    """Return the calls that an EIP-7702 account executes by a call to itself."""
    return Execution(
        account, Way.BATCH, data[:4], tuple(_of_account(memoryview(data))), first=0, end=len(logs)
    )


def _of_bundle(entry_point: str, data: bytes, logs: Sequence[Log]) -> Iterator[Execution]:
    """Yield the calls of each operation of `handleOps(ops, beneficiary)`, with the range of its logs.

    The EntryPoint logs BeforeExecution after validation. The logs of each operation follow, each time with a
    UserOperationEvent at the end. Raises _Malformed if these events don't match the operations in the call.
    """
    if data[:4] not in _HANDLE_OPS:
        raise _Malformed
    count, pointers = _Arguments(memoryview(data)[4:]).array(0)
    operations = [pointers.behind(place) for place in range(count)]
    ends = [place for place, log in enumerate(logs) if log.topics[:1] == (USER_OPERATION_EVENT,)]
    starts = [place for place, log in enumerate(logs) if log.topics[:1] == (BEFORE_EXECUTION,)]
    bounds = [*starts, *ends]
    if any(logs[place].address != entry_point for place in bounds) or len(starts) != 1:
        raise _Malformed
    if len(ends) != count or bounds != sorted(bounds):
        raise _Malformed
    accounts = Counter(operation.address(0) for operation in operations)
    total = 0
    for operation, first, end in zip(operations, bounds, ends, strict=False):
        account = operation.address(0)
        has_succeeded = _succeeded(account, operation.word(1), logs[end])
        # A paymaster's code can write logs within the range, and another operation of the account may change its code.
        is_plain = _is_without_code_of_others(operation, _HANDLE_OPS[data[:4]]) and accounts[account] == 1
        if has_succeeded and is_plain:
            call_data = operation.bytes_at(3)
            try:
                calls = tuple(_of_account(call_data))
            except _Malformed:
                continue
            total += len(calls)
            if total > MAX_CALLS:
                raise _Malformed
            yield Execution(account, Way.OPERATION, bytes(call_data[:4]), calls, first, end)


def _is_without_code_of_others(operation: _Arguments, paymaster_at: int) -> bool:
    init_code = bytes(operation.bytes_at(2))
    has_no_code = not init_code or (len(init_code) <= 20 and init_code.rstrip(b"\0") == _MARKER_7702)
    return has_no_code and not operation.bytes_at(paymaster_at)


def _succeeded(account: str, nonce: int, event: Log) -> bool:
    """Whether this operation succeeded. Raises _Malformed if the event belongs to another operation."""
    arguments = _Arguments(memoryview(event.data))
    if len(event.topics) != 4 or event.topics[2] != bytes.fromhex(account[2:]).rjust(WORD, b"\0"):
        raise _Malformed
    if arguments.word(0) != nonce:
        raise _Malformed
    return arguments.word(1) == 1


def _of_account(data: memoryview) -> Iterator[SignedCall]:
    """Yield the calls that an account executes for `data`. Raises _Malformed for an unknown function."""
    known = _EXECUTIONS.get(bytes(data[:4]))
    if known is None:
        raise _Malformed
    yield from known(_Arguments(data[4:]))


def _call(arguments: _Arguments) -> SignedCall:
    return SignedCall(arguments.address(0), arguments.word(1), arguments.bytes_at(2))


def _execute(arguments: _Arguments) -> Iterator[SignedCall]:
    yield _call(arguments)


def _execute_struct(arguments: _Arguments) -> Iterator[SignedCall]:
    yield _call(arguments.behind(0))


def _execute_arrays(*, with_values: bool) -> Callable[[_Arguments], Iterator[SignedCall]]:
    def read(arguments: _Arguments) -> Iterator[SignedCall]:
        count, targets = arguments.array(0)
        value_count, values = arguments.array(1) if with_values else (0, targets)
        data_count, data = arguments.array(2 if with_values else 1)
        if count != data_count or value_count not in (0, count):
            raise _Malformed
        for place in range(count):
            value = values.word(place) if value_count else 0
            yield SignedCall(targets.address(place), value, data.bytes_at(place))

    return read


def _execute_calls(arguments: _Arguments) -> Iterator[SignedCall]:
    count, pointers = arguments.array(0)
    for place in range(count):
        yield _call(pointers.behind(place))


def _execute_by_mode(arguments: _Arguments) -> Iterator[SignedCall]:
    """Yield the calls of ERC-7579's `execute(mode, executionCalldata)`, for the two modes that revert on failure."""
    mode, data = arguments.word(0), arguments.bytes_at(1)
    if mode == 1 << 248:  # a batch
        yield from _execute_calls(_Arguments(data))
    elif mode == 0 and len(data) >= 52:  # a single call: address, value and data, packed
        yield SignedCall(to_checksum_address(bytes(data[:20])), int.from_bytes(data[20:52]), data[52:])
    else:
        raise _Malformed


_EXECUTIONS: dict[bytes, Callable[[_Arguments], Iterator[SignedCall]]] = {
    EXECUTE: _execute,
    EXECUTE_STRUCT: _execute_struct,
    EXECUTE_BY_MODE: _execute_by_mode,
    BATCH_OF_TWO_ARRAYS: _execute_arrays(with_values=False),
    BATCH_OF_THREE_ARRAYS: _execute_arrays(with_values=True),
    BATCH_OF_STRUCTS: _execute_calls,
}
