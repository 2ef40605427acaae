"""Whether native coin from a contract's inner call can be proved is found out cheaply, and kept for minutes."""

from collections.abc import Callable

import pytest

from chains.families.evm.client import EvmClient
from chains.families.evm.transactions import tracing
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import Fault, FaultProxy
from tests.support.chains.mining import mined
from tests.support.nodes.fixtures import NodeTime

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
TRACE = "debug_traceTransaction"
UNABLE = fault_proxy.lacking(TRACE)


def probes(node: FaultProxy) -> int:
    """Return how many questions for a trace the node was asked."""
    return sum(methods.count(TRACE) for methods in node.asked)


@pytest.fixture(autouse=True)
def _a_recent_transaction(local_chain: LocalChain) -> None:
    mined(local_chain, local_chain.transfer("", local_chain.recipient, 1))


def test_a_node_that_traces_is_asked_once_in_ten_minutes(
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


@pytest.mark.parametrize(
    "fault",
    [
        UNABLE,
        fault_proxy.lacking(
            TRACE, code=-32600, message="debug_traceTransaction is not available on the Free plan"
        ),
        fault_proxy.lacking(
            TRACE, code=-32000, message="archive, debug and trace requests need another plan"
        ),
    ],
    ids=range(3),
)
def test_a_node_that_does_not_is_asked_again_later(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, fault: Fault
) -> None:
    [node] = nodes_of(1)
    node.break_with(fault)
    client = client_for([node])
    assert [client.can_prove_internal_transfers() for _ in range(3)] == [False] * 3
    assert probes(node) == 1
    node.heal()
    assert not client.can_prove_internal_transfers()
    time.now += tracing.PROBED_SECONDS
    assert client.can_prove_internal_transfers()


@pytest.mark.parametrize(
    "fault", [fault_proxy.server_error, fault_proxy.html, fault_proxy.null], ids=range(3)
)
def test_what_could_not_be_found_out_counts_as_no_for_half_a_minute(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, fault: Fault
) -> None:
    [node] = nodes_of(1)
    node.break_with(fault)
    client = client_for([node])
    assert not client.can_prove_internal_transfers()
    node.heal()
    assert not client.can_prove_internal_transfers()
    time.now += tracing.UNKNOWN_SECONDS
    assert client.can_prove_internal_transfers()


def test_a_failing_probe_says_nothing_of_the_nodes_other_answers(
    nodes_of: Nodes, client_for: Clients
) -> None:
    [node] = nodes_of(1)
    node.break_with(fault_proxy.server_error, TRACE)
    client = client_for([node])
    client.chain_id()
    assert not client.can_prove_internal_transfers()
    assert client.health()[0].state == "answering"


def test_before_the_first_transaction_the_word_that_there_is_none_is_enough(
    nodes_of: Nodes, client_for: Clients
) -> None:
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


@pytest.mark.parametrize(
    ("count", "able", "expected"), [(2, 0, False), (2, 1, True), (3, 1, False), (3, 2, True), (4, 2, True)]
)
def test_as_many_nodes_have_to_trace_as_have_to_agree(
    nodes_of: Nodes, client_for: Clients, count: int, able: int, expected: bool
) -> None:
    """With three nodes and more, what only one of them can trace is not believed: such a delivery would never count."""
    nodes = nodes_of(count)
    for node in nodes[: count - able]:
        node.break_with(UNABLE)
    assert client_for(nodes).can_prove_internal_transfers() is expected


def test_a_node_that_has_traced_a_payment_needs_no_probe(
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


def test_an_account_with_code_may_be_unverifiable_only_where_no_node_traces(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, local_chain: LocalChain
) -> None:
    [node] = nodes_of(1)
    client = client_for([node])
    assert not client.may_be_unverifiable(local_chain.usdc)
    node.break_with(UNABLE)
    time.now += tracing.PROBED_SECONDS
    assert client.may_be_unverifiable(local_chain.usdc)
    assert not client.may_be_unverifiable(local_chain.payer)
