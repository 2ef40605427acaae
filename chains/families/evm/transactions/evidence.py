"""Evidence from a node's state on an untraced transaction: the code of its accounts, before and after.

An account is believed to have made the calls that its owner signed only if its code is known (`accounts.py` lists it)
in the block before and in the transaction's own, and nothing else in that block can have changed that for a while: its
nonce moved by this transaction alone (so no other delegation, no transaction of its own), every log of the account and
of its implementation is this transaction's (so no upgrade, no module), and no other operation of it ran.

A native payment to a contract is believed up to what the recipient's balance gained in the block.

What the node no longer has proves nothing, and claims nothing. A node that fails says nothing: the transaction is
looked up again.
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
from chains.families.evm.quantities import data_bytes, hash32, json_object, quantity, to_hex
from chains.families.evm.transactions import accounts
from chains.families.evm.transactions.signed_calls import USER_OPERATION_EVENT, Execution, Way
from chains.rpc.json_rpc import Call, Failing, JsonRpc, RpcFault, Unread, Why

MAX_KEPT = 10_000
_METHOD_NOT_FOUND = -32601
_METHOD_NOT_SUPPORTED = -32004
# How nodes say that they no longer have the state of a block, or never offer it.
_IS_GONE = re.compile(
    r"state|trie|prun|archive|reexec|histor|not (available|supported|found)|unsupported|unknown block",
    re.IGNORECASE,
)

# A node that only has no time or no room for an answer may have the state all the same.
_IS_PASSING = re.compile(
    r"temporar|time(d )?-?out|deadline|overload|capacity|busy|\brate\b|quota|retr(y|ies)|internal",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Unproven:
    """An untraced transaction, and what has to be known of it: its accounts' code, or its recipient's.

    `recipient` is where its own value went if code may have run there, else empty.
    """

    hash: str
    sender: str
    block_number: int
    block_hash: str
    executions: tuple[Execution, ...] = ()
    recipient: str = ""


@dataclass(frozen=True)
class Evidence:
    """What was proved. `known` are the accounts that made just the calls they were asked for.

    `has_code` says whether the recipient has code (None: not known), and `gain` by how much its native balance grew
    within the block, in wei.
    """

    known: frozenset[str] = frozenset()
    has_code: bool | None = None
    gain: int = 0


NO_EVIDENCE = Evidence()


@dataclass(frozen=True)
class Evidences:
    """The evidence on some transactions by their hashes; of `unanswered` there was no usable answer now."""

    found: Mapping[str, Evidence]
    unanswered: frozenset[str] = frozenset()


class EvidenceReader:
    """The evidence from one node. Results are cached, because a block's state doesn't change.

    It has connections of its own: evidence that can't be had says nothing about the node's other answers.
    """

    def __init__(self, node: JsonRpc) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], Evidence] = OrderedDict()
        self._failing = Failing()

    def evidences(self, wanted: Sequence[Unproven]) -> Evidences:
        """Return the evidence on these transactions, in at most two batches."""
        found = self._remembered(wanted)
        cases = [_Case(unproven) for unproven in wanted if unproven.hash not in found]
        cases.sort(key=lambda case: self._failing.includes(case.unproven.hash))
        try:
            for questions, read in ((_Case.questions, _Case.read), (_Case.more_questions, _Case.read_more)):
                self._ask(cases, questions, read)
        except ChainError:
            return Evidences(found, frozenset(case.unproven.hash for case in cases))
        answered = [case for case in cases if not case.is_unanswered]
        self._keep(answered)
        found |= {case.unproven.hash: case.evidence() for case in answered}
        return Evidences(found, frozenset(case.unproven.hash for case in cases if case.is_unanswered))

    def _ask(
        self,
        cases: Sequence["_Case"],
        questions: Callable[["_Case"], list[Call]],
        read: Callable[["_Case", list[Any]], None],
    ) -> None:
        asked = [(case, questions(case)) for case in cases if not case.is_unanswered and not case.is_gone]
        calls = [call for _, theirs in asked for call in theirs]
        answers = iter(self._node.batch(calls, list, isolating=True) if calls else [])
        for case, theirs in asked:
            own = [next(answers) for _ in theirs]
            if any(isinstance(answer, Unread) and answer.why is Why.FAILED for answer in own):
                self._failing.note([case.unproven.hash])
            try:
                read(case, own)
            except _Gone:
                case.is_gone = True
            except ChainError:
                case.is_unanswered = True

    def _remembered(self, wanted: Sequence[Unproven]) -> dict[str, Evidence]:
        with self._lock:
            return {
                unproven.hash: kept
                for unproven in wanted
                if (kept := self._kept.get((unproven.hash, unproven.block_hash))) is not None
            }

    def _keep(self, cases: Sequence["_Case"]) -> None:
        with self._lock:
            for case in cases:
                if not case.is_gone:
                    self._kept[case.unproven.hash, case.unproven.block_hash] = case.evidence()
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)


class _Gone(Exception):
    """The node does not have, or does not send, the state that was asked for."""


class _Case:
    """One transaction on its way through the two rounds."""

    def __init__(self, unproven: Unproven) -> None:
        self.unproven = unproven
        self.is_unanswered = self.is_gone = False
        self._accounts = [_Account(execution, unproven) for execution in unproven.executions]
        self._has_code: bool | None = None
        self._gain = 0

    def questions(self) -> list[Call]:
        """Return the first round: each account's code, nonce and slots, the recipient's code and balance."""
        calls = [call for account in self._accounts for call in account.questions()]
        return calls + self._recipient_questions()

    def read(self, answers: list[Any]) -> None:
        """Read the first round."""
        left = iter(answers)
        for account in self._accounts:
            account.read([next(left) for _ in account.questions()])
        if self.unproven.recipient:
            before, after, had, has = (_present(answer) for answer in left)
            self._has_code = bool(data_bytes(before) or data_bytes(after))
            self._gain = quantity(has) - quantity(had)

    def more_questions(self) -> list[Call]:
        """Return the second round: the implementations' code, the logs of the block, and the block once more."""
        height: Call = ("eth_getBlockByNumber", [hex(self.unproven.block_number), False])
        return [height, *(call for account in self._accounts for call in account.more_questions())]

    def read_more(self, answers: list[Any]) -> None:
        """Read the second round. State is asked for by height, so the height has to be this very block's still."""
        left = iter(answers)
        if hash32(json_object(_present(next(left))).get("hash")) != self.unproven.block_hash:
            raise ChainError("the chain was reorganised between the answers")
        for account in self._accounts:
            account.read_more([next(left) for _ in account.more_questions()])

    def evidence(self) -> Evidence:
        """Return the proved facts; none if the node lacked some of the state."""
        if self.is_gone:
            return NO_EVIDENCE
        known = frozenset(account.address for account in self._accounts if account.is_known)
        return Evidence(known, self._has_code, self._gain)

    def _recipient_questions(self) -> list[Call]:
        if not self.unproven.recipient:
            return []
        return [
            (method, [self.unproven.recipient, block])
            for method in ("eth_getCode", "eth_getBalance")
            for block in _blocks(self.unproven)
        ]


class _Account:
    """One account that was asked to execute calls; `is_known` once its code is proved to have made just those."""

    def __init__(self, execution: Execution, unproven: Unproven) -> None:
        self.address = execution.account
        self.is_known = False
        self._execution = execution
        self._unproven = unproven
        self._implementation = ""
        self._is_worth_more = False

    def questions(self) -> list[Call]:
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

    def read(self, answers: list[Any]) -> None:
        """Note what kind of account it is, if it is the same one before and after."""
        code, code_after, nonce, nonce_after, *slots = map(_present, answers)
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
            self._is_worth_more = self._execution.selector in ways
        if is_proxy and words and not any(words[0][:12]):
            self._implementation = to_checksum_address(words[0][12:])
            self._is_worth_more = True

    def more_questions(self) -> list[Call]:
        if not self._is_worth_more:
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

    def read_more(self, answers: list[Any]) -> None:
        if not self._is_worth_more:
            return
        logs, operations, *codes = map(_present, answers)
        # What this transaction's own logs may be is checked where it is decoded; an implementation has none.
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
    """Return the block before the transaction's, and its own, as tags."""
    return hex(max(unproven.block_number - 1, 0)), hex(unproven.block_number)


def _present(answer: Any) -> Any:
    """Return the answer. Raises _Gone where the node does not have or send it, and ChainError for any other fault."""
    if isinstance(answer, Unread):
        # It is as large at the next look.
        raise _Gone if answer.why is Why.LARGE else answer.error
    if not isinstance(answer, RpcFault):
        return answer
    is_missing = answer.code in (_METHOD_NOT_FOUND, _METHOD_NOT_SUPPORTED)
    is_gone = _IS_GONE.search(answer.message) and not _IS_PASSING.search(answer.message)
    if is_missing or is_gone:
        raise _Gone
    raise ChainError(f"the node refused a call: {answer.message}")


def _logs(answer: Any) -> list[dict[str, Any]]:
    if not isinstance(answer, list):
        raise ChainError("the node's answer is not a list of logs")
    return [json_object(log) for log in answer]


def _is_by(log: dict[str, Any], address: str) -> bool:
    return bool(address) and to_checksum_address(data_bytes(log.get("address"))) == address
