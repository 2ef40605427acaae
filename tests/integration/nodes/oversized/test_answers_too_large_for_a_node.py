"""A node that does not send an answer of some size says so in its own way: the transaction behind it is set apart."""

from collections.abc import Callable

import pytest

from chains.client import ChainError, Snapshot
from chains.families.evm.client import EvmClient
from tests.chain import LocalChain
from tests.fault_proxy import Exchange, Fault, FaultProxy
from tests.processes import eventually
from tests.support.nodes.limits import TOO_LARGE, by_one_error, by_words, small_answers
from tests.support.nodes.oversized import Shouter

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
REFERENCE = b"G" * 16
MOST_BYTES = 64 * 1024
RECEIPT = "eth_getTransactionReceipt"


@pytest.fixture
def oversized(local_chain: LocalChain) -> str:
    """A payment whose receipt and trace are larger than what the node sends."""
    return Shouter.place(local_chain).pay(400, local_chain.recipient, 5, REFERENCE)


def answered(client: EvmClient, hashes: list[str]) -> Snapshot:
    """Look until there is an answer for each."""
    last: list[Snapshot] = []

    def is_answered() -> bool:
        last[:] = [client.look_up(hashes, with_finality=True)]
        return not last[0].contradicted

    eventually(is_answered, "every transaction was answered for", 60)
    return last[0]


@pytest.mark.parametrize("refuse", TOO_LARGE, ids=lambda refuse: refuse.__name__)
def test_the_transaction_is_not_readable_and_the_others_are(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, oversized: str, refuse: Fault
) -> None:
    plain = [local_chain.transfer(local_chain.usdc, local_chain.recipient, 1) for _ in range(6)]
    [node] = nodes_of(1)
    node.break_with(small_answers(MOST_BYTES, refuse))
    client = client_for([node])
    snapshot = answered(client, [*plain[:3], oversized, *plain[3:]])
    facts = snapshot.transactions[oversized]
    assert facts is not None
    assert facts.block is not None
    assert (facts.is_readable, facts.transfers) == (False, ())
    assert all((found := snapshot.transactions[hash_]) and found.is_readable for hash_ in plain)
    health = client.health()[0]
    assert (health.state, health.last_error) == ("answering", "")


def test_what_one_node_does_not_send_another_does(
    nodes_of: Nodes, client_for: Clients, oversized: str
) -> None:
    limited, other = nodes_of(2)
    limited.break_with(small_answers(MOST_BYTES))
    client = client_for([limited, other])
    facts = answered(client, [oversized]).transactions[oversized]
    assert facts is not None
    assert facts.is_readable
    assert [transfer.references for transfer in facts.transfers] == [(REFERENCE,)]
    assert [health.state for health in client.health()] == ["answering", "answering"]


@pytest.mark.parametrize("refuse", [by_words, by_one_error])
def test_it_is_not_taken_for_a_limit_of_the_batches_size(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, oversized: str, refuse: Fault
) -> None:
    plain = [local_chain.transfer(local_chain.usdc, local_chain.recipient, 1) for _ in range(10)]
    [node] = nodes_of(1)
    node.break_with(small_answers(MOST_BYTES, refuse))
    client = client_for([node])
    answered(client, [*plain, oversized])
    node.asked.clear()
    client.look_up([*plain, oversized], with_finality=False)
    assert max(len(methods) for methods in node.asked) == 21, "all transactions, and the receipts but one"


def test_a_page_of_a_gateway_whose_node_is_down_makes_nothing_unreadable(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, oversized: str
) -> None:
    [node] = nodes_of(1)

    def down(exchange: Exchange) -> None:
        page = b"<html><style>h1 { font-size: 2em }</style><h1>Invalid response</h1><p>size</p></html>"
        exchange.send(502, page, Content_Type="text/html")

    client = client_for([node])
    answered(client, [oversized])
    client._oversized[node.url]._read.clear()
    node.break_with(down, RECEIPT)
    for _ in range(3):
        try:
            snapshot = client.look_up([oversized], with_finality=False)
        except ChainError:
            continue
        assert snapshot.contradicted == {oversized}
    node.heal()
    client = client_for([node])
    facts = answered(client, [oversized]).transactions[oversized]
    assert facts is not None
    assert facts.is_readable
