"""The calls that a payer signed, decoded from the transaction itself, for nodes that offer no traces.

Known are the transaction's own call, what a Safe executes (also through MultiSend), and what the user operations of an
ERC-4337 bundle execute. Of each only what is signed is read: never the bytes around it, a signature, or another
operation. What is laid out otherwise than its ABI says is passed over: such a transfer is then not bound.

Calls are read out in the order in which they are executed. That a call was executed is proved by its log alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from eth_utils.address import to_checksum_address

from chains.clients.evm_calls import WORD, TokenCall, token_call

MOST_CALLS = 1000
# The singletons of ERC-4337, v0.6 to v0.9, at the same address on every chain. Without a trace no other contract's word
# is taken for which operation wrote a log.
ENTRY_POINTS = frozenset(
    {
        "0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789",
        "0x0000000071727De22E5E9d8BAf0edAc6f37da032",
        "0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108",
        "0x433709009B8330FDa32311DF1C2AFA402eD8D009",
    }
)
# keccak256 of UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256), BeforeExecution(),
# ExecutionSuccess(bytes32,uint256) and ExecutionFailure(bytes32,uint256)
USER_OPERATION_EVENT = bytes.fromhex("49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f")
BEFORE_EXECUTION = bytes.fromhex("bb47ee3e183a558b1a2ff0874b079f3fc5478b7454eacf2bfc5af2ff5878f972")
EXECUTION_SUCCESS = bytes.fromhex("442e715f626346e8c54381002da614f62bee8d27386535b2521ec8540898556e")
EXECUTION_FAILURE = bytes.fromhex("23428b18acfb3ea64b08dc0c1d296ea9c09702c09083ca5272e64d115b687d23")

_EXEC_TRANSACTION = bytes.fromhex("6a761202")  # of a Safe
_MULTI_SEND = bytes.fromhex("8d80ff0a")  # multiSend(bytes)
_HANDLE_OPS = {bytes.fromhex("1fad948c"), bytes.fromhex("765e827f")}  # v0.6; v0.7 and later
_CALL, _DELEGATE_CALL = 0, 1


@dataclass(frozen=True)
class Log:
    """A log of the receipt, whatever it tells of."""

    address: str
    topics: tuple[bytes, ...]
    data: bytes


@dataclass(frozen=True)
class SignedCalls:
    """Calls that one payer signed, and the logs (from `first` up to `end`) that can be theirs."""

    calls: tuple[TokenCall, ...]
    first: int
    end: int


class _Malformed(Exception):
    """The bytes are no such call."""


def signed_calls(sender: str, to: str | None, data: bytes, logs: Sequence[Log]) -> tuple[SignedCalls, ...]:
    """Return the token calls that payers signed within this transaction, as far as its shape is known."""
    if to is None:
        return ()
    try:
        if is_bundle(logs):
            return tuple(_of_bundle(to, data, logs)) if to in ENTRY_POINTS else ()
        calls = [_Call(sender, to, memoryview(data))]
        if data[:4] == _EXEC_TRANSACTION and _safe_executed(to, logs):
            calls = list(_of_safe(to, memoryview(data)))
        return (SignedCalls(_token_calls(calls), 0, len(logs)),)
    except _Malformed:
        return ()


def is_bundle(logs: Sequence[Log]) -> bool:
    """Whether user operations ran in the transaction, which their events tell and not whom it called."""
    return any(log.topics[:1] == (USER_OPERATION_EVENT,) for log in logs)


@dataclass(frozen=True)
class _Call:
    sender: str
    to: str
    data: memoryview


class _Arguments:
    """ABI-encoded arguments. Nothing is copied, so that many pointers to the same bytes cost nothing."""

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
        """Return what the pointer at `place` points to."""
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
        """Return how many elements the array has, and the elements (or the pointers to them)."""
        value = self.behind(place)
        length = value.word(0)
        if length > MOST_CALLS:
            raise _Malformed
        return length, _Arguments(value._data[WORD:])


def _token_calls(calls: Sequence[_Call]) -> tuple[TokenCall, ...]:
    found = (token_call(call.sender, call.to, bytes(call.data[:256])) for call in calls)
    return tuple(call for call in found if call is not None)


def _safe_executed(safe: str, logs: Sequence[Log]) -> bool:
    """Whether the Safe tells of one execution, and of no failed one."""
    told = [log.topics[0] for log in logs if log.address == safe and log.topics]
    return told.count(EXECUTION_SUCCESS) == 1 and EXECUTION_FAILURE not in told


def _of_safe(safe: str, data: memoryview) -> Iterator[_Call]:
    """Yield what `execTransaction(to, value, data, operation, …, signatures)` executes."""
    arguments = _Arguments(data[4:])
    yield from _executed(safe, arguments.address(0), arguments.bytes_at(2), arguments.word(3))


def _executed(account: str, to: str, data: memoryview, operation: int) -> Iterator[_Call]:
    if operation == _CALL:
        yield _Call(account, to, data)
    elif operation == _DELEGATE_CALL and bytes(data[:4]) == _MULTI_SEND:
        yield from _of_multi_send(account, _Arguments(data[4:]).bytes_at(0))


def _of_multi_send(account: str, packed: memoryview) -> Iterator[_Call]:
    """Yield the calls of a MultiSend: operation, address, value, length and data of each, without padding."""
    at = 0
    for _ in range(MOST_CALLS):
        if at == len(packed):
            return
        operation, to = packed[at], packed[at + 1 : at + 21]
        length = int.from_bytes(packed[at + 53 : at + 85])
        data = packed[at + 85 : at + 85 + length]
        if len(packed) < at + 85 or len(data) != length:
            raise _Malformed
        if operation == _CALL:
            yield _Call(account, to_checksum_address(bytes(to)), data)
        at += 85 + length
    raise _Malformed


def _of_bundle(entry_point: str, data: bytes, logs: Sequence[Log]) -> Iterator[SignedCalls]:
    """Yield what each operation of `handleOps(ops, beneficiary)` executed, with the logs between its bounds.

    The EntryPoint logs BeforeExecution when all are validated, then each operation's own logs and, at its end, its
    UserOperationEvent. If these do not tell of exactly the operations in the call, nothing is certain.
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
    total = 0
    for operation, first, end in zip(operations, bounds, ends, strict=False):
        account = operation.address(0)
        if _succeeded(account, operation.word(1), logs[end]):
            calls = list(_of_account(account, operation.bytes_at(3)))
            total += len(calls)
            if total > MOST_CALLS:
                raise _Malformed
            yield SignedCalls(_token_calls(calls), first, end)


def _succeeded(account: str, nonce: int, event: Log) -> bool:
    """Whether the event tells that this operation succeeded. Raises _Malformed if it is another operation's."""
    arguments = _Arguments(memoryview(event.data))
    if len(event.topics) != 4 or event.topics[2] != bytes.fromhex(account[2:]).rjust(WORD, b"\0"):
        raise _Malformed
    if arguments.word(0) != nonce:
        raise _Malformed
    return arguments.word(1) == 1


def _of_account(account: str, data: memoryview) -> Iterator[_Call]:
    """Yield what an account executes when it is called with an operation's `callData`; nothing if it can't be told."""
    known = _EXECUTIONS.get(bytes(data[:4]))
    if known is None:
        return
    try:
        calls = list(known(account, _Arguments(data[4:])))
    except _Malformed:
        return
    yield from calls


def _execute(account: str, arguments: _Arguments) -> Iterator[_Call]:
    yield _Call(account, arguments.address(0), arguments.bytes_at(2))


def _execute_with_operation(account: str, arguments: _Arguments) -> Iterator[_Call]:
    yield from _executed(account, arguments.address(0), arguments.bytes_at(2), arguments.word(3))


def _execute_arrays(data_at: int) -> Callable[[str, _Arguments], Iterator[_Call]]:
    def read(account: str, arguments: _Arguments) -> Iterator[_Call]:
        count, targets = arguments.array(0)
        data_count, data = arguments.array(data_at)
        if count != data_count:
            raise _Malformed
        for place in range(count):
            yield _Call(account, targets.address(place), data.bytes_at(place))

    return read


def _execute_calls(account: str, arguments: _Arguments) -> Iterator[_Call]:
    count, pointers = arguments.array(0)
    for place in range(count):
        call = pointers.behind(place)
        yield _Call(account, call.address(0), call.bytes_at(2))


_EXECUTIONS: dict[bytes, Callable[[str, _Arguments], Iterator[_Call]]] = {
    bytes.fromhex("b61d27f6"): _execute,  # execute(address,uint256,bytes)
    bytes.fromhex(
        "7bb37428"
    ): _execute_with_operation,  # executeUserOp(address,uint256,bytes,uint8), of Safe's module
    bytes.fromhex("541d63c8"): _execute_with_operation,  # executeUserOpWithErrorString, of the same
    bytes.fromhex("18dfb3c7"): _execute_arrays(1),  # executeBatch(address[],bytes[])
    bytes.fromhex("47e1da2a"): _execute_arrays(2),  # executeBatch(address[],uint256[],bytes[])
    bytes.fromhex("34fcd5be"): _execute_calls,  # executeBatch((address,uint256,bytes)[])
}
