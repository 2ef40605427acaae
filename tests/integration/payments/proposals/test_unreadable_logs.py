"""Nodes no longer return the blocks in which a proposal's search begins. Other proposals continue, and it ends."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import requests

from chains.models import Chain
from payments.models import FailureCode, Lookup, Payment, PaymentRequest
from payments.requests.lifecycle import cancel_request
from tests.chain import LocalChain
from tests.conftest import Api
from tests.integration.threats.accounts.test_proposals import made_up
from tests.support.chains.faulty_node import Exchange, serving
from tests.support.payments.proposing import Customer, search, verify
from tests.support.payments.world import Clock
from tests.support.threats.evm_world import World
from tests.verifying import search_proposals
from webhooks.models import Event

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]


@dataclass
class PrunedNode:
    """A node that returns no logs of blocks before `oldest`."""

    oldest: int


@pytest.fixture
def node(chain: Chain, local_chain: LocalChain) -> Iterator[PrunedNode]:
    """The chain's node. It returns logs from the newest block on."""
    local_chain.mine()
    pruned = PrunedNode(int(local_chain.rpc("eth_blockNumber"), 16))
    fault = {"code": -32000, "message": "old data not available due to pruning"}

    def answer(exchange: Exchange) -> None:
        responses = []
        for question in exchange.questions:
            is_pruned = (
                question["method"] == "eth_getLogs"
                and int(question["params"][0]["fromBlock"], 16) < pruned.oldest
            )
            responses.append(
                {"jsonrpc": "2.0", "id": question["id"], "error": fault}
                if is_pruned
                else requests.post(local_chain.url, json=question, timeout=30).json()
            )
        exchange.reply(responses if isinstance(exchange.asked, list) else responses[0])

    with serving(answer) as served:
        chain.rpc_urls = [served.url]
        chain.save()
        yield pruned


def invented(public: Api, request: PaymentRequest, world: World, block: int) -> Payment:
    """Submit an invented id whose search begins at the block."""
    customer = Customer(public, request)
    assert customer.submit(made_up(0), customer.route(world.safe().address)).status_code == 201
    payment = request.payments.get()
    Lookup.objects.filter(of_payment=payment).update(proposal_block=block)
    return payment


def test_invented_id_in_pruned_blocks_stops_no_other(
    world: World, ask: Ask, public: Api, node: PrunedNode
) -> None:
    clock = Clock()
    payment = invented(public, ask(), world, node.oldest - 1)
    proposed, paid = Customer(public, ask()).propose(world.safe())
    Lookup.objects.filter(of_payment=paid).update(proposal_block=node.oldest)
    sent = proposed.execute()
    assert verify(paid, clock).status == Payment.Status.COMPLETED
    assert paid.transaction_hash == sent
    payment.refresh_from_db()
    assert (payment.status, payment.lookup.proposal_block) == (Payment.Status.PENDING, node.oldest - 1)


def test_search_of_pruned_blocks_pauses_and_ends_after_two_days(
    world: World, ask: Ask, public: Api, node: PrunedNode
) -> None:
    request, clock = ask(), Clock()
    payment = invented(public, request, world, node.oldest - 1)
    cancel_request(request.pk, actor="test")
    search(payment, clock)
    assert search_proposals(now=clock) == 0, "it is paused"
    clock.forward(hours=47)
    assert search(payment, clock).status == Payment.Status.PENDING, "nodes may return the logs later"
    clock.forward(hours=1, minutes=1)
    ended_at = clock()
    search(payment, clock)
    assert (payment.status, payment.failure_code) == ("failed", FailureCode.TRANSACTION_NOT_FOUND)
    assert payment.failed_at is not None
    assert payment.failed_at >= ended_at
    assert not Event.objects.filter(merchant=request.merchant).exists()


def test_search_does_not_end_while_no_node_returns_logs(
    world: World, ask: Ask, public: Api, node: PrunedNode
) -> None:
    request, clock = ask(), Clock()
    proposed, payment = Customer(public, request).propose(world.safe())
    cancel_request(request.pk, actor="test")
    node.oldest = 10**9
    clock.forward(days=3)
    assert search(payment, clock).status == Payment.Status.PENDING
    node.oldest = 0
    proposed.execute()
    assert verify(payment, clock).status == Payment.Status.COMPLETED
