"""A node whose head lags behind the others', or runs backwards, is set aside, and taken back when it is well."""

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


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_node_that_lags_is_set_aside_and_taken_back_later(
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


def test_a_node_within_the_allowance_is_asked_like_any_other(
    nodes_of: Nodes, client_for: Clients, head: int
) -> None:
    nodes = nodes_of(2)
    client = client_for(nodes)
    nodes[0].break_with(fault_proxy.old_head(head - ALLOWANCE))
    assert seen_head(client) == head - ALLOWANCE
    assert states(client) == ["answering", "answering"]


def test_a_node_that_freezes_while_the_chain_goes_on_is_found_out(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, head: int, local_chain: LocalChain
) -> None:
    nodes = nodes_of(2)
    client = client_for(nodes)
    nodes[0].break_with(fault_proxy.old_head(head))
    assert seen_head(client) == head
    local_chain.mine(ALLOWANCE + 1)
    time.now += 15
    assert seen_head(client) == head + ALLOWANCE + 1


def test_a_head_that_runs_backwards_is_no_answer_even_from_the_only_node(
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


def test_a_chain_that_truly_went_back_is_followed_after_two_minutes(
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


@pytest.mark.parametrize("liar", [0, 1, 2])
def test_one_node_of_three_cannot_push_the_others_out_by_an_invented_head(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, head: int, liar: int
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

    nodes[liar].break_with(far_ahead)
    for _ in range(4):
        assert seen_head(client) == head
        time.now += 16
    assert "lagging" not in states(client)


def test_heads_are_compared_every_fifteen_seconds_and_never_with_a_single_node(
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
