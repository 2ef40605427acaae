"""If a trace is incomplete, the service decodes nothing in its place and rejects no payment."""

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


@pytest.fixture
def shouter(local_chain: LocalChain) -> Shouter:
    local_chain.mine(30)
    return Shouter.place(local_chain)


def facts_of(client: EvmClient, hash_: str) -> TransactionFacts:
    found: list[TransactionFacts | None] = []

    def is_read() -> bool:
        snapshot = client.look_up([hash_], with_finality=False)
        found[:] = [snapshot.transactions[hash_]]
        return not snapshot.contradicted

    eventually(is_read, "the transaction was read", 60)
    (facts,) = found
    assert facts is not None
    return facts


def every_frame(change: Callable[[Json], Json]) -> Callable[[Json, Json], Json | None]:
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
        without("calls"),
        with_logs(lambda logs: [without("position")(log) for log in logs]),
        unknown_kind,
    ],
    ids=["cut off", "no order", "unknown kind"],
)
def test_incomplete_trace_binds_nothing_and_refutes_nothing(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, shouter: Shouter, change: Any
) -> None:
    sent = shouter.pay(1, local_chain.recipient, 5, REFERENCE)
    [node] = nodes_of(1)
    node.break_with(call_by_call(every_frame(change)))
    facts = facts_of(client_for([node]), sent)
    assert (facts.is_complete, facts.is_readable, facts.succeeded) == (False, True, True)
    [transfer] = facts.transfers
    assert (transfer.amount, transfer.references, transfer.made_by) == (5, (), "")


@pytest.mark.parametrize(
    "fault", [untraced, every_frame(without("logs"))], ids=["no traces", "unreadable trace"]
)
def test_discovery_reports_partly_read_payments(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, shouter: Shouter, fault: Any
) -> None:
    start = int(local_chain.rpc("eth_blockNumber"), 16) + 1
    sent = shouter.pay(1, local_chain.recipient, 5, REFERENCE)
    shouter.pay(1, local_chain.recipient, 0, REFERENCE)
    shouter.pay(1, local_chain.recipient, 5, b"another request's")
    [node] = nodes_of(1)
    node.break_with(call_by_call(fault))
    watch = Watch(REFERENCE, local_chain.usdc, local_chain.recipient)
    assert client_for([node]).discover([watch], since_block=start).found == ((REFERENCE, sent),)


def test_discovery_skips_references_in_another_calls_input(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    """The reference is in another call's input, not after the arguments of the call that paid."""
    start = int(local_chain.rpc("eth_blockNumber"), 16) + 1
    local_chain.transfer(local_chain.usdc, local_chain.recipient, 5, tail=b"\0" + REFERENCE)
    watch = Watch(REFERENCE, local_chain.usdc, local_chain.recipient)
    assert client_for(nodes_of(1)).discover([watch], since_block=start + 20).found == ()
