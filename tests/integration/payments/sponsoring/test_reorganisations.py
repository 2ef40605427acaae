"""Reorganisations that remove a signature's use, also below the required depth. The money counts once."""

from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account
from eth_utils.crypto import keccak

from chains.families import get_client
from payments.models import Authorization, ConsumedTransfer, GasAccount, Payment, PaymentRequest, Relay
from payments.sponsoring.metrics import FEES, RELAYS
from payments.verification.finality import CHECKS_BEFORE_ALERT
from tests.support.payments.sponsoring import COINS, SponsoringWorld
from tests.verifying import check_finality, relay_due


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


def test_removed_use_is_credited_by_the_relay(own_world: SponsoringWorld) -> None:
    """A stranger's transaction paid and ours reverted. After a deep reorganisation, ours pays."""
    world, chain = own_world, own_world.chain
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    chain.rpc("evm_setAutomine", False)
    world.work()
    ours = Relay.objects.get().hashes[0]
    raw, theirs = front_running(world, signature, chain.payer_key, 10**12)
    chain.send_raw(raw)
    chain.mine()
    world.work_until_decided(payment)
    assert (payment.transaction_hash, payment.replaced_hashes) == (theirs, [ours])
    world.work()
    assert Authorization.objects.get().ended_at is not None
    remove(world, ours, theirs)
    for _ in range(CHECKS_BEFORE_ALERT):
        check_final(world)
    payment.refresh_from_db()
    request.refresh_from_db()
    assert (payment.status, payment.reorged, request.net) == ("completed", True, 0)
    world.work()
    chain.mine()
    world.work()
    check_final(world)
    payment.refresh_from_db()
    assert (payment.status, payment.reorged) == ("completed", False)
    relay = Relay.objects.get()
    assert payment.transaction_hash in relay.hashes
    assert theirs in payment.replaced_hashes
    credited_once(request, payment.transaction_hash or "")
    assert chain.token_balance(world.token.contract_address, request.recipient_address) == request.amount
    for _ in range(2):
        world.work()
    authorization, relay = Authorization.objects.get(), Relay.objects.get()
    assert authorization.ended_at is not None
    assert (relay.succeeded, authorization.cost) == (True, relay.fee)


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


def test_unsent_signature_is_sent_after_its_use_is_removed(own_world: SponsoringWorld) -> None:
    """A stranger's transaction paid before ours was signed. After a deep reorganisation, ours pays."""
    world, chain = own_world, own_world.chain
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    raw, theirs = front_running(world, signature, chain.payer_key, 10**12)
    chain.send_raw(raw)
    world.work_until_decided(payment)
    world.work()
    assert (payment.transaction_hash, Authorization.objects.get().cost, Relay.objects.exists()) == (
        theirs,
        0,
        False,
    )
    remove(world, theirs)
    for _ in range(CHECKS_BEFORE_ALERT):
        check_final(world)
    payment.refresh_from_db()
    assert payment.reorged
    for _ in range(3):
        world.work()
    check_final(world)
    payment.refresh_from_db()
    [ours] = Relay.objects.get().hashes
    assert (payment.reorged, payment.transaction_hash, payment.replaced_hashes) == (False, ours, [theirs])
    credited_once(request, ours)
    assert chain.token_balance(world.token.contract_address, request.recipient_address) == request.amount


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


# --- the gas account's nonces ---------------------------------------------------------------------------------------


def ended_relay(world: SponsoringWorld) -> tuple[Payment, Relay]:
    """Return a completed payment and its relay, which has ended at the required depth."""
    payment = world.work_until_decided(world.pay(world.request()))
    world.work()
    relay = Relay.objects.get()
    assert (payment.status, relay.succeeded, relay.ended_at is not None) == ("completed", True, True)
    return payment, relay


def counted(world: SponsoringWorld) -> tuple[float, float]:
    """Return the counted fees and the counted successful transactions."""
    chain = str(world.row.pk)
    return FEES.labels(chain)._value.get(), RELAYS.labels(chain, "succeeded")._value.get()


def test_removed_relay_leaves_no_nonce_out(own_world: SponsoringWorld) -> None:
    world = own_world
    before = counted(world)
    first, relay = ended_relay(world)
    cost, after_first = Authorization.objects.get().cost, counted(world)
    assert (after_first[1] - before[1], cost) == (1, relay.fee)
    remove(world, *relay.hashes)
    second = world.pay(world.request())
    world.clock.forward(seconds=15)
    world.work_until_decided(second)
    world.work()
    assert second.status == "completed"
    assert [each.nonce for each in Relay.objects.order_by("nonce")] == [0, 1]
    assert not Relay.objects.filter(ended_at=None).exists()
    token = world.token.contract_address
    for payment in (first, second):
        assert world.chain.token_balance(token, payment.request.recipient_address) == payment.request.amount
    fees = [each.fee for each in Relay.objects.order_by("nonce")]
    assert [each.cost for each in Authorization.objects.order_by("pk")] == fees
    assert counted(world)[1] - before[1] == 2
    assert counted(world)[0] - after_first[0] == pytest.approx((fees[1] or 0) / COINS)


def test_removed_relay_with_low_fees_still_pays(own_world: SponsoringWorld) -> None:
    """Its payment is completed, so an empty transaction with higher fees would lose the money."""
    world = own_world
    first, relay = ended_relay(world)
    remove(world, *relay.hashes)
    world.chain.rpc("evm_setAutomine", False)
    world.chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(3 * int(relay.unsigned["maxFeePerGas"], 16)))
    world.chain.mine()
    second = world.pay(world.request())
    for _ in range(2):
        world.work()
        world.clock.forward(seconds=31)
    world.chain.rpc("evm_setAutomine", True)
    world.chain.mine()
    world.work_until_decided(second)
    relay.refresh_from_db()
    assert len(relay.hashes) == 2
    request = first.request
    assert (
        world.chain.token_balance(world.token.contract_address, request.recipient_address) == request.amount
    )


def test_removed_relay_blocks_no_nonce_without_a_budget(own_world: SponsoringWorld, settings: Any) -> None:
    """Its signature has expired, and its fees are too low. The empty transaction needs the reserved cost."""
    world = own_world
    _, relay = ended_relay(world)
    assert Authorization.objects.get().cost == relay.fee
    remove(world, *relay.hashes)
    Authorization.objects.update(valid_before=int(world.clock().timestamp()))
    world.chain.rpc("evm_setAutomine", False)
    world.chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(2 * int(relay.unsigned["maxFeePerGas"], 16)))
    world.chain.mine()
    second = world.pay(world.request())
    settings.SPONSOR_DAILY_BUDGET = {}
    for _ in range(2):
        world.work()
        world.clock.forward(seconds=31)
    world.chain.rpc("evm_setAutomine", True)
    world.chain.mine()
    assert world.work_until_decided(second).status == "completed"
    relay.refresh_from_db()
    assert len(relay.hashes) == 2
    assert relay.ended_at is not None
    assert Authorization.objects.earliest("pk").cost == relay.fee


def test_node_that_lags_ends_no_reopened_relay(
    own_world: SponsoringWorld, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator has replaced the key, so the transaction isn't signed again."""
    world = own_world
    _, relay = ended_relay(world)
    settings.SPONSOR_KEYS = {"evm": "0x" + bytes(Account.create().key).hex()}
    remove(world, *relay.hashes)
    client = type(get_client(world.row))
    look_up = client.look_up

    def find_nothing(self: Any, *arguments: Any, **options: Any) -> Any:
        return replace(look_up(self, *arguments, **options), transactions={})

    def relay_on(*, minutes: int) -> tuple[Relay, int]:
        world.clock.forward(minutes=minutes)
        GasAccount.objects.filter(address=world.sponsor).update(next_look_at=world.clock())
        assert relay_due(now=world.clock) == 1
        return Relay.objects.get(), int(Authorization.objects.get().cost or 0)

    reopened, cost = relay_on(minutes=16)
    assert (reopened.ended_at, cost > (relay.fee or 0)) == (None, True)
    with monkeypatch.context() as patched:
        patched.setattr(client, "look_up", find_nothing)
        lagging, cost_while_lagging = relay_on(minutes=1)
        ended, cost_at_end = relay_on(minutes=16)
    assert (lagging.ended_at, cost_while_lagging) == (None, cost)
    assert ended.ended_at is not None
    assert (ended.succeeded, ended.fee, cost_at_end) == (True, relay.fee, relay.fee)


def test_node_that_lags_reopens_no_relay(world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    _, relay = ended_relay(world)
    cost, before = Authorization.objects.get().cost, counted(world)

    def none_mined(_: Any, addresses: list[str]) -> dict[str, int]:
        return dict.fromkeys(addresses, 0)

    world.pay(world.request())
    with monkeypatch.context() as patched:
        patched.setattr(type(get_client(world.row)), "transaction_counts", none_mined)
        assert relay_due(now=world.clock) == 1
    ended_at = relay.ended_at
    relay.refresh_from_db()
    assert (relay.ended_at, relay.succeeded, len(relay.hashes)) == (ended_at, True, 1)
    assert (Authorization.objects.earliest("pk").cost, counted(world)) == (cost, before)
    assert Relay.objects.latest("nonce").nonce == 1


def test_nonce_of_a_relay_that_a_failover_lost_is_replaced(own_world: SponsoringWorld) -> None:
    """The new primary doesn't know the first relay, so it gives the next one the same nonce."""
    world = own_world
    type(world.row).objects.update(confirmations="5")
    world.chain.rpc("evm_setAutomine", False)
    world.pay(world.request())
    world.work()
    lost = Relay.objects.get()
    lost.delete()
    Authorization.objects.update(ended_at=world.clock())
    GasAccount.objects.update(next_nonce=None)
    payment = world.pay(world.request())
    world.work()
    relay = Relay.objects.get()
    assert (relay.nonce, relay.sent_at) == (lost.nonce, None), "no node accepts it"
    world.clock.forward(seconds=60)
    world.chain.mine()
    world.work()
    world.work()
    assert Relay.objects.get().ended_at is None, "a reorganisation may still remove the lost relay"
    world.chain.mine(5)
    world.chain.rpc("evm_setAutomine", True)
    world.work()
    world.work()
    foreign, again = Relay.objects.order_by("nonce")
    assert (foreign.pk, foreign.succeeded, foreign.ended_at is not None) == (relay.pk, None, True)
    assert again.nonce == (lost.nonce or 0) + 1
    world.chain.mine(5)
    assert world.work_until_decided(payment, passes=3).status == "completed"
    assert payment.transaction_hash == again.hashes[0]
