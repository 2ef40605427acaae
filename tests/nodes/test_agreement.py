"""What several nodes say is put together so that no single one decides, and none that lags denies a transaction."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chains.clients import node_urls
from chains.clients.agreement import _both
from chains.clients.base import Block, ChainError, TransactionFacts, Transfer
from chains.clients.evm import EvmClient
from chains.models import Chain
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.nodes.conftest import NodeTime
from tests.nodes.networks import changed

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
UNKNOWN = "0x" + "ab" * 32


@pytest.fixture
def mined(local_chain: LocalChain) -> str:
    return local_chain.transfer(local_chain.usdc, local_chain.recipient, 5_000_000, tail=b"r" * 16)


def facts_of(client: EvmClient, transaction_hash: str) -> TransactionFacts | None:
    return client.look_up([transaction_hash], with_finality=False).transactions[transaction_hash]


def asked_for_transactions(node: FaultProxy) -> list[str]:
    """Return the hashes that the node was asked for."""
    questions = [q for body in node.bodies for q in (body if isinstance(body, list) else [body])]
    return [q["params"][0] for q in questions if q["method"] == "eth_getTransactionByHash"]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_not_found_is_believed_only_after_every_node_was_asked(
    nodes_of: Nodes, client_for: Clients, mined: str, count: int
) -> None:
    nodes = nodes_of(count)
    for node in nodes[:-1]:
        node.break_with(fault_proxy.forgetful)
    client = client_for(nodes)
    snapshot = client.look_up([mined, UNKNOWN], with_finality=False)
    assert snapshot.transactions[UNKNOWN] is None
    facts = snapshot.transactions[mined]
    assert facts is not None, "one node knows it"
    assert (facts.block is not None) is (count == 2), "with three or more, one node's word is no block"
    assert not snapshot.contradicted
    assert all(UNKNOWN in asked_for_transactions(node) for node in nodes)


def test_with_two_nodes_the_second_is_asked_only_for_what_the_first_does_not_know(
    nodes_of: Nodes, client_for: Clients, mined: str
) -> None:
    nodes = nodes_of(2)
    client_for(nodes).look_up([mined, UNKNOWN], with_finality=False)
    assert asked_for_transactions(nodes[0]) == [mined, UNKNOWN]
    assert asked_for_transactions(nodes[1]) == [UNKNOWN]


def test_with_three_the_third_is_asked_only_where_the_first_two_differ(
    nodes_of: Nodes, client_for: Clients, mined: str, local_chain: LocalChain
) -> None:
    other = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    nodes = nodes_of(3)
    client = client_for(nodes)
    client.look_up([mined, other], with_finality=False)
    assert asked_for_transactions(nodes[2]) == []
    nodes[1].break_with(
        fault_proxy.forged_receipts(
            lambda receipt: {**receipt, "logs": []} if receipt["transactionHash"] == other else receipt
        )
    )
    snapshot = client.look_up([mined, other], with_finality=False)
    assert asked_for_transactions(nodes[2]) == [other]
    facts = snapshot.transactions[other]
    assert facts is not None
    assert [transfer.amount for transfer in facts.transfers] == [1]
    assert [node.state.value for node in client.health()] == ["answering", "contradicted", "answering"]


def test_a_contradiction_concerns_its_own_transaction_alone(
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


def test_with_three_configured_one_that_answers_is_not_enough(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, mined: str
) -> None:
    nodes = nodes_of(3)
    client = client_for(nodes)
    for node in nodes[1:]:
        node.break_with(fault_proxy.server_error)
    for _ in range(2):  # asked, and then resting
        with pytest.raises(ChainError, match="two have to agree") as failed:
            facts_of(client, mined)
        assert not failed.value.permanent
    nodes[1].heal()
    time.now += 5
    facts = facts_of(client, mined)
    assert facts is not None
    assert facts.succeeded


def test_a_node_that_stands_in_the_catalogue_twice_is_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAME_RPC_URL", "https://node.example/a")
    urls = ["env:SAME_RPC_URL", "https://node.example/b", "https://node.example/a", "env:NOT_SET_RPC_URL"]
    assert node_urls(Chain(id=1, rpc_urls=urls)) == ("https://node.example/a", "https://node.example/b")


def test_with_two_configured_one_that_answers_is_enough(
    nodes_of: Nodes, client_for: Clients, mined: str
) -> None:
    nodes = nodes_of(2)
    nodes[0].break_with(fault_proxy.reset)
    facts = facts_of(client_for(nodes), mined)
    assert facts is not None
    assert facts.succeeded


def test_a_nonce_that_one_node_alone_tells_of_is_not_told(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    local_chain.rpc("evm_setAutomine", False)
    try:
        waiting = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
        nodes = nodes_of(3)
        honest = facts_of(client_for(nodes), waiting)
        nodes[0].break_with(fault_proxy.forged("eth_getTransactionByHash", changed(nonce="0x0")))
        doubtful = facts_of(client_for(nodes), waiting)
    finally:
        local_chain.rpc("evm_setAutomine", True)
        local_chain.mine()
    assert honest is not None
    assert doubtful is not None
    assert honest.nonce is not None
    assert (honest.block, doubtful.block, doubtful.nonce) == (None, None, None)


def test_a_senders_count_is_the_lower_of_two(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    nodes = nodes_of(3)
    true_count = int(local_chain.rpc("eth_getTransactionCount", local_chain.payer, "latest"), 16)
    nodes[0].break_with(fault_proxy.forged("eth_getTransactionCount", lambda _: hex(10**6)))
    assert client_for(nodes).transaction_counts([local_chain.payer]) == {local_chain.payer: true_count}


A, B = b"a" * 16, b"b" * 16
TOKEN = Transfer("3", "0xT", "0xS", "0xR", 5, (A,))
INNER = Transfer("0.1", "", "0xS", "0xR", 7)
MINED = TransactionFacts(
    "0x1", "0xS", 1, Block(9, "0xB", datetime(2026, 1, 1, tzinfo=UTC)), True, (TOKEN, INNER)
)
UNTRACED = replace(MINED, transfers=(TOKEN,), is_complete=False)


def test_of_a_node_that_traces_and_one_that_can_not_only_what_both_saw_counts() -> None:
    assert _both(MINED, MINED) == MINED
    assert _both(MINED, UNTRACED) == _both(UNTRACED, MINED) == UNTRACED
    bound_otherwise = replace(UNTRACED, transfers=(replace(TOKEN, references=(A, B)),))
    assert _both(MINED, bound_otherwise) == UNTRACED
    unbound = replace(TOKEN, references=(B,))
    both = _both(MINED, replace(UNTRACED, transfers=(unbound,)))
    assert both is not None
    assert both.transfers == (replace(TOKEN, references=()),)


@pytest.mark.parametrize(
    "different",
    [
        {"succeeded": False, "transfers": ()},
        {"transfers": (TOKEN,)},
        {"transfers": ()},
        {"transfers": (replace(TOKEN, amount=6), INNER)},
        {"transfers": (replace(TOKEN, references=()), INNER)},
        {"block": replace(MINED.block or Block(0, "", datetime.now(UTC)), hash="0xC")},
        {"sender": "0xX"},
        {"nonce": 2},
    ],
    ids=str,
)
def test_facts_that_differ_anywhere_are_not_agreed_on(different: dict[str, object]) -> None:
    assert _both(MINED, replace(MINED, **different)) is None  # type: ignore[arg-type]


def test_an_untraced_transfer_that_the_trace_denies_is_not_agreed_on() -> None:
    invented = replace(TOKEN, slot="4")
    assert _both(MINED, replace(UNTRACED, transfers=(TOKEN, invented))) is None


def test_of_two_commitments_the_weaker_counts() -> None:
    confirmed, finalized = replace(MINED, commitment="confirmed"), replace(MINED, commitment="finalized")
    assert _both(confirmed, finalized) == confirmed
    assert _both(finalized, finalized) == finalized
