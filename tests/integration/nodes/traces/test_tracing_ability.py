"""A cheap probe finds out whether a chain's nodes can trace. The result is cached for minutes."""

from collections.abc import Callable

import pytest

from chains.families.evm.client import EvmClient
from chains.families.evm.transactions import tracing
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.support.chains.mining import mined
from tests.support.nodes.fixtures import NodeTime

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
TRACE = "debug_traceTransaction"
UNABLE = fault_proxy.lacking(TRACE)


def probes(node: FaultProxy) -> int:
    """Return the number of traces that the node was queried for."""
    return sum(methods.count(TRACE) for methods in node.asked)


@pytest.fixture(autouse=True)
def _a_recent_transaction(local_chain: LocalChain) -> None:
    mined(local_chain, local_chain.transfer("", local_chain.recipient, 1))


def test_tracing_node_is_probed_once_in_ten_minutes(
    nodes_of: Nodes, client_for: Clients, time: NodeTime
) -> None:
    [node] = nodes_of(1)
    client = client_for([node])
    assert client.can_prove_internal_transfers()
    assert client.can_prove_internal_transfers()
    assert probes(node) == 1
    time.now += tracing.PROBED_SECONDS
    node.break_with(UNABLE)
    assert not client.can_prove_internal_transfers()


def test_untraced_node_is_probed_again_later(nodes_of: Nodes, client_for: Clients, time: NodeTime) -> None:
    [node] = nodes_of(1)
    node.break_with(UNABLE)
    client = client_for([node])
    assert [client.can_prove_internal_transfers() for _ in range(3)] == [False] * 3
    assert probes(node) == 1
    node.heal()
    assert not client.can_prove_internal_transfers()
    time.now += tracing.PROBED_SECONDS
    assert client.can_prove_internal_transfers()


def test_failed_probe_counts_as_untraced_for_30_seconds(
    nodes_of: Nodes, client_for: Clients, time: NodeTime
) -> None:
    [node] = nodes_of(1)
    node.break_with(fault_proxy.server_error)
    client = client_for([node])
    assert not client.can_prove_internal_transfers()
    node.heal()
    assert not client.can_prove_internal_transfers()
    time.now += tracing.UNKNOWN_SECONDS
    assert client.can_prove_internal_transfers()


def test_failed_probe_does_not_change_the_nodes_health(nodes_of: Nodes, client_for: Clients) -> None:
    [node] = nodes_of(1)
    node.break_with(fault_proxy.server_error, TRACE)
    client = client_for([node])
    client.chain_id()
    assert not client.can_prove_internal_transfers()
    assert client.health()[0].state == "answering"


def test_empty_chain_is_probed_with_an_unknown_transaction(nodes_of: Nodes, client_for: Clients) -> None:
    def empty_blocks(exchange: fault_proxy.Exchange) -> None:
        error = {"code": -32000, "message": "transaction not found"}
        exchange.reply(
            [
                {"jsonrpc": "2.0", "id": q["id"], "error": error}
                if q["method"] == TRACE
                else {**a, "result": {**a["result"], "transactions": []}}
                if q["method"] == "eth_getBlockByNumber"
                else a
                for q, a in zip(exchange.questions, exchange.truth(), strict=True)
            ]
        )

    [node] = nodes_of(1)
    node.break_with(empty_blocks)
    assert client_for([node]).can_prove_internal_transfers()


@pytest.mark.parametrize(("count", "able", "expected"), [(2, 1, True), (3, 1, False), (3, 2, True)])
def test_tracing_needs_as_many_nodes_as_a_quorum(
    nodes_of: Nodes, client_for: Clients, count: int, able: int, expected: bool
) -> None:
    """With three or more nodes, a single node's trace is not enough."""
    nodes = nodes_of(count)
    for node in nodes[: count - able]:
        node.break_with(UNABLE)
    assert client_for(nodes).can_prove_internal_transfers() is expected


def test_node_that_traced_a_payment_needs_no_probe(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    sent = mined(
        local_chain, local_chain.transfer("", local_chain.usdc, 0, tail=bytes.fromhex("095ea7b3") + bytes(64))
    )
    [node] = nodes_of(1)
    client = client_for([node])
    client.look_up([sent], with_finality=False)
    assert probes(node) == 1
    assert client.can_prove_internal_transfers()
    assert probes(node) == 1


def test_account_with_code_is_unverifiable_only_if_untraced(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, local_chain: LocalChain
) -> None:
    [node] = nodes_of(1)
    client = client_for([node])
    assert not client.may_be_unverifiable(local_chain.usdc)
    node.break_with(UNABLE)
    time.now += tracing.PROBED_SECONDS
    assert client.may_be_unverifiable(local_chain.usdc)
    assert not client.may_be_unverifiable(local_chain.payer)
