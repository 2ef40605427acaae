"""If one of three nodes lies, it can't turn another transaction into a payment."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import Exchange, Fault, FaultProxy
from tests.support.nodes.networks import client_of, nodes_before
from tests.support.payments.world import Clock, look, make_request, pay, submit, unsigned
from webhooks.models import Event

Status = Payment.Status


@pytest.fixture(scope="module")
def nodes(local_chain: LocalChain) -> Iterator[list[FaultProxy]]:
    with nodes_before(local_chain, 3) as started:
        yield started


@dataclass
class Scam:
    """Three nodes, a request of 10 USDC, and a customer who owns one of the nodes."""

    nodes: list[FaultProxy]
    chain: LocalChain
    request: PaymentRequest
    clock: Clock

    def decide(self, transaction_hash: str, *, looks: int = 12) -> Payment:
        """Submit the hash and look it up until it is decided, or up to this many times."""
        payment = submit(self.request, transaction_hash)
        client = client_of(self.nodes, self.chain.chain_id, self.clock)
        for _ in range(looks):
            look(self.clock, lambda _: client)
            payment.refresh_from_db()
            if not payment.is_open:
                break
            self.clock.forward(
                seconds=max((payment.lookup.next_check_at - self.clock()).total_seconds(), 0) + 0.01
            )
        self.request.refresh_from_db()
        return payment


@pytest.fixture
def scam(
    nodes: list[FaultProxy],
    chain: Chain,
    usdc: Token,
    merchant: Merchant,
    local_chain: LocalChain,
) -> Iterator[Scam]:
    yield Scam(nodes, local_chain, make_request(merchant, usdc, "10", local_chain.recipient), Clock())
    for node in nodes:
        node.heal()


def rewriting(*pairs: tuple[str, str]) -> Fault:
    """Replace these texts in every response."""

    def reply(exchange: Exchange) -> None:
        text = json.dumps(exchange.truth())
        for old, new in pairs:
            text = text.replace(old, new)
        exchange.reply(json.loads(text))

    return reply


def word(number: int) -> str:
    return f"{number:064x}"


def nothing_was_credited(request: PaymentRequest) -> bool:
    request.refresh_from_db()
    return not ConsumedTransfer.objects.exists() and request.amount_paid == 0


def test_forged_amount_of_one_node_is_not_credited(scam: Scam) -> None:
    scam.nodes[0].break_with(rewriting((f'"0x{word(1)}"', f'"0x{word(10_000_000)}"')))
    payment = scam.decide(pay(scam.chain, scam.request, 1))
    assert (payment.status, payment.amount_received) == (Status.COMPLETED, 1)
    assert (scam.request.status, scam.request.amount_paid) == (PaymentRequest.Status.ACTIVE, 1)
    assert not Event.objects.filter(type="payment.succeeded").exists()


def test_forged_status_of_a_reverted_transaction_is_ignored(scam: Scam) -> None:
    model = scam.chain.rpc("eth_getTransactionReceipt", pay(scam.chain, scam.request))
    starved = unsigned(scam.chain, scam.request) | {"gas": 30_000}
    reverted = scam.chain.send(starved)
    assert scam.chain.rpc("eth_getTransactionReceipt", reverted)["status"] == "0x0"
    scam.nodes[0].break_with(
        fault_proxy.forged_receipts(lambda receipt: {**receipt, "status": "0x1", "logs": model["logs"]})
    )
    payment = scam.decide(reverted)
    assert (payment.status, payment.failure_code) == (Status.FAILED, "transaction_reverted")
    assert nothing_was_credited(scam.request)


def parallel_world(other: LocalChain, chain_id: int) -> Fault:
    """A node of another chain that claims this chain's id. Its responses are consistent with each other."""

    def reply(exchange: Exchange) -> None:
        answers: Any = requests.post(other.url, json=exchange.body, timeout=30).json()
        text = json.dumps(answers).replace(f'"{hex(other.chain_id)}"', f'"{hex(chain_id)}"')
        answers = json.loads(text)
        exchange.reply(answers if isinstance(answers, list) else [answers])

    return reply


def test_payment_on_a_chain_of_one_node_never_completes(scam: Scam, other_local_chain: LocalChain) -> None:
    head = int(scam.chain.rpc("eth_blockNumber"), 16)
    behind = head - int(other_local_chain.rpc("eth_blockNumber"), 16)
    other_local_chain.mine(max(behind, 1))
    scam.nodes[0].break_with(parallel_world(other_local_chain, scam.chain.chain_id))
    invented = pay(other_local_chain, scam.request)
    payment = scam.decide(invented)
    assert payment.status != Status.COMPLETED
    assert nothing_was_credited(scam.request)
    scam.clock.forward(days=1)
    for node in scam.nodes:
        node.heal()
    assert scam.decide(invented, looks=20).status == Status.FAILED
    assert nothing_was_credited(scam.request)


def test_forged_head_of_one_node_adds_no_confirmations(scam: Scam, chain: Chain) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations="50")
    scam.request.chain.refresh_from_db()
    head = int(scam.chain.rpc("eth_blockNumber"), 16)

    def far_ahead(block: dict[str, Any]) -> dict[str, Any]:
        is_head = int(block["number"], 16) == int(scam.chain.rpc("eth_blockNumber"), 16)
        return {**block, "number": hex(head + 10**6)} if is_head else block

    mined = pay(scam.chain, scam.request)
    scam.chain.mine()
    scam.nodes[0].break_with(fault_proxy.forged("eth_getBlockByNumber", far_ahead))
    payment = scam.decide(mined, looks=3)
    assert (payment.status, payment.lookup.confirmations) == (Status.PROCESSING, 2)
    assert nothing_was_credited(scam.request)
    scam.chain.mine(48)
    assert scam.decide(mined).status == Status.COMPLETED


def test_forged_reference_of_one_node_fails_no_payment(scam: Scam) -> None:
    scam.nodes[0].break_with(rewriting((bytes(scam.request.reference).hex(), "00" * 16)))
    assert scam.decide(pay(scam.chain, scam.request)).status == Status.COMPLETED
    assert scam.request.status == PaymentRequest.Status.COMPLETED
