"""Reading a wallet's thousand tokens costs one round trip, or at most four if a node has faults."""

import pytest

from bench import discovery_cost
from tests import fault_proxy
from tests.chain import LocalChain
from tests.support.nodes.networks import nodes_before

MAX_ROUND_TRIPS = 4


@pytest.fixture(scope="module")
def tokens(local_chain: LocalChain) -> list[str]:
    return discovery_cost.place_tokens(local_chain, discovery_cost.TOKENS)


@pytest.fixture(autouse=True)
def _one_look_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery_cost, "LOOKS", 1)


@pytest.mark.parametrize("count", [1, 3])
def test_one_request_reads_1000_tokens_with_any_number_of_nodes(
    local_chain: LocalChain, tokens: list[str], count: int
) -> None:
    with nodes_before(local_chain, count) as nodes:
        assert discovery_cost.cost(local_chain, nodes, tokens).round_trips == 1


def test_a_node_that_refuses_the_multicall_costs_four(local_chain: LocalChain, tokens: list[str]) -> None:
    with nodes_before(local_chain, 1) as nodes:
        nodes[0].break_with(fault_proxy.refuse_creation)
        assert discovery_cost.cost(local_chain, nodes, tokens).round_trips <= MAX_ROUND_TRIPS


def test_a_look_that_misses_what_is_held_is_no_measure(local_chain: LocalChain, tokens: list[str]) -> None:
    with nodes_before(local_chain, 1) as nodes, pytest.raises(SystemExit, match="not the truth"):
        discovery_cost.cost(local_chain, nodes, tokens[1 : discovery_cost.HELD])
