"""If a node can't rehearse a deposit address, it proves nothing: neither that the address works nor that it doesn't."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from chains.client import ChainError
from chains.facts.deposits import DepositProblem
from chains.families.evm.deposits import rehearsal
from chains.families.evm.deposits.addresses import FACTORY, deposit_of
from chains.families.evm.deposits.shipped import FACTORY as SHIPPED
from chains.rpc.json_rpc import Call, RpcFault

RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
TOKEN = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
SLOT, AMOUNT = "0x" + "09" * 32, 10_000_000
WORD = "0x{:064x}".format
UNKNOWN_METHOD = RpcFault(-32601, "the method does not exist")
BUSY = RpcFault(-32005, "too many requests")


@dataclass
class Node:
    """A node without faults, except those that a test sets."""

    recipient_code: Any = "0x"
    factory_code: Any = "0x" + SHIPPED.code.hex()
    access_list: Any = field(
        default_factory=lambda: {"accessList": [{"address": TOKEN, "storageKeys": [SLOT]}]}
    )
    funded: Any = WORD(2 * AMOUNT)
    result: Any = WORD(0)
    calls: list[Call] = field(default_factory=list)

    def batch(self, calls: Sequence[Call], read: Callable[[list[Any]], Any]) -> Any:
        self.calls += calls
        return read([self._result(*call) for call in calls])

    def _result(self, method: str, arguments: Sequence[Any]) -> Any:
        if method == "eth_getCode":
            return self.factory_code if arguments[0] == FACTORY else self.recipient_code
        if method == "eth_createAccessList":
            return self.access_list
        return self.result if rehearsal.STAGE in arguments[2] else self.funded


def problem(node: Any, **more: bool) -> DepositProblem | None:
    deposit = deposit_of(RECIPIENT, UUID(int=1))
    return rehearsal.problem(node, deposit, recipient=RECIPIENT, token=TOKEN, amount=AMOUNT, **more)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (Node(recipient_code="0x6000"), None),
        (Node(recipient_code="0x6000", factory_code="0x"), DepositProblem.FACTORY_MISSING),
        (Node(recipient_code="0x6000", result=WORD(4)), DepositProblem.NOT_SWEPT),
    ],
)
def test_confirmed_contract_is_rehearsed_as_any_recipient(
    node: Node, expected: DepositProblem | None
) -> None:
    assert problem(node, is_confirmed=True) is expected


def test_rehearsal_that_succeeds_shows_no_problem() -> None:
    node = Node()
    assert problem(node) is None
    assert ("eth_getCode", [FACTORY, "finalized"]) in node.calls
    overrides = node.calls[-1][1][2]
    assert overrides[TOKEN] == {"stateDiff": {SLOT: WORD(2 * AMOUNT)}}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (Node(recipient_code="0x6000"), DepositProblem.RECIPIENT_IS_CONTRACT),
        (Node(recipient_code="0xef0100" + "11" * 20), None),
        (Node(recipient_code="0xef0100" + "11" * 21), DepositProblem.RECIPIENT_IS_CONTRACT),
        (Node(recipient_code="0xef0101" + "11" * 20), DepositProblem.RECIPIENT_IS_CONTRACT),
        (Node(factory_code="0x"), DepositProblem.FACTORY_MISSING),
        (Node(factory_code="0x6000"), DepositProblem.FACTORY_MISSING),
        (Node(factory_code=UNKNOWN_METHOD), DepositProblem.UNSUPPORTED),
        (Node(access_list=UNKNOWN_METHOD), DepositProblem.UNSUPPORTED),
        (Node(access_list={"accessList": []}), DepositProblem.UNSUPPORTED),
        (Node(funded=WORD(0)), DepositProblem.UNSUPPORTED),
        (Node(funded=UNKNOWN_METHOD), DepositProblem.UNSUPPORTED),
        (Node(result=UNKNOWN_METHOD), DepositProblem.UNSUPPORTED),
        (Node(result="0x"), DepositProblem.UNSUPPORTED),
        (Node(result=RpcFault(3, "execution reverted")), DepositProblem.NOT_SWEPT),
        (Node(result=WORD(3)), DepositProblem.NOT_SWEPT),
    ],
)
def test_each_problem_has_its_name(node: Node, expected: DepositProblem | None) -> None:
    assert problem(node) is expected


@pytest.mark.parametrize("part", ["recipient_code", "factory_code", "access_list", "result"])
def test_busy_node_is_a_fault_and_no_verdict(part: str) -> None:
    with pytest.raises(ChainError):
        problem(Node(**{part: BUSY}))
