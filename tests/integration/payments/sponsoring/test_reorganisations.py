"""Reorganisations that remove a signature's use, also below the required depth. The money counts once."""

import pytest
from eth_account import Account
from eth_utils.crypto import keccak

from payments.models import Authorization, ConsumedTransfer, Payment, PaymentRequest
from payments.verification.finality import CHECKS_BEFORE_ALERT
from tests.support.payments.sponsoring import COINS, SponsoringWorld
from tests.verifying import check_finality


def front_running(world: SponsoringWorld, signature: str, key: str, fee: int) -> tuple[str, str]:
    """Return a stranger's unsent transaction with the signed transfer, and its hash."""
    call = world.call_of(Authorization.objects.get(), signature)
    unsigned = {
        "chainId": world.row.pk, "to": call.to, "value": 0, "data": "0x" + call.data.hex(), "gas": 200_000,
        "maxFeePerGas": fee, "maxPriorityFeePerGas": fee // 10,
    }  # fmt: skip
    raw = world.chain.sign(unsigned, key)
    return "0x" + raw.hex(), "0x" + keccak(raw).hex()


def remove(world: SponsoringWorld, *hashes: str) -> None:
    """Remove the newest block, and its transactions from the node's pool."""
    world.chain.reorganise(1)
    for hash_ in hashes:
        world.chain.rpc("anvil_dropTransaction", hash_)


def check_final(world: SponsoringWorld) -> None:
    world.chain.mine(70)
    world.clock.forward(minutes=3)
    check_finality(now=world.clock)


def credited_once(request: PaymentRequest, hash_: str) -> None:
    request.refresh_from_db()
    assert (request.status, request.amount_paid, request.net) == (
        "completed",
        request.amount,
        request.amount,
    )
    credited = ConsumedTransfer.objects.filter(payment__request=request)
    assert list(credited.values_list("transaction_hash", flat=True)) == [hash_]


def test_reverted_use_follows_the_transaction_that_paid(own_world: SponsoringWorld) -> None:
    """Only a stranger sends the signature. After a reorganisation, another transaction uses it first."""
    world, chain = own_world, own_world.chain
    request = world.request()
    _, signature = world.signed(request)
    other = Account.create()
    chain.rpc("anvil_setBalance", other.address, hex(COINS))
    raw, hash_ = front_running(world, signature, chain.payer_key, 10**11)
    faster, paying = front_running(world, signature, "0x" + bytes(other.key).hex(), 10**12)
    type(world.row).objects.update(confirmations="3")
    chain.send_raw(raw)
    world.clock.forward(seconds=30)
    world.work()
    payment = Payment.objects.get()
    assert (payment.transaction_hash, payment.is_open) == (hash_, True)
    chain.rpc("evm_setAutomine", False)
    remove(world, hash_)
    chain.send_raw(raw)
    chain.send_raw(faster)
    chain.mine(3)
    Authorization.objects.update(next_check_at=None)
    for _ in range(5):
        world.work()
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("failed", "transaction_reverted")
    Authorization.objects.update(next_check_at=world.clock())
    world.work()
    world.work_until_decided(payment)
    assert (payment.status, payment.transaction_hash, payment.replaced_hashes) == (
        "completed",
        paying,
        [hash_],
    )
    credited_once(request, paying)
    assert Payment.objects.count() == 1
    assert payment.lookup.next_check_at is None


def test_removed_use_returns_and_keeps_its_credit(own_world: SponsoringWorld) -> None:
    world = own_world
    request = world.request()
    _, signature = world.signed(request)
    raw, hash_ = front_running(world, signature, world.chain.payer_key, 10**11)
    world.chain.send_raw(raw)
    world.clock.forward(seconds=30)
    world.work()
    payment = world.work_until_decided(Payment.objects.get())
    remove(world, hash_)
    for _ in range(CHECKS_BEFORE_ALERT):
        check_final(world)
    payment.refresh_from_db()
    assert payment.reorged
    world.chain.send_raw(raw)
    world.work()
    check_final(world)
    payment.refresh_from_db()
    assert (payment.reorged, payment.transaction_hash, payment.replaced_hashes) == (False, hash_, [])
    credited_once(request, hash_)


@pytest.mark.parametrize("code", ["authorization_used", "authorization_expired", "transaction_reverted"])
def test_failed_payment_with_the_same_hash_is_reopened(world: SponsoringWorld, code: str) -> None:
    """The hash was submitted before its broadcast. Its own payment failed before the transaction paid."""
    request = world.request()
    route, signature = world.signed(request)
    world.submit(request, route, signature)
    raw, hash_ = front_running(world, signature, world.chain.payer_key, 10**11)
    body = {"transaction_hash": hash_, "chain_id": world.row.pk}
    early = Payment.objects.get(pk=world.post(f"payment-requests/{request.pk}/payments", body, 201)["id"])
    Payment.objects.filter(pk=early.pk).update(status="failed", failure_code=code, failed_at=world.clock())
    type(early.lookup).objects.filter(of_payment=early).update(next_check_at=None)
    world.chain.send_raw(raw)
    for _ in range(5):
        world.work()
    early.refresh_from_db()
    assert (early.status, early.failure_code) == ("completed", "")
    credited_once(request, hash_)
