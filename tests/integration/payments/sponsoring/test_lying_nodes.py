"""One of three nodes lies or hides data. No payment is lost or delayed."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from chains.families import get_client
from chains.models import Chain
from demo.contracts import deploy
from payments.models import Authorization, Payment, Relay
from payments.routes.sponsored import SEARCHED_BEFORE
from tests.fault_proxy import Exchange, FaultProxy, Json, forged, proxying
from tests.support.payments.sponsoring import SponsoringWorld


@pytest.fixture
def liar(world: SponsoringWorld) -> Iterator[FaultProxy]:
    """The first of three nodes. Its responses are correct until the test sets a fault."""
    with ExitStack() as stack:
        nodes = [stack.enter_context(proxying(world.chain.url)) for _ in range(2)]
        Chain.objects.filter(pk=world.row.pk).update(
            rpc_urls=[*(each.url for each in nodes), world.chain.url]
        )
        world.row.refresh_from_db()
        yield nodes[0]


def front_run(world: SponsoringWorld) -> tuple[Payment, str]:
    """Return a signed payment whose transfer a stranger sent, and the hash of the stranger's transaction."""
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    return payment, world.broadcast(route, signature)


def naming(transaction_hash: str) -> Callable[[list[Json]], list[Json]]:
    return lambda logs: [{**each, "transactionHash": transaction_hash} for each in logs]


@pytest.mark.parametrize("lie", ["no logs", "another transaction", "the token's other transfer"])
def test_use_that_one_node_hides_is_found(world: SponsoringWorld, liar: FaultProxy, lie: str) -> None:
    payment, sent = front_run(world)
    other = deploy.send(world.chain.url, world.chain.payer_key, to=world.chain.recipient, value=1)
    if lie == "the token's other transfer":
        world.broadcast(*world.signed(world.request()))
        other = {
            "transactionHash": world.chain.rpc("eth_getBlockByNumber", "latest", False)["transactions"][0]
        }
    change = (lambda _: []) if lie == "no logs" else naming(other["transactionHash"])
    liar.break_with(forged("eth_getLogs", change), "eth_getLogs")
    world.work_until_decided(payment)
    assert (payment.status, payment.transaction_hash) == ("completed", sent)


def test_cancellation_that_one_node_hides_is_found(world: SponsoringWorld, liar: FaultProxy) -> None:
    payment = world.pay(world.request())
    world.cancel(Authorization.objects.get())
    liar.break_with(forged("eth_getLogs", lambda _: []), "eth_getLogs")
    world.work_until_decided(payment)
    assert (payment.status, payment.failure_code) == ("failed", "authorization_used")


def swallow(exchange: Exchange) -> None:
    """Accept transactions, but forward none."""
    exchange.reply(
        [{"jsonrpc": "2.0", "id": each["id"], "result": "0x" + "11" * 32} for each in exchange.questions]
    )


def test_transaction_that_one_node_swallows_reaches_others(world: SponsoringWorld, liar: FaultProxy) -> None:
    payment = world.pay(world.request())
    liar.break_with(swallow, "eth_sendRawTransaction")
    world.work_until_decided(payment, passes=6)
    assert payment.status == "completed"
    assert len(Relay.objects.get().hashes) == 1


def test_false_nonce_of_one_node_leaves_no_gap(world: SponsoringWorld, liar: FaultProxy) -> None:
    liar.break_with(forged("eth_getTransactionCount", lambda _: hex(1_000)), "eth_getTransactionCount")
    payments = [world.work_until_decided(world.pay(world.request())) for _ in range(2)]
    assert {each.status for each in payments} == {"completed"}
    assert sorted(Relay.objects.values_list("nonce", flat=True)) == [0, 1]


def test_price_of_one_node_is_bounded_by_the_budget(world: SponsoringWorld, liar: FaultProxy) -> None:
    """A block producer would earn the tip. A request can use a hundredth of the budget at most."""
    request = world.request()
    signed = world.signed(request)
    liar.break_with(forged("eth_maxPriorityFeePerGas", lambda _: hex(10**12)), "eth_maxPriorityFeePerGas")
    answer = world.submit(request, *signed, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "sponsoring_unavailable")
    assert not Payment.objects.exists()


@pytest.mark.parametrize("height", [0, 2**40])
def test_false_height_of_one_node_hides_no_use(world: SponsoringWorld, liar: FaultProxy, height: int) -> None:
    """The node lies while the customer signs. Then a stranger sends the signed transfer."""
    world.chain.mine(200)
    request = world.request()
    # The client compares the nodes' heads now, so it doesn't notice the lie at once.
    head = get_client(world.row).head()
    liar.break_with(forged("eth_blockNumber", lambda _: hex(height)), "eth_blockNumber")
    route, signature = world.signed(request)
    liar.heal()
    since = Authorization.objects.get().since_block
    assert head - SEARCHED_BEFORE <= since <= head
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    sent = world.broadcast(route, signature)
    world.work_until_decided(payment)
    assert (payment.status, payment.transaction_hash) == ("completed", sent)


def test_node_a_block_ahead_rejects_no_signature(world: SponsoringWorld, liar: FaultProxy) -> None:
    request = world.request()
    route, signature = world.signed(request)
    liar.break_with(forged("eth_blockNumber", lambda head: hex(int(head, 16) + 1)), "eth_blockNumber")
    assert world.submit(request, route, signature)["status"] == "pending"
