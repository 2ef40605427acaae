"""All workers get kill -9 during 50 sponsored payments. Each is paid once, and the nonces have no gap."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from chains.models import Chain
from demo.contracts import deploy
from demo.services import anvil
from merchants.models import Merchant
from payments.models import Authorization, ConsumedTransfer, Payment, PaymentRequest, Relay
from tests.chain import LocalChain
from tests.conftest import Api
from tests.fault_proxy import FaultProxy, proxying
from tests.processes import Process, beat, eventually, worker
from tests.support.payments.held_sends import PATIENCE, HeldSends, kill_while_sending
from tests.support.payments.sponsoring import COINS, SponsoringWorld
from tests.threads import at_once
from webhooks.models import Event

PAYMENTS = 50
PAYERS = 10
SEND = "eth_sendRawTransaction"


@pytest.fixture
def node(chain: Chain) -> Iterator[FaultProxy]:
    """A proxy, which is the only node of a separate chain. The chain mines a block each second."""
    running = anvil.start(chain_id=chain.pk, block_time=1)
    try:
        with proxying(running.url) as proxy:
            Chain.objects.filter(pk=chain.pk).update(rpc_urls=[proxy.url])
            chain.refresh_from_db()
            yield proxy
    finally:
        running.stop()


@pytest.fixture
def world(node: FaultProxy, chain: Chain, merchant: Merchant, public: Api, settings: Any) -> SponsoringWorld:
    own = LocalChain.prepare(node.upstream, chain.pk)
    return SponsoringWorld.prepare(own, chain, merchant, public, settings)


def submissions(world: SponsoringWorld) -> Iterator[Callable[[], Any]]:
    """Have several payers sign for new requests; return the calls that submit the signatures."""
    payers = [Account.create() for _ in range(PAYERS)]
    for payer in payers:
        deploy.mint(world.chain.url, world.token.contract_address, payer.address, 10**9)
    for number in range(PAYMENTS):
        request = world.request()
        signed = world.signed(request, payers[number % PAYERS])
        yield partial(stored, replace(world, public=Api()), request, *signed)


def stored(world: SponsoringWorld, request: PaymentRequest, route: str, signature: str) -> str:
    """Submit the signature, with retries while the node is busy, as clients do; return the payment's status."""
    while (answer := world.submit(request, route, signature, None)).status_code == 503:
        assert answer.json()["error"]["code"] == "node_unavailable"
    assert answer.status_code == 201
    return str(answer.json()["status"])


def start_workers(world: SponsoringWorld, folder: Path) -> list[Process]:
    budget = {"SPONSOR_EVM_KEY": world.sponsor_key, "SPONSOR_DAILY_BUDGET": f"{world.row.pk}:1"}
    return [worker(folder / f"{name}.log", **budget) for name in ("first", "second")]


@pytest.mark.django_db(transaction=True)
def test_fifty_signatures_and_killed_workers(
    world: SponsoringWorld, node: FaultProxy, tmp_path: Path
) -> None:
    jobs = list(submissions(world))
    sends = HeldSends()
    sends.hold(6, is_taken=False)
    node.break_with(sends, SEND)
    ticking = beat(tmp_path / "beat.log")
    workers = start_workers(world, tmp_path)
    try:
        assert set(at_once(jobs)) <= {"pending", "processing", "completed"}
        for after, is_taken in ((10, True), (10, False), (3, True)):
            eventually(sends.held.is_set, "a worker sends a transaction", PATIENCE)
            kill_while_sending(workers)
            sends.released.set()
            sends.hold(after, is_taken=is_taken)
            workers = start_workers(world, tmp_path)
        eventually(sends.held.is_set, "a worker sends a transaction", PATIENCE)
        # One of two workers dies, perhaps the one that is sending. The other takes over when the lease ends.
        workers.pop().kill()
        sends.released.set()
        node.heal()
        for model in (Relay, Authorization):
            ended = model.objects.filter(ended_at__isnull=False)
            eventually(lambda ended=ended: ended.count() == PAYMENTS, "all have ended", PATIENCE)
        eventually(lambda: world.account().next_look_at is None, "nothing waits", PATIENCE)
    finally:
        for each in [*workers, ticking]:
            each.kill()
    assert_paid_once(world)


def assert_paid_once(world: SponsoringWorld) -> None:
    payments, relays = Payment.objects.all(), Relay.objects.order_by("nonce")
    assert {(each.status, each.is_sponsored, each.amount_received) for each in payments} == {
        ("completed", True, 10 * 10**6)
    }
    for request in PaymentRequest.objects.all():
        received = world.chain.token_balance(world.token.contract_address, request.recipient_address)
        assert (request.status, request.amount_paid, received) == (
            "completed",
            request.amount,
            request.amount,
        )
    assert payments.count() == ConsumedTransfer.objects.count() == PAYMENTS
    assert Event.objects.filter(type="payment.succeeded").count() == PAYMENTS
    assert [each.nonce for each in relays] == list(range(PAYMENTS))
    assert {each.succeeded for each in relays} == {True}
    assert int(world.chain.rpc("eth_getTransactionCount", world.sponsor, "latest"), 16) == PAYMENTS
    spent = COINS - int(world.chain.rpc("eth_getBalance", world.sponsor, "latest"), 16)
    assert sum(each.fee or 0 for each in relays) == spent
    assert sum(each.cost or 0 for each in Authorization.objects.all()) == spent
