"""Without a trace, read evidence from a node's state: the code of accounts before and after a transaction.

`accounts.py` lists the code of accounts that make exactly the calls that their owners signed. To recognise such an
account, its code is read in the transaction's block and in the block before. The following facts show that the code
didn't change in between:

- The account's nonce grew only by this transaction, so the account had no other transaction and no delegation.
- This transaction wrote all logs of the account and its implementation, so no upgrade and no module ran.
- No other operation of the account ran.

If a contract receives native coin, only the amount by which its balance grew in the block counts. If the node lacks the
state, there is no evidence. If the node fails, the transaction is looked up again later.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eth_utils.address import to_checksum_address

from chains.client import ChainError
from chains.families.evm.calls import address_word
from chains.families.evm.quantities import data_bytes, hash32, quantity, to_hex
from chains.families.evm.transactions import accounts
from chains.families.evm.transactions.signed_calls import USER_OPERATION_EVENT, Execution, Way
from chains.rpc.json_rpc import Call, Failing, JsonRpc, RpcFault, Unread, UnreadReason, json_object

MAX_KEPT = 10_000
_METHOD_NOT_FOUND = -32601
_METHOD_NOT_SUPPORTED = -32004
# Messages of nodes that no longer have the state of a block, or never had it.
_IS_UNAVAILABLE = re.compile(
    r"state|trie|prun|archive|reexec|histor|not (available|supported|found)|unsupported|unknown block",
    re.IGNORECASE,
)

# Messages of nodes that may still have the state.
_IS_TEMPORARY = re.compile(
    r"temporar|time(d )?-?out|deadline|overload|capacity|busy|\brate\b|quota|retr(y|ies)|internal",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Unproven:
    """A transaction without a trace, and the accounts whose code must be known.

    `recipient` is the address that receives the transaction's value; empty if no code ran at it.
    """

    hash: str
    sender: str
    block_number: int
    block_hash: str
    executions: tuple[Execution, ...] = ()
    recipient: str = ""

    @property
    def key(self) -> "_Key":
        """The key in the cache.

        The key contains the accounts, because these depend on the contracts that the caller watches.
        """
        return self.hash, self.block_hash, tuple(execution.account for execution in self.executions)


_Key = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True)
class Evidence:
    """The proved facts. `known` are the accounts whose code is proved to make exactly the calls that their owners
    signed.

    `has_code` is None if it is unknown whether the recipient has code. `gain` is the growth of the recipient's native
    balance within the block, in wei.
    """

    known: frozenset[str] = frozenset()
    has_code: bool | None = None
    gain: int = 0


NO_EVIDENCE = Evidence()


@dataclass(frozen=True)
class Evidences:
    """The evidence by transaction hash. `failed` lists the transactions for which no node sent a usable response."""

    found: Mapping[str, Evidence]
    failed: frozenset[str] = frozenset()


class EvidenceReader:
    """Read evidence from one node.

    Results are cached, because a block's state doesn't change. The reader has its own connections, so that missing
    evidence doesn't affect the node's health.
    """

    def __init__(self, node: JsonRpc) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, Evidence] = OrderedDict()
        self._failing = Failing()

    def evidences(self, wanted: Sequence[Unproven]) -> Evidences:
        """Return the evidence on these transactions, with at most two batches."""
        found = self._remembered(wanted)
        cases = [_Case(unproven) for unproven in wanted if unproven.hash not in found]
        cases.sort(key=lambda case: self._failing.includes(case.unproven.hash))
        try:
            for calls_of, read in ((_Case.first_calls, _Case.read), (_Case.second_calls, _Case.read_more)):
                self._query(cases, calls_of, read)
        except ChainError:
            return Evidences(found, frozenset(case.unproven.hash for case in cases))
        read_cases = [case for case in cases if not case.has_failed]
        self._keep(read_cases)
        found |= {case.unproven.hash: case.evidence() for case in read_cases}
        return Evidences(found, frozenset(case.unproven.hash for case in cases if case.has_failed))

    def _query(
        self,
        cases: Sequence["_Case"],
        calls_of: Callable[["_Case"], list[Call]],
        read: Callable[["_Case", list[Any]], None],
    ) -> None:
        queried = [
            (case, calls_of(case)) for case in cases if not case.has_failed and not case.is_unavailable
        ]
        calls = [call for _, theirs in queried for call in theirs]
        results = iter(self._node.batch(calls, list, isolating=True) if calls else [])
        for case, theirs in queried:
            own = [next(results) for _ in theirs]
            if any(isinstance(result, Unread) and result.reason is UnreadReason.FAILED for result in own):
                self._failing.note([case.unproven.hash])
            try:
                read(case, own)
            except _Unavailable:
                case.is_unavailable = True
            except ChainError:
                case.has_failed = True

    def _remembered(self, wanted: Sequence[Unproven]) -> dict[str, Evidence]:
        with self._lock:
            return {
                unproven.hash: kept
                for unproven in wanted
                if (kept := self._kept.get(unproven.key)) is not None
            }

    def _keep(self, cases: Sequence["_Case"]) -> None:
        with self._lock:
            for case in cases:
                if not case.is_unavailable:
                    self._kept[case.unproven.key] = case.evidence()
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)


class _Unavailable(Exception):
    """The node does not have, or does not send, the requested state."""


class _Case:
    def __init__(self, unproven: Unproven) -> None:
        self.unproven = unproven
        self.has_failed = self.is_unavailable = False
        self._accounts = [_Account(execution, unproven) for execution in unproven.executions]
        self._has_code: bool | None = None
        self._gain = 0

    def first_calls(self) -> list[Call]:
        """Return the first round's calls: each account's code, nonce and slots, and the recipient's code and
        balance.
        """
        calls = [call for account in self._accounts for call in account.first_calls()]
        return calls + self._recipient_calls()

    def read(self, results: list[Any]) -> None:
        left = iter(results)
        for account in self._accounts:
            account.read([next(left) for _ in account.first_calls()])
        if self.unproven.recipient:
            before, after, had, has = (_present(result) for result in left)
            self._has_code = bool(data_bytes(before) or data_bytes(after))
            self._gain = quantity(has) - quantity(had)

    def second_calls(self) -> list[Call]:
        """Return the second round's calls: the implementations' code, the block's logs, and the block again."""
        height: Call = ("eth_getBlockByNumber", [hex(self.unproven.block_number), False])
        return [height, *(call for account in self._accounts for call in account.second_calls())]

    def read_more(self, results: list[Any]) -> None:
        # The state was queried by height, so this block must still be the one at that height.
        left = iter(results)
        if hash32(json_object(_present(next(left))).get("hash")) != self.unproven.block_hash:
            raise ChainError("the chain was reorganised between the calls")
        for account in self._accounts:
            account.read_more([next(left) for _ in account.second_calls()])

    def evidence(self) -> Evidence:
        """Return the proved facts; none if the node lacks some of the state."""
        if self.is_unavailable:
            return NO_EVIDENCE
        known = frozenset(account.address for account in self._accounts if account.is_known)
        return Evidence(known, self._has_code, self._gain)

    def _recipient_calls(self) -> list[Call]:
        if not self.unproven.recipient:
            return []
        return [
            (method, [self.unproven.recipient, block])
            for method in ("eth_getCode", "eth_getBalance")
            for block in _blocks(self.unproven)
        ]


class _Account:
    """An account that executed calls. `is_known` becomes true if its code is proved to make exactly these calls."""

    def __init__(self, execution: Execution, unproven: Unproven) -> None:
        self.address = execution.account
        self.is_known = False
        self._execution = execution
        self._unproven = unproven
        self._implementation = ""
        self._is_known_kind = False

    def first_calls(self) -> list[Call]:
        blocks = _blocks(self._unproven)
        slots = {
            Way.SAFE: [accounts.SINGLETON_SLOT, accounts.GUARD_SLOT],
            Way.OPERATION: [accounts.IMPLEMENTATION_SLOT],
            Way.BATCH: [],
        }[self._execution.way]
        return [
            *[("eth_getCode", [self.address, block]) for block in blocks],
            *[("eth_getTransactionCount", [self.address, block]) for block in blocks],
            *[("eth_getStorageAt", [self.address, slot, block]) for slot in slots for block in blocks],
        ]

    def read(self, results: list[Any]) -> None:
        """Store the kind of account, if its code and slots are the same before and after the transaction."""
        code, code_after, nonce, nonce_after, *slots = map(_present, results)
        is_sender = self.address == self._unproven.sender
        words = [data_bytes(slot).rjust(32, b"\0") for slot in slots]
        is_same = (
            data_bytes(code) == data_bytes(code_after)
            and quantity(nonce_after) - quantity(nonce) == int(is_sender)
            and words[::2] == words[1::2]
        )
        if not is_same:
            return
        if self._execution.way == Way.SAFE:
            has_guard = any(words[2])
            is_proxy = accounts.is_safe_proxy(data_bytes(code)) and not has_guard
        else:
            is_proxy = accounts.is_simple_proxy(data_bytes(code))
            ways = accounts.ways_of_delegate(data_bytes(code))
            self._is_known_kind = self._execution.selector in ways
        if is_proxy and words and not any(words[0][:12]):
            self._implementation = to_checksum_address(words[0][12:])
            self._is_known_kind = True

    def second_calls(self) -> list[Call]:
        if not self._is_known_kind:
            return []
        block = {"blockHash": self._unproven.block_hash}
        addresses = [address for address in (self.address, self._implementation) if address]
        of_operations = [to_hex(USER_OPERATION_EVENT), None, to_hex(address_word(self.address))]
        return [
            ("eth_getLogs", [{**block, "address": addresses}]),
            ("eth_getLogs", [{**block, "topics": of_operations}]),
            *[
                ("eth_getCode", [self._implementation, number])
                for number in _blocks(self._unproven)
                if self._implementation
            ],
        ]

    def read_more(self, results: list[Any]) -> None:
        if not self._is_known_kind:
            return
        logs, operations, *codes = map(_present, results)
        # `signed_calls` checks the account's logs in this transaction. The implementation must have no logs.
        is_undisturbed = all(
            hash32(log.get("transactionHash")) == self._unproven.hash
            for log in _logs(logs) + _logs(operations)
        ) and not any(_is_by(log, self._implementation) for log in _logs(logs))
        is_code_known = all(
            self._execution.selector
            in accounts.ways_of_implementation(self._implementation, data_bytes(code))
            for code in codes
        )
        self.is_known = is_undisturbed and is_code_known


def _blocks(unproven: Unproven) -> tuple[str, str]:
    """Return the heights of the block before the transaction and of its own block, in hex."""
    return hex(max(unproven.block_number - 1, 0)), hex(unproven.block_number)


def _present(result: Any) -> Any:
    """Return the result. Raises _Unavailable if the node doesn't have it or doesn't send it, and ChainError for
    other faults.
    """
    if isinstance(result, Unread):
        # A retry would have the same size.
        raise _Unavailable if result.reason is UnreadReason.LARGE else result.error
    if not isinstance(result, RpcFault):
        return result
    is_missing = result.code in (_METHOD_NOT_FOUND, _METHOD_NOT_SUPPORTED)
    is_unavailable = _IS_UNAVAILABLE.search(result.message) and not _IS_TEMPORARY.search(result.message)
    if is_missing or is_unavailable:
        raise _Unavailable
    raise ChainError(f"the node rejected a call: {result.message}")


def _logs(result: Any) -> list[dict[str, Any]]:
    if not isinstance(result, list):
        raise ChainError("the node's response is not a list of logs")
    return [json_object(log) for log in result]


def _is_by(log: dict[str, Any], address: str) -> bool:
    return bool(address) and to_checksum_address(data_bytes(log.get("address"))) == address
