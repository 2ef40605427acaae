"""A node that limits the size of batches counts as healthy, and no payment fails because of it."""

import threading
from collections.abc import Callable

import pytest
from django.utils import timezone

from chains.client import ChainClient
from chains.families import get_client
from chains.families.evm.client import EvmClient
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import DiscoveryCursor, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.fault_proxy import Exchange, FaultProxy, proxying
from tests.support.nodes.crowds import crowd, pay_all
from tests.support.nodes.limits import REFUSALS, free_plan, helius, small_batches
from tests.support.nodes.networks import client_of, nodes_before
from tests.support.payments.world import Clock, look, make_request, submit
from tests.support.solana.ledger import LocalLedger, new_address
from tests.verifying import discover_due

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
MAX_PASSES = 50


def transfers(chain: LocalChain, count: int) -> list[str]:
    return [chain.transfer(chain.usdc, chain.recipient, 1) for _ in range(count)]


def found_in_all(clock: Clock, wanted: int, client: Callable[[Chain], ChainClient] = get_client) -> int:
    """Search until this many more payments are stored; return how many were stored.

    A pass ends with its lease, and then doesn't report how many it found. A slow machine needs more passes.
    """
    before = Payment.objects.count()
    for _ in range(MAX_PASSES):
        discover_due(client=client, now=clock)
        if Payment.objects.count() - before >= wanted:
            break
        clock.forward(seconds=10)
    return Payment.objects.count() - before


def oversized_batches(node: FaultProxy, most: int) -> int:
    return sum(len(methods) > most for methods in node.asked)


@pytest.mark.parametrize("rejection", REFUSALS)
def test_rejected_batches_are_split_and_the_limit_remembered(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, rejection: str
) -> None:
    [node] = nodes_of(1)
    hashes = transfers(local_chain, 12)
    node.break_with(small_batches(3, REFUSALS[rejection]))
    client = client_for([node])
    for _ in range(2):
        found = client.look_up(hashes, with_finality=True)
        assert [facts.block is not None for facts in found.transactions.values() if facts] == [True] * 12
        assert not found.contradicted
    assert client.health()[0].state == "answering"
    assert client.health()[0].last_error == ""
    node.asked.clear()
    client.look_up(hashes, with_finality=True)
    assert oversized_batches(node, 3) == 0
    # 24 calls for the transactions, and 16 for the chain id, three block tags and twelve blocks.
    assert node.round_trips == 24 // 3 + -(-16 // 3)


def test_small_batches_are_sent_eight_at_a_time(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    [node] = nodes_of(1)
    hashes = transfers(local_chain, 20)
    node.break_with(small_batches(1))
    client = client_for([node])
    client.look_up(hashes, with_finality=False)
    gate = Gate(8)
    node.break_with(small_batches(1, otherwise=gate.hold))
    client.look_up(hashes, with_finality=False)
    assert gate.most == 8


class Gate:
    """Holds requests until this many have arrived, and counts how many it holds at a time."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.most = self.now = 0
        self._condition = threading.Condition()

    def hold(self, exchange: Exchange) -> None:
        with self._condition:
            self.now += 1
            self.most = max(self.most, self.now)
            self._condition.notify_all()
            self._condition.wait_for(lambda: self.most >= self.wanted, 10)
        exchange.reply(exchange.truth())
        with self._condition:
            self.now -= 1


def test_submitted_payments_complete_through_a_free_plan(
    merchant: Merchant, usdc: Token, ether: Token, chain: Chain, local_chain: LocalChain
) -> None:
    clock = Clock()
    payments = crowd(merchant, usdc, local_chain, 16) + crowd(merchant, ether, local_chain, 4)
    with nodes_before(local_chain, 1) as [node]:
        node.break_with(free_plan(1, 10))
        client = client_of([node], chain.id, clock)
        assert look(clock, lambda _: client) == 20
        assert client.health()[0].state == "answering"
    assert (
        Payment.objects.filter(status=Payment.Status.COMPLETED, lookup__attempts=0).count()
        == len(payments)
        == 20
    )
    assert PaymentRequest.objects.filter(status="completed").count() == 20


def test_unsubmitted_payments_complete_through_a_free_plan(
    merchant: Merchant, usdc: Token, chain: Chain, local_chain: LocalChain
) -> None:
    clock = Clock()
    DiscoveryCursor.objects.create(chain=chain, next_block=int(local_chain.rpc("eth_blockNumber"), 16) + 1)
    requests = [make_request(merchant, usdc, "1", local_chain.recipient) for _ in range(20)]
    PaymentRequest.objects.update(link_shown_at=clock())
    sent = pay_all(local_chain, requests)
    with nodes_before(local_chain, 1) as [node]:
        node.break_with(free_plan(1, 10))
        client = client_of([node], chain.id, clock)
        assert found_in_all(clock, 20, lambda _: client) == 20
        assert set(Payment.objects.values_list("transaction_hash", flat=True)) == set(sent)
        assert look(clock, lambda _: client) == 20
        assert client.health()[0].state == "answering"
    assert PaymentRequest.objects.filter(status="completed", amount_paid=1_000_000).count() == 20


def test_solana_payments_complete_through_single_calls(
    merchant: Merchant, solana: Chain, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    """Half of the hashes are submitted. Discovery finds the other payments."""
    recipient = new_address()
    requests = [make_request(merchant, solana_usdc, "1", recipient) for _ in range(20)]
    PaymentRequest.objects.update(link_shown_at=timezone.now())
    signatures = [
        local_ledger.send(local_ledger.token_move(recipient, 1_000_000, bytes(request.reference)))
        for request in requests
    ]
    for signature in signatures:
        local_ledger.finalize(signature)
    for request, signature in zip(requests[:10], signatures[:10], strict=True):
        submit(request, signature)
    with proxying(local_ledger.url) as node:
        node.break_with(small_batches(1, helius))
        solana.rpc_urls = [node.url]
        solana.save()
        clock = Clock()
        assert found_in_all(clock, 10) == 10
        for _ in range(20):
            look(clock)
            if Payment.objects.filter(status=Payment.Status.COMPLETED).count() == 20:
                break
            clock.forward(seconds=2)
        assert get_client(solana).health()[0].state == "answering"
        assert oversized_batches(node, 1) > 0
    assert set(Payment.objects.values_list("transaction_hash", "status")) == {
        (signature, "completed") for signature in signatures
    }
    assert PaymentRequest.objects.filter(status="completed", amount_paid=1_000_000).count() == 20
