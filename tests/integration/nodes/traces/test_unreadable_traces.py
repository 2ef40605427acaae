"""A trace that exists and is not whole is not a missing one: nothing is decoded in its place, nothing is refuted."""

from collections.abc import Callable
from typing import Any

import pytest

from chains.client import TransactionFacts, Watch
from chains.families.evm.client import EvmClient
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy, Json
from tests.processes import eventually
from tests.support.nodes.limits import call_by_call, untraced
from tests.support.nodes.oversized import Shouter

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
REFERENCE = b"U" * 16
RECEIPT = "eth_getTransactionReceipt"


@pytest.fixture
def shouter(local_chain: LocalChain) -> Shouter:
    local_chain.mine(30)
    return Shouter.place(local_chain)


def facts_of(client: EvmClient, hash_: str) -> TransactionFacts:
    found: list[TransactionFacts | None] = []

    def is_answered() -> bool:
        snapshot = client.look_up([hash_], with_finality=False)
        found[:] = [snapshot.transactions[hash_]]
        return not snapshot.contradicted

    eventually(is_answered, "the transaction was read", 60)
    (facts,) = found
    assert facts is not None
    return facts


def every_frame(change: Callable[[Json], Json]) -> Callable[[Json, Json], Json | None]:
    """Change each frame of each trace."""

    def changed(frame: Json) -> Json:
        return change({**frame, "calls": [changed(inner) for inner in frame.get("calls", [])]})

    def answer(question: Json, truth: Json) -> Json | None:
        is_trace = question["method"] == "debug_traceTransaction"
        return {"result": changed(truth["result"])} if is_trace else None

    return answer


def without(name: str) -> Callable[[Json], Json]:
    return lambda frame: {key: value for key, value in frame.items() if key != name}


def with_logs(change: Callable[[list[Json]], list[Json]]) -> Callable[[Json], Json]:
    return lambda frame: {**frame, "logs": change(frame["logs"])} if frame.get("logs") else frame


def unknown_kind(frame: Json) -> Json:
    return {**frame, "calls": [{**inner, "type": "AUTHCALL"} for inner in frame["calls"]]}


@pytest.mark.parametrize(
    "change",
    [
        without("logs"),
        without("calls"),
        with_logs(lambda logs: [without("position")(log) for log in logs]),
        with_logs(lambda logs: [{**log, "data": "0x" + "00" * 32} for log in logs]),
        unknown_kind,
    ],
    ids=["no logs", "cut off", "no order", "other logs", "unknown kind"],
)
def test_a_trace_that_is_not_whole_binds_nothing_and_refutes_nothing(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, shouter: Shouter, change: Any
) -> None:
    sent = shouter.pay(1, local_chain.recipient, 5, REFERENCE)
    [node] = nodes_of(1)
    node.break_with(call_by_call(every_frame(change)))
    facts = facts_of(client_for([node]), sent)
    assert (facts.is_complete, facts.is_readable, facts.succeeded) == (False, True, True)
    [transfer] = facts.transfers
    assert (transfer.amount, transfer.references, transfer.made_by) == (5, (), "")


def test_ten_thousand_empty_logs_make_no_trace_unreadable(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, shouter: Shouter
) -> None:
    sent = shouter.pay(10_100, local_chain.recipient, 5, REFERENCE)
    facts = facts_of(client_for(nodes_of(1)), sent)
    assert facts.is_complete
    assert [transfer.references for transfer in facts.transfers] == [(REFERENCE,)]


@pytest.mark.parametrize(
    "fault", [untraced, every_frame(without("logs"))], ids=["no traces", "unreadable trace"]
)
def test_discovery_reports_what_could_not_be_read_fully_if_the_money_arrived(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, shouter: Shouter, fault: Any
) -> None:
    start = int(local_chain.rpc("eth_blockNumber"), 16) + 1
    sent = shouter.pay(1, local_chain.recipient, 5, REFERENCE)
    shouter.pay(1, local_chain.recipient, 0, REFERENCE)
    shouter.pay(1, local_chain.recipient, 5, b"somebody else's!")
    [node] = nodes_of(1)
    node.break_with(call_by_call(fault))
    watch = Watch(REFERENCE, local_chain.usdc, local_chain.recipient)
    assert client_for([node]).discover([watch], since_block=start).found == ((REFERENCE, sent),)


def test_with_a_trace_that_shows_another_call_made_it_discovery_reports_nothing(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    """The reference is in the input, and not after the arguments of the call that paid."""
    start = int(local_chain.rpc("eth_blockNumber"), 16) + 1
    local_chain.transfer(local_chain.usdc, local_chain.recipient, 5, tail=b"\0" + REFERENCE)
    watch = Watch(REFERENCE, local_chain.usdc, local_chain.recipient)
    assert client_for(nodes_of(1)).discover([watch], since_block=start + 20).found == ()


def test_a_node_that_can_not_send_so_large_a_receipt_does_not_lie(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, shouter: Shouter
) -> None:
    sent = shouter.pay(1, local_chain.recipient, 5, REFERENCE)

    def too_large(question: Json, _: Json) -> Json | None:
        error = {"code": -32003, "message": "response too large"}
        return {"error": error} if question["method"] == RECEIPT else None

    nodes = nodes_of(3)
    nodes[0].break_with(call_by_call(too_large))
    client = client_for(nodes)
    facts = facts_of(client, sent)
    assert facts.is_readable
    assert facts.transfers[0].references == (REFERENCE,)
    assert {health.state for health in client.health()} == {"answering"}
    nodes[1].break_with(call_by_call(too_large))
    assert not facts_of(client_for(nodes), sent).is_readable
