"""Which transaction of a sender has a nonce: a hint that some nodes give, and others don't have."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from chains.families.evm.nonces import UNSUPPORTED_SECONDS, NonceLookup
from chains.rpc.json_rpc import RpcFault
from tests.chain import LocalChain

SENDER = "0x" + "11" * 20
FOUND = "0x" + "ab" * 32
REFUSED = RpcFault(-32601, "the method does not exist")


@dataclass
class Node:
    """A node that gives one answer, behind the interface of the RPC client."""

    url: str
    answer: Any
    asked: int = 0

    @property
    def urls(self) -> tuple[str, ...]:
        return (self.url,)

    def quietly(self) -> "Node":
        return self

    def batch(self, calls: list[Any], read: Callable[[list[Any]], Any]) -> Any:
        self.asked += 1
        if isinstance(self.answer, ChainError):
            raise self.answer
        return read([self.answer])


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


def test_the_first_node_that_knows_it_is_enough() -> None:
    nodes = [Node("a", REFUSED), Node("b", None), Node("c", {"hash": FOUND}), Node("d", {"hash": "0x12"})]
    assert Nodes(nodes).find() == FOUND
    assert [node.asked for node in nodes] == [1, 1, 1, 0]


def test_a_node_without_the_method_is_not_asked_again_for_an_hour() -> None:
    nodes = Nodes([Node("a", REFUSED)])
    assert [nodes.find(), nodes.find()] == [None, None]
    assert nodes.nodes[0].asked == 1
    nodes.now = UNSUPPORTED_SECONDS + 1
    nodes.find()
    assert nodes.nodes[0].asked == 2


def test_no_usable_answer_is_an_error_and_unknown_is_none() -> None:
    with pytest.raises(ChainError):
        Nodes([Node("a", REFUSED), Node("b", ChainError("down"))]).find()
    assert Nodes([Node("a", ChainError("down")), Node("b", None)]).find() is None


@pytest.mark.parametrize(
    "fault",
    [RpcFault(-32005, "daily limit"), RpcFault(-32000, "upstream timed out"), RpcFault(-32603, "busy")],
)
def test_a_fault_of_the_moment_is_no_refusal_of_the_method(fault: RpcFault) -> None:
    nodes = Nodes([Node("a", fault)])
    for _ in range(2):
        with pytest.raises(ChainError):
            nodes.find()
    assert nodes.nodes[0].asked == 2


def test_a_real_node_tells_of_mined_transactions(local_chain: LocalChain) -> None:
    client = EvmClient([local_chain.url], local_chain.chain_id)
    nonce = int(local_chain.rpc("eth_getTransactionCount", local_chain.payer, "latest"), 16)
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    assert client.transaction_of_nonce(local_chain.payer, nonce) == sent
    assert client.transaction_of_nonce(local_chain.payer, nonce + 1) is None
