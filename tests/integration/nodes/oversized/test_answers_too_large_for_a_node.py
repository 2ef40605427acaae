"""If a transaction's response exceeds a node's limit, it is queried separately, however the node reports the limit."""

from collections.abc import Callable

import pytest

from chains.client import ChainError, Snapshot
from chains.families.evm.client import EvmClient
from tests.chain import LocalChain
from tests.fault_proxy import Exchange, Fault, FaultProxy
from tests.processes import eventually
from tests.support.nodes.limits import TOO_LARGE, small_answers
from tests.support.nodes.oversized import Shouter

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
REFERENCE = b"G" * 16
MAX_BYTES = 64 * 1024
RECEIPT = "eth_getTransactionReceipt"


@pytest.fixture
def oversized(local_chain: LocalChain) -> str:
    """A payment whose receipt and trace exceed the node's limit."""
    return Shouter.place(local_chain).pay(400, local_chain.recipient, 5, REFERENCE)


def until_read(client: EvmClient, hashes: list[str]) -> Snapshot:
    """Look up until every transaction is read."""
    last: list[Snapshot] = []

    def is_read() -> bool:
        last[:] = [client.look_up(hashes, with_finality=True)]
        return not last[0].contradicted

    eventually(is_read, "every transaction was until_read for", 60)
    return last[0]


@pytest.mark.parametrize("refuse", TOO_LARGE, ids=lambda refuse: refuse.__name__)
def test_unsent_transaction_is_unreadable_and_others_are_read(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, oversized: str, refuse: Fault
) -> None:
    plain = [local_chain.transfer(local_chain.usdc, local_chain.recipient, 1) for _ in range(6)]
    [node] = nodes_of(1)
    node.break_with(small_answers(MAX_BYTES, refuse))
    client = client_for([node])
    snapshot = until_read(client, [*plain[:3], oversized, *plain[3:]])
    facts = snapshot.transactions[oversized]
    assert facts is not None
    assert facts.block is not None
    assert (facts.is_readable, facts.transfers) == (False, ())
    assert all((found := snapshot.transactions[hash_]) and found.is_readable for hash_ in plain)
    health = client.health()[0]
    assert (health.state, health.last_error) == ("answering", "")


def test_unsent_transaction_is_read_from_another_node(
    nodes_of: Nodes, client_for: Clients, oversized: str
) -> None:
    limited, other = nodes_of(2)
    limited.break_with(small_answers(MAX_BYTES))
    client = client_for([limited, other])
    facts = until_read(client, [oversized]).transactions[oversized]
    assert facts is not None
    assert facts.is_readable
    assert [transfer.references for transfer in facts.transfers] == [(REFERENCE,)]
    assert [health.state for health in client.health()] == ["answering", "answering"]


def test_gateway_error_page_makes_no_transaction_unreadable(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, oversized: str
) -> None:
    [node] = nodes_of(1)

    def down(exchange: Exchange) -> None:
        page = b"<html><style>h1 { font-size: 2em }</style><h1>Invalid response</h1><p>size</p></html>"
        exchange.send(502, page, Content_Type="text/html")

    client = client_for([node])
    until_read(client, [oversized])
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
    facts = until_read(client, [oversized]).transactions[oversized]
    assert facts is not None
    assert facts.is_readable
