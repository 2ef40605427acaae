"""After one rejected trace, the node is still used for traces: one URL can lead to many nodes."""

from collections.abc import Callable
from itertools import count

from chains.families.evm.client import EvmClient
from chains.families.evm.transactions import tracing
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import Exchange, FaultProxy, Json
from tests.support.chains.mining import mined
from tests.support.nodes.fixtures import NodeTime
from tests.support.nodes.limits import call_by_call, untraced

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
TRACE = "debug_traceTransaction"


def called(chain: LocalChain) -> str:
    """Mine a transaction that can't be decided without its trace; return its hash."""
    return mined(chain, chain.transfer("", chain.usdc, 0, tail=bytes.fromhex("095ea7b3") + bytes(64)))


def rejecting(*hashes: str) -> fault_proxy.Fault:
    """Reject only the traces of these transactions."""

    def reject(question: Json, truth: Json) -> Json | None:
        return untraced(question, truth) if question["params"][0] in hashes else None

    return call_by_call(lambda q, a: reject(q, a) if q["method"] == TRACE else None)


def completeness(client: EvmClient, *hashes: str) -> dict[str, bool | None]:
    """Return whether the facts of each transaction are complete; None if it could not be read."""
    found = client.look_up(hashes, with_finality=False)
    return {
        hash_: None if hash_ in found.contradicted or facts is None else facts.is_complete
        for hash_, facts in found.transactions.items()
    }


def test_rejected_trace_affects_only_its_own_transaction(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, time: NodeTime
) -> None:
    [node] = nodes_of(1)
    refused, other, later = (called(local_chain) for _ in range(3))
    node.break_with(rejecting(refused))
    client = client_for([node])
    assert completeness(client, refused, other) == {refused: None, other: True}
    assert completeness(client, refused) == {refused: None}
    assert completeness(client, later) == {later: True}
    node.heal()
    time.now += tracing.LONGEST_PAUSE_SECONDS
    assert completeness(client, refused) == {refused: True}


def test_rejected_trace_of_a_stranger_keeps_tracing_on(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, time: NodeTime
) -> None:
    """The node has traced nothing yet, and each lookup contains only this transaction."""
    [node] = nodes_of(1)
    strangers, other = called(local_chain), called(local_chain)
    node.break_with(rejecting(strangers))
    client = client_for([node])
    for _ in range(10):
        assert completeness(client, strangers) == {strangers: None}
        time.now += tracing.PRESUMED_UNABLE_AFTER_SECONDS
    assert completeness(client, other) == {other: True}


def test_trace_is_retried_if_one_backend_in_four_rejects_it(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, time: NodeTime
) -> None:
    [node] = nodes_of(1)
    turns = count()

    def balanced(exchange: Exchange) -> None:
        is_old = TRACE in exchange.methods and next(turns) % 4 == 0
        (call_by_call(untraced) if is_old else fault_proxy.truth)(exchange)

    node.break_with(balanced)
    client = client_for([node])
    for _ in range(6):
        hash_ = called(local_chain)
        answers = []
        for _ in range(3):
            answers.append(completeness(client, hash_)[hash_])
            time.now += 30
        assert answers[-1] is True
        assert False not in answers, "nothing is decided without the trace"


def test_node_that_stops_tracing_is_untraced_after_minutes(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, time: NodeTime
) -> None:
    [node] = nodes_of(1)
    before, after = called(local_chain), called(local_chain)
    client = client_for([node])
    assert completeness(client, before) == {before: True}
    node.break_with(call_by_call(untraced))
    assert completeness(client, after) == {after: None}
    time.now += tracing.PRESUMED_UNABLE_AFTER_SECONDS
    assert completeness(client, after) == {after: False}
    node.heal()
    time.now += tracing.UNABLE_SECONDS
    assert completeness(client, after) == {after: True}


def test_node_that_never_traced_is_untraced_at_once(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    [node] = nodes_of(1)
    hash_ = called(local_chain)
    node.break_with(call_by_call(untraced))
    client = client_for([node])
    assert completeness(client, hash_) == {hash_: False}
    asked = sum(methods.count(TRACE) for methods in node.asked)
    assert completeness(client, called(local_chain)).popitem()[1] is False
    assert sum(methods.count(TRACE) for methods in node.asked) == asked


def test_failing_trace_of_a_stranger_keeps_tracing_on(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, time: NodeTime
) -> None:
    [node] = nodes_of(1)
    strangers, other = called(local_chain), called(local_chain)

    def fail(exchange: Exchange) -> None:
        is_asked = any(q["method"] == TRACE and q["params"][0] == strangers for q in exchange.questions)
        (fault_proxy.server_error if is_asked else fault_proxy.truth)(exchange)

    node.break_with(fail)
    client = client_for([node])
    for _ in range(2 * tracing.PRESUMED_UNABLE_AFTER_FAILURES):
        assert completeness(client, strangers) == {strangers: None}
        time.now += tracing.PRESUMED_UNABLE_AFTER_SECONDS
    assert completeness(client, other) == {other: True}
