"""Some nodes can say which transaction of a sender has a nonce. It is only a hint."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from chains.client import ChainError
from chains.families.evm.nonces import UNSUPPORTED_SECONDS, NonceLookup
from chains.rpc.json_rpc import RpcFault

SENDER = "0x" + "11" * 20
FOUND = "0x" + "ab" * 32
REFUSED = RpcFault(-32601, "the method does not exist")


@dataclass
class Node:
    """A node that returns one result, with the RPC client's interface."""

    url: str
    result: Any
    asked: int = 0

    @property
    def urls(self) -> tuple[str, ...]:
        return (self.url,)

    def quietly(self) -> "Node":
        return self

    def batch(self, calls: list[Any], read: Callable[[list[Any]], Any]) -> Any:
        self.asked += 1
        if isinstance(self.result, ChainError):
            raise self.result
        return read([self.result])


@dataclass
class Nodes:
    nodes: list[Node]
    now: float = 0.0
    lookup: NonceLookup = field(init=False)

    def __post_init__(self) -> None:
        self.lookup = NonceLookup(self, clock=lambda: self.now)  # type: ignore[arg-type]

    def each(self) -> list[Node]:
        return self.nodes

    def find(self) -> str | None:
        return self.lookup.transaction(SENDER, 7)


def test_first_node_that_knows_the_nonce_is_enough() -> None:
    nodes = [Node("a", REFUSED), Node("b", None), Node("c", {"hash": FOUND}), Node("d", {"hash": "0x12"})]
    assert Nodes(nodes).find() == FOUND
    assert [node.asked for node in nodes] == [1, 1, 1, 0]


def test_node_without_the_method_is_skipped_for_an_hour() -> None:
    nodes = Nodes([Node("a", REFUSED)])
    assert [nodes.find(), nodes.find()] == [None, None]
    assert nodes.nodes[0].asked == 1
    nodes.now = UNSUPPORTED_SECONDS + 1
    nodes.find()
    assert nodes.nodes[0].asked == 2


def test_unusable_response_raises_and_unknown_nonce_is_none() -> None:
    with pytest.raises(ChainError):
        Nodes([Node("a", REFUSED), Node("b", ChainError("down"))]).find()
    assert Nodes([Node("a", ChainError("down")), Node("b", None)]).find() is None


@pytest.mark.parametrize(
    "fault",
    [RpcFault(-32005, "daily limit"), RpcFault(-32000, "upstream timed out"), RpcFault(-32603, "busy")],
)
def test_temporary_fault_does_not_mean_a_missing_method(fault: RpcFault) -> None:
    nodes = Nodes([Node("a", fault)])
    for _ in range(2):
        with pytest.raises(ChainError):
            nodes.find()
    assert nodes.nodes[0].asked == 2
