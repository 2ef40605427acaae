"""A node whose head is behind the others', or goes backwards, is skipped until it recovers."""

from collections.abc import Callable
from typing import Any

import pytest

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.support.nodes.fixtures import NodeTime
from tests.support.nodes.networks import ALLOWANCE

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]


@pytest.fixture
def head(local_chain: LocalChain) -> int:
    height = int(local_chain.rpc("eth_blockNumber"), 16)
    missing = max(2 * ALLOWANCE - height, 0)
    if missing:
        local_chain.mine(missing)
    return height + missing


def seen_head(client: EvmClient) -> int:
    return client.look_up([], with_finality=False).head.latest


def states(client: EvmClient) -> list[str]:
    return [node.state.value for node in client.health()]


@pytest.mark.parametrize("count", [2, 3])
def test_lagging_node_is_skipped_until_it_catches_up(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, head: int, count: int
) -> None:
    nodes = nodes_of(count)
    client = client_for(nodes)
    nodes[0].break_with(fault_proxy.old_head(head - ALLOWANCE - 1))
    assert seen_head(client) == head
    assert states(client)[0] == "lagging"
    assert client.health()[0].last_error == f"the node is {ALLOWANCE + 1} blocks behind the others"
    asked = nodes[0].round_trips
    time.now += 29
    assert seen_head(client) == head
    assert nodes[0].round_trips == asked
    nodes[0].heal()
    time.now += 2
    seen_head(client)
    assert states(client)[0] == "answering"


def test_node_within_the_lag_allowance_is_used(nodes_of: Nodes, client_for: Clients, head: int) -> None:
    nodes = nodes_of(2)
    client = client_for(nodes)
    nodes[0].break_with(fault_proxy.old_head(head - ALLOWANCE))
    assert seen_head(client) == head - ALLOWANCE
    assert states(client) == ["answering", "answering"]


def test_head_that_runs_backwards_is_rejected(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, head: int
) -> None:
    (node,) = nodes_of(1)
    client = client_for([node])
    assert seen_head(client) == head
    node.break_with(fault_proxy.old_head(head - ALLOWANCE - 1))
    with pytest.raises(ChainError, match=f"ran backwards from {head} to {head - ALLOWANCE - 1}"):
        seen_head(client)
    assert states(client) == ["lagging"]
    node.break_with(fault_proxy.old_head(head - ALLOWANCE))
    assert seen_head(client) == head - ALLOWANCE


def test_lower_head_is_accepted_after_two_minutes(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, head: int
) -> None:
    (node,) = nodes_of(1)
    client = client_for([node])
    seen_head(client)
    node.break_with(fault_proxy.old_head(5))
    time.now += 119
    with pytest.raises(ChainError):
        seen_head(client)
    time.now += 2
    assert seen_head(client) == 5


def test_invented_head_of_one_node_excludes_no_other_node(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, head: int
) -> None:
    nodes = nodes_of(3)
    client = client_for(nodes)

    def far_ahead(exchange: fault_proxy.Exchange) -> None:
        answers: list[dict[str, Any]] = exchange.truth()
        for question, answer in zip(exchange.questions, answers, strict=True):
            if question["method"] == "eth_blockNumber":
                answer["result"] = hex(10**9)
            elif question["params"][:1] == ["latest"]:
                answer["result"]["number"] = hex(10**9)
        exchange.reply(answers)

    nodes[0].break_with(far_ahead)
    for _ in range(4):
        assert seen_head(client) == head
        time.now += 16
    assert "lagging" not in states(client)


def test_heads_of_several_nodes_are_compared_every_15_seconds(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, head: int
) -> None:
    def comparisons(count: int) -> int:
        nodes = nodes_of(count)
        client = client_for(nodes)
        for _ in range(31):
            client.chain_id()
            time.now += 1
        return sum(asked.count(["eth_blockNumber"]) for asked in [node.asked for node in nodes])

    assert comparisons(1) == 0
    assert comparisons(2) == 2 * 3
