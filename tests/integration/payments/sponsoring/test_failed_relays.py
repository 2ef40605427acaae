"""Signatures whose transaction failed in a block: they are sent again as long as that may help, and costs little."""

from decimal import Decimal
from typing import Any

from demo.contracts import deploy
from payments.models import Authorization, Relay
from payments.sponsoring.terms import FAILED_RELAYS
from tests.support.payments.sponsoring import COINS, SponsoringWorld


def relay_and_fail(world: SponsoringWorld) -> None:
    """Relay what is due, after the payer's own transfer of all its tokens in the same block."""
    world.chain.rpc("evm_setAutomine", False)
    world.work()
    token, payer = world.token.contract_address, world.payer.address
    world.chain.rpc("anvil_setBalance", payer, hex(10**18))
    emptying = world.chain.unsigned_transfer(
        token, world.chain.recipient, world.chain.token_balance(token, payer)
    )
    fees = {"maxFeePerGas": 10**12, "maxPriorityFeePerGas": 10**11}
    world.chain.send({**emptying, **fees}, "0x" + bytes(world.payer.key).hex())
    world.chain.mine()
    world.chain.rpc("evm_setAutomine", True)
    world.work()


def fill_again(world: SponsoringWorld) -> None:
    deploy.mint(world.chain.url, world.token.contract_address, world.payer.address, 1_000 * 10**6)
    world.clock.forward(seconds=5)


def spent(world: SponsoringWorld) -> int:
    return COINS - int(world.chain.rpc("eth_getBalance", world.sponsor, "latest"), 16)


def test_failed_relay_is_sent_again_once_it_would_succeed(own_world: SponsoringWorld) -> None:
    world = own_world
    payment = world.pay(world.request())
    relay_and_fail(world)
    failed = Relay.objects.get()
    assert (failed.succeeded, failed.fee) == (False, spent(world))
    for _ in range(3):
        world.work()
    assert Relay.objects.count() == 1, "its simulation fails"
    fill_again(world)
    assert world.work_until_decided(payment, passes=5).status == "completed"
    world.work()
    relays = Relay.objects.order_by("nonce")
    assert [(each.nonce, each.succeeded) for each in relays] == [(0, False), (1, True)]
    assert (payment.transaction_hash, payment.replaced_hashes) == (relays[1].hashes[0], failed.hashes)
    assert Authorization.objects.get().cost == spent(world)


def test_relay_that_fails_again_bars_its_payer(own_world: SponsoringWorld) -> None:
    """A payer who makes each of them fail loses its own fees, and the sponsor no more than for two signatures."""
    world = own_world
    payment = world.pay(world.request())
    for _ in range(FAILED_RELAYS):
        relay_and_fail(world)
        fill_again(world)
    for _ in range(4):
        world.work(10)
    assert Relay.objects.filter(succeeded=False).count() == Relay.objects.count() == FAILED_RELAYS
    assert [each["sponsored"] for each in world.routes(world.request())] == [False]
    payment.refresh_from_db()
    assert payment.is_bound_unmined, "anyone may send it until it ends"
    world.pass_time_on_chain(15 * 60)
    assert world.work_until_decided(payment, passes=3).failure_code == "authorization_expired"
    assert Authorization.objects.get().cost == spent(world)


def test_failed_relay_waits_for_the_depth_of_its_block(own_world: SponsoringWorld) -> None:
    """Until then, a reorganisation may let it succeed, and its cost is unknown."""
    world = own_world
    type(world.row).objects.update(confirmations="5")
    payment = world.pay(world.request())
    relay_and_fail(world)
    fill_again(world)
    world.work(5)
    assert (Relay.objects.get().succeeded, Relay.objects.get().ended_at) == (False, None)
    world.chain.mine(5)
    for _ in range(3):
        world.work(5)
    assert Relay.objects.count() == 2
    world.chain.mine(5)
    assert world.work_until_decided(payment, passes=3).status == "completed"


def test_failed_relay_is_not_sent_beyond_the_budget(own_world: SponsoringWorld, settings: Any) -> None:
    world = own_world
    payment = world.pay(world.request())
    relay_and_fail(world)
    # A request gets a hundredth: enough for the failure, and not for another transaction beside it.
    settings.SPONSOR_DAILY_BUDGET = {world.row.pk: Decimal(spent(world) * 101).scaleb(-18)}
    fill_again(world)
    for _ in range(3):
        world.work(5)
    assert (Relay.objects.count(), Authorization.objects.get().cost) == (1, spent(world))
    settings.SPONSOR_DAILY_BUDGET = {world.row.pk: Decimal(1)}
    assert world.work_until_decided(payment, passes=5).status == "completed"


def test_failed_relay_of_a_paid_request_is_not_sent_again(own_world: SponsoringWorld) -> None:
    world = own_world
    request = world.request()
    payment = world.pay(request)
    relay_and_fail(world)
    type(request).objects.filter(pk=request.pk).update(amount_paid=4 * 10**6)
    fill_again(world)
    for _ in range(3):
        world.work(5)
    assert Relay.objects.count() == 1
    payment.refresh_from_db()
    assert payment.is_open, "the signature is public, so it is not dropped"
