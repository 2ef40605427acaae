"""One refusal of a trace is not the node's word that it has none: behind one address may be many nodes."""

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
    """Return a mined transaction that is judged by its trace."""
    return mined(chain, chain.transfer("", chain.usdc, 0, tail=bytes.fromhex("095ea7b3") + bytes(64)))


def refusing(*hashes: str) -> fault_proxy.Fault:
    """Refuse the traces of these alone."""

    def refuse(question: Json, truth: Json) -> Json | None:
        return untraced(question, truth) if question["params"][0] in hashes else None

    return call_by_call(lambda q, a: refuse(q, a) if q["method"] == TRACE else None)


def told(client: EvmClient, *hashes: str) -> dict[str, bool | None]:
    """Return of which transactions all is known, and of which it is not; None for those without an answer."""
    found = client.look_up(hashes, with_finality=False)
    return {
        hash_: None if hash_ in found.contradicted or facts is None else facts.is_complete
        for hash_, facts in found.transactions.items()
    }


def test_a_trace_that_is_refused_beside_others_concerns_its_own_transaction_alone(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, time: NodeTime
) -> None:
    [node] = nodes_of(1)
    refused, other, later = (called(local_chain) for _ in range(3))
    node.break_with(refusing(refused))
    client = client_for([node])
    assert told(client, refused, other) == {refused: None, other: True}
    assert told(client, refused) == {refused: None}
    assert told(client, later) == {later: True}
    node.heal()
    time.now += tracing.LONGEST_PAUSE_SECONDS
    assert told(client, refused) == {refused: True}


def test_a_stranger_whose_trace_is_refused_takes_no_traces_from_the_others(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, time: NodeTime
) -> None:
    """Alone in its look, at a node that has not traced yet, and for however long it is looked at."""
    [node] = nodes_of(1)
    strangers, other = called(local_chain), called(local_chain)
    node.break_with(refusing(strangers))
    client = client_for([node])
    for _ in range(10):
        assert told(client, strangers) == {strangers: None}
        time.now += tracing.PRESUMED_UNABLE_AFTER_SECONDS
    assert told(client, other) == {other: True}


def test_a_node_of_which_one_member_in_four_does_not_trace_is_asked_again(
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
            answers.append(told(client, hash_)[hash_])
            time.now += 30
        assert answers[-1] is True
        assert False not in answers, "nothing is decided without the trace"


def test_a_node_that_no_longer_traces_is_believed_after_some_minutes(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, time: NodeTime
) -> None:
    [node] = nodes_of(1)
    before, after = called(local_chain), called(local_chain)
    client = client_for([node])
    assert told(client, before) == {before: True}
    node.break_with(call_by_call(untraced))
    assert told(client, after) == {after: None}
    time.now += tracing.PRESUMED_UNABLE_AFTER_SECONDS
    assert told(client, after) == {after: False}
    node.heal()
    time.now += tracing.UNABLE_SECONDS
    assert told(client, after) == {after: True}


def test_a_node_that_never_traced_is_believed_at_once(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    [node] = nodes_of(1)
    hash_ = called(local_chain)
    node.break_with(call_by_call(untraced))
    client = client_for([node])
    assert told(client, hash_) == {hash_: False}
    asked = sum(methods.count(TRACE) for methods in node.asked)
    assert told(client, called(local_chain)).popitem()[1] is False
    assert sum(methods.count(TRACE) for methods in node.asked) == asked


def test_a_stranger_at_whose_trace_the_node_fails_for_long_takes_no_traces_from_the_others(
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
        assert told(client, strangers) == {strangers: None}
        time.now += tracing.PRESUMED_UNABLE_AFTER_SECONDS
    assert told(client, other) == {other: True}
