"""The health of each node can be read without querying it. It never shows the API key in the node's URL."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from chains.client import ChainError, NodeHealth
from chains.families.evm.client import EvmClient
from chains.rpc.nodes import Limiting, Node
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.support.nodes.fixtures import NodeTime

Nodes = Callable[[int], list[FaultProxy]]
KEY = "s3cretkey0123456789"


def test_health_lists_nodes_in_catalogue_order_with_their_state(
    nodes_of: Nodes, time: NodeTime, local_chain: LocalChain, other_local_chain: LocalChain
) -> None:
    broken, limited, healthy = nodes_of(3)
    broken.break_with(fault_proxy.server_error)
    limited.break_with(fault_proxy.limiting(5))
    urls = [f"{broken.url}/v2/{KEY}", f"{limited.url}/?key={KEY}", other_local_chain.url, healthy.url]
    client = EvmClient(urls, 31337, clock=time)
    assert [node.state.value for node in client.health()] == ["unasked"] * 4
    before = datetime.now(UTC)
    client.chain_id()
    health = client.health()
    assert [node.state.value for node in health] == ["failing", "limiting", "wrong_chain", "answering"]
    assert {node.host for node in health} == {"127.0.0.1"}
    assert health[0].last_error == "the node returned HTTP 500"
    assert health[3] == NodeHealth("127.0.0.1", health[3].state, health[3].head, "", health[3].since)
    assert health[3].head == int(local_chain.rpc("eth_blockNumber"), 16)
    assert all(node.since >= before for node in health)
    assert KEY not in repr(health)


def test_health_keeps_the_last_error_and_when_the_state_began(nodes_of: Nodes, time: NodeTime) -> None:
    (node,) = nodes_of(1)
    client = EvmClient([node.url], 31337, clock=time)
    client.chain_id()
    (well,) = client.health()
    client.chain_id()
    assert client.health() == [well]
    node.break_with(fault_proxy.html)
    with pytest.raises(ChainError):
        client.chain_id()
    (ill,) = client.health()
    assert (ill.state, ill.last_error) == ("failing", "the node's response is not JSON")
    assert ill.since > well.since
    node.heal()
    client.chain_id()
    (again,) = client.health()
    assert (again.state, again.last_error) == ("answering", "the node's response is not JSON")


@pytest.mark.parametrize(
    "url",
    [
        f"https://node.example/v2/{KEY}",
        f"https://node.example/?apikey={KEY}",
        f"https://{KEY}@node.example/",
        f"https://user:{KEY}@node.example/rpc",
    ],
)
def test_key_in_the_error_of_a_node_is_hidden(url: str) -> None:
    node = Node(url)
    node.failed(0.0, Limiting(f"the node refused a call: project {KEY} is over its limit"))
    assert node.health().last_error == "the node refused a call: project … is over its limit"
    assert KEY not in repr(node.health())
