"""A connection cut, or an answer garbled, because of one transaction costs the other payments nothing."""

from collections.abc import Callable

import pytest

from chains.clients.base import ChainError
from chains.clients.evm import EvmClient
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import Exchange, Fault, FaultProxy

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
RECEIPT = "eth_getTransactionReceipt"


def odd_error(exchange: Exchange) -> None:
    """The truth, but for receipts, whose errors are not those of JSON-RPC."""
    answers = exchange.truth()
    for question, answer in zip(exchange.questions, answers, strict=True):
        if question["method"] == RECEIPT:
            del answer["result"]
            answer["error"] = "internal"
    exchange.reply(answers)


def at(poison: str, fault: Fault) -> Fault:
    """Fail so at each request that asks for this transaction's receipt, and answer truly otherwise."""

    def answer(exchange: Exchange) -> None:
        if any(q["method"] == RECEIPT and q["params"] == [poison] for q in exchange.questions):
            fault(exchange)
        else:
            exchange.reply(exchange.truth())

    return answer


@pytest.mark.parametrize(
    "fault", [fault_proxy.reset, fault_proxy.truncated, fault_proxy.html, odd_error], ids=range(4)
)
def test_a_transaction_at_which_the_node_breaks_off_stops_no_other(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, fault: Fault
) -> None:
    [node] = nodes_of(1)
    hashes = [local_chain.transfer(local_chain.usdc, local_chain.recipient, 1) for _ in range(20)]
    poison = hashes[7]
    node.break_with(at(poison, fault))
    client = client_for([node])
    found = client.look_up(hashes, with_finality=False)
    assert found.contradicted == {poison}, "it is looked at again, and nothing is said of it"
    assert all(facts and facts.block for hash_, facts in found.transactions.items() if hash_ != poison)
    assert node.round_trips < 30
    assert client.health()[0].state == "answering"


def test_a_node_that_cuts_every_connection_is_asked_a_few_times_alone(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    [node] = nodes_of(1)
    hashes = [local_chain.transfer(local_chain.usdc, local_chain.recipient, 1) for _ in range(20)]
    client = client_for([node])
    client.chain_id()
    node.break_with(fault_proxy.reset)
    node.asked.clear()
    with pytest.raises(ChainError):
        client.look_up(hashes, with_finality=False)
    assert node.round_trips <= 4
    assert client.health()[0].state == "failing"
