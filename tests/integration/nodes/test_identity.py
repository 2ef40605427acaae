"""A node's chain ID is checked before its results count: at first, after a failure, every five minutes, per lookup."""

from collections.abc import Callable

import pytest

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.support.nodes.fixtures import NodeTime

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
SENDER = "0x" + "11" * 20


def identities(node: FaultProxy) -> int:
    return node.asked.count(["eth_chainId"])


def test_chain_id_is_queried_once_in_five_minutes(
    nodes_of: Nodes, client_for: Clients, time: NodeTime
) -> None:
    (node,) = nodes_of(1)
    client = client_for([node])
    for _ in range(10):
        client.transaction_counts([SENDER])
        time.now += 30
    assert identities(node) == 1
    client.transaction_counts([SENDER])
    assert identities(node) == 2


def test_chain_id_is_queried_again_after_a_failure(nodes_of: Nodes, client_for: Clients) -> None:
    (node,) = nodes_of(1)
    client = client_for([node])
    client.transaction_counts([SENDER])
    node.break_with(fault_proxy.server_error)
    with pytest.raises(ChainError):
        client.transaction_counts([SENDER])
    node.heal()
    client.transaction_counts([SENDER])
    assert identities(node) == 2


def test_url_that_changes_its_chain_is_rejected_at_next_lookup(
    nodes_of: Nodes, client_for: Clients, other_local_chain: LocalChain
) -> None:
    nodes = nodes_of(2)
    alone, both = client_for(nodes[:1]), client_for(nodes)
    for client in (alone, both):
        client.look_up([], with_finality=False)
    hijacked = fault_proxy.other_chain(other_local_chain.url)
    nodes[0].break_with(hijacked)
    unknown = "0x" + "ab" * 32
    with pytest.raises(ChainError, match="serves a different chain"):
        alone.look_up([unknown], with_finality=False)
    assert both.look_up([unknown], with_finality=False).transactions == {unknown: None}
    assert [node.state.value for node in both.health()] == ["wrong_chain", "answering"]
