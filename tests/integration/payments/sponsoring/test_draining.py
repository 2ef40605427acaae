"""Payers, merchants and nodes that want the gas account to pay for nothing. Each test measures what it costs."""

from payments.models import Authorization, Payment, Relay
from tests.support.payments.sponsoring import SponsoringWorld


def test_one_balance_pays_for_one_signature_at_a_time(world: SponsoringWorld) -> None:
    """Signatures are free: without this limit, all but one of the relays would revert at the sponsor's cost."""
    everything = world.chain.token_balance(world.token.contract_address, world.payer.address)
    first, second = (world.request(str(everything // 10**6)) for _ in range(2))
    signed = [(each, *world.signed(each)) for each in (first, second)]
    payment = Payment.objects.get(pk=world.submit(*signed[0])["id"])
    answer = world.submit(*signed[1], None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "insufficient_funds")
    assert Payment.objects.count() == 1
    world.work_until_decided(payment)
    assert payment.status == "completed"


def test_mined_payment_leaves_the_balance_free(own_world: SponsoringWorld) -> None:
    """The money of a relay in a block is gone already, and is not counted twice until the block is deep."""
    world = own_world
    type(world.row).objects.update(confirmations="30")
    everything = world.chain.token_balance(world.token.contract_address, world.payer.address) // 10**6
    first, second = world.request(str(everything - 10)), world.request("10")
    payment = world.pay(first)
    world.work()
    world.work()
    payment.refresh_from_db()
    assert payment.status == "processing"
    payments = payment, world.pay(second)
    world.work()
    world.chain.mine(30)
    assert {world.work_until_decided(each).status for each in payments} == {"completed"}


def test_dead_signature_pays_no_tip_beyond_its_reservation(own_world: SponsoringWorld) -> None:
    """A node that hides our transactions sees their fees rise; it could sell the dearest one to a block producer."""
    world = own_world
    payment = world.pay(world.request())
    world.chain.rpc("evm_setAutomine", False)
    world.work()
    reserved = Authorization.objects.get().cost or 0
    Authorization.objects.update(ended_at=payment.created_at)  # as if it were dead
    for _ in range(40):
        world.work(31)
    relay = Relay.objects.get()
    most = int(relay.unsigned["gas"], 16) * int(relay.unsigned["maxFeePerGas"], 16)
    assert len(relay.hashes) > 1
    assert most <= (Authorization.objects.get().cost or 0)
    assert most <= reserved


def test_transaction_above_the_price_is_not_raised(own_world: SponsoringWorld) -> None:
    """A chain that stands still for an hour does not need higher fees."""
    world = own_world
    world.pay(world.request())
    world.chain.rpc("evm_setAutomine", False)
    world.work()
    first = Relay.objects.get().unsigned
    for _ in range(40):
        world.work(31)
    last = Relay.objects.get().unsigned
    for name in ("maxFeePerGas", "maxPriorityFeePerGas"):
        assert int(first[name], 16) < int(last[name], 16) < 4 * int(first[name], 16)
