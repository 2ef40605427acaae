"""Two nodes must agree. A transaction counts as not found only after every node was queried."""

from collections.abc import Callable

import pytest

from chains.client import ChainError, TransactionFacts
from chains.families.evm.client import EvmClient
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.support.nodes.fixtures import NodeTime
from tests.support.nodes.networks import changed

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
UNKNOWN = "0x" + "ab" * 32


@pytest.fixture
def mined(local_chain: LocalChain) -> str:
    return local_chain.transfer(local_chain.usdc, local_chain.recipient, 5_000_000, tail=b"r" * 16)


def facts_of(client: EvmClient, transaction_hash: str) -> TransactionFacts | None:
    return client.look_up([transaction_hash], with_finality=False).transactions[transaction_hash]


def queried_hashes(node: FaultProxy) -> list[str]:
    questions = [q for body in node.bodies for q in (body if isinstance(body, list) else [body])]
    return [q["params"][0] for q in questions if q["method"] == "eth_getTransactionByHash"]


@pytest.mark.parametrize("count", [2, 3])
def test_not_found_needs_a_response_from_every_node(
    nodes_of: Nodes, client_for: Clients, mined: str, count: int
) -> None:
    nodes = nodes_of(count)
    for node in nodes[:-1]:
        node.break_with(fault_proxy.forgetful)
    client = client_for(nodes)
    snapshot = client.look_up([mined, UNKNOWN], with_finality=False)
    assert snapshot.transactions[UNKNOWN] is None
    facts = snapshot.transactions[mined]
    assert facts is not None, "one node has it"
    assert (facts.block is not None) is (count == 2), "with three or more, one node alone proves no block"
    assert not snapshot.contradicted
    assert all(UNKNOWN in queried_hashes(node) for node in nodes)


def test_second_of_two_nodes_gets_only_unknown_hashes(
    nodes_of: Nodes, client_for: Clients, mined: str
) -> None:
    nodes = nodes_of(2)
    client_for(nodes).look_up([mined, UNKNOWN], with_finality=False)
    assert queried_hashes(nodes[0]) == [mined, UNKNOWN]
    assert queried_hashes(nodes[1]) == [UNKNOWN]


def test_third_node_gets_only_hashes_on_which_two_differ(
    nodes_of: Nodes, client_for: Clients, mined: str, local_chain: LocalChain
) -> None:
    other = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    nodes = nodes_of(3)
    client = client_for(nodes)
    client.look_up([mined, other], with_finality=False)
    assert queried_hashes(nodes[2]) == []
    nodes[1].break_with(
        fault_proxy.forged_receipts(
            lambda receipt: {**receipt, "logs": []} if receipt["transactionHash"] == other else receipt
        )
    )
    snapshot = client.look_up([mined, other], with_finality=False)
    assert queried_hashes(nodes[2]) == [other]
    facts = snapshot.transactions[other]
    assert facts is not None
    assert [transfer.amount for transfer in facts.transfers] == [1]
    assert [node.state.value for node in client.health()] == ["answering", "contradicted", "answering"]


def test_contradiction_affects_only_its_own_transaction(
    nodes_of: Nodes, client_for: Clients, mined: str, local_chain: LocalChain
) -> None:
    disputed = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    nodes = nodes_of(3)
    for number, node in enumerate(nodes[:2]):
        lie = changed(logs=[], status=hex(number))
        node.break_with(
            fault_proxy.forged_receipts(
                lambda receipt, lie=lie: lie(receipt) if receipt["transactionHash"] == disputed else receipt
            )
        )
    snapshot = client_for(nodes).look_up([mined, disputed], with_finality=False)
    assert snapshot.contradicted == {disputed}
    facts, trusted = snapshot.transactions[disputed], snapshot.transactions[mined]
    assert facts is not None
    assert (facts.block, facts.succeeded, facts.transfers) == (None, False, ())
    assert trusted is not None
    assert trusted.succeeded


def test_one_of_three_nodes_is_no_quorum(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, mined: str
) -> None:
    nodes = nodes_of(3)
    client = client_for(nodes)
    for node in nodes[1:]:
        node.break_with(fault_proxy.server_error)
    for _ in range(2):  # first queried, then in its cooldown
        with pytest.raises(ChainError, match="two must agree") as failed:
            facts_of(client, mined)
        assert not failed.value.permanent
    nodes[1].heal()
    time.now += 5
    facts = facts_of(client, mined)
    assert facts is not None
    assert facts.succeeded


def test_transaction_count_is_the_lower_of_two_nodes(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    nodes = nodes_of(3)
    true_count = int(local_chain.rpc("eth_getTransactionCount", local_chain.payer, "latest"), 16)
    nodes[0].break_with(fault_proxy.forged("eth_getTransactionCount", lambda _: hex(10**6)))
    assert client_for(nodes).transaction_counts([local_chain.payer]) == {local_chain.payer: true_count}


@pytest.mark.parametrize(("saying_yes", "is_signed"), [(1, False), (2, True)])
def test_contract_signature_needs_two_nodes(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, saying_yes: int, is_signed: bool
) -> None:
    def says(word: str) -> fault_proxy.Fault:
        def reply(exchange: fault_proxy.Exchange) -> None:
            called = {q["id"] for q in exchange.questions if q["method"] == "eth_call"}
            others = [a for a in exchange.truth() if a["id"] not in called]
            exchange.reply(others + [{"jsonrpc": "2.0", "id": id_, "result": word} for id_ in called])

        return reply

    nodes = nodes_of(3)
    for place, node in enumerate(nodes):
        node.break_with(says("0x1626ba7e" + "00" * 28 if place < saying_yes else "0x"))
    assert client_for(nodes).is_signed_by(local_chain.usdc, "I will pay.", "0x12") is is_signed
