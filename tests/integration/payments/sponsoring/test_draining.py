"""Payers, merchants and nodes that want the gas account to pay for nothing. Each test measures what it costs."""

from payments.models import Payment
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
