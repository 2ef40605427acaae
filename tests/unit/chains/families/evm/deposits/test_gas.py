"""Each call's gas is estimated. If the node rejects a call, the other calls still have an estimate."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from chains.client import ChainError, EvmCall
from chains.families.evm.deposits.gas import estimated_gas
from chains.rpc.json_rpc import Call, RpcFault


class Node:
    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.calls: list[Call] = []

    def batch(self, calls: Sequence[Call], read: Callable[[list[Any]], Any]) -> Any:
        self.calls += calls
        return read(self.results)


def test_rejected_call_has_no_estimate() -> None:
    node: Any = Node("0x5208", RpcFault(3, "execution reverted"))
    assert estimated_gas(node, [EvmCall("0xTo", b"\x01"), EvmCall("0xTo", b"\x02")]) == [21_000, None]
    assert [(method, call["to"], call["data"]) for method, [call] in node.calls] == [
        ("eth_estimateGas", "0xTo", "0x01"),
        ("eth_estimateGas", "0xTo", "0x02"),
    ]


def test_malformed_estimate_is_a_failure_of_the_node() -> None:
    node: Any = Node("much")
    with pytest.raises(ChainError):
        estimated_gas(node, [EvmCall("0xTo", b"")])
