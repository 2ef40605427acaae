"""Malicious payers try to block a chain's gas account, so that it sends no payments of others."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from eth_account import Account

from chains.client import ChainError
from chains.models import Token
from demo.contracts import deploy
from payments.models import Authorization, GasAccount, Payment, Relay
from payments.sponsoring import budgets, relaying, terms
from tests.support.payments.sponsoring import COINS, RULES, SponsoringWorld
from tests.support.payments.world import look_until_decided, pay, submit
from tests.verifying import relay_due

FAILED = "a signed transfer could not be relayed"


def emptied(world: SponsoringWorld) -> Payment:
    """Return the payment of a new payer. The payer empties its account after the simulation."""
    payer = Account.create()
    deploy.mint(world.chain.url, world.token.contract_address, payer.address, 10 * 10**6)
    request = world.request()
    payment = Payment.objects.get(pk=world.submit(request, *world.signed(request, payer))["id"])
    world.chain.rpc("anvil_setBalance", payer.address, hex(10**18))
    world.chain.transfer(
        world.token.contract_address, world.chain.recipient, 10 * 10**6, key="0x" + bytes(payer.key).hex()
    )
    return payment


def base_fee(world: SponsoringWorld) -> int:
    return int(world.chain.rpc("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16)


def set_base_fee(world: SponsoringWorld, wei: int) -> None:
    world.chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(wei))
    world.chain.mine()


def test_emptied_accounts_do_not_hold_up_others(
    world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaying, "MAX_WAITING", 2)
    for _ in range(3):
        emptied(world)
    payment = world.work_until_decided(world.pay(world.request()), passes=5)
    assert payment.status == "completed"
    assert Relay.objects.count() == 1


def test_unreadable_signature_holds_up_no_others(
    world: SponsoringWorld, caplog: pytest.LogCaptureFixture
) -> None:
    broken = world.pay(world.request())
    Authorization.objects.update(signature=b"")
    payment = world.work_until_decided(world.pay(world.request()), passes=5)
    assert payment.status == "completed"
    broken.refresh_from_db()
    assert (broken.status, Relay.objects.count()) == ("pending", 1)
    assert FAILED in caplog.messages
    assert {getattr(each, "payment_id", broken.pk) for each in caplog.records if each.exc_info} == {broken.pk}


def test_unreadable_signature_is_tried_less_and_less(
    world: SponsoringWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.pay(world.request())
    Authorization.objects.update(signature=b"")
    for seconds, failures in ((0, 1), (3, 1), (3, 2), (600, 3), (25, 3), (10, 4)):
        world.clock.forward(seconds=seconds)
        relay_due(now=world.clock)
        assert caplog.messages.count(FAILED) == failures


def test_unreadable_transaction_holds_up_no_others(
    own_world: SponsoringWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world = own_world
    payments = [world.pay(world.request())]
    world.chain.rpc("evm_setAutomine", False)
    world.work()
    Relay.objects.update(unsigned={"maxFeePerGas": "unreadable"})
    payments.append(world.pay(world.request()))
    world.clock.forward(seconds=31)
    world.work()
    assert caplog.messages.count(FAILED) == 1
    world.chain.rpc("evm_setAutomine", True)
    world.chain.mine()
    assert {world.work_until_decided(each).status for each in payments} == {"completed"}


def test_transfer_without_a_response_goes_behind_others(
    world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No node simulates it, for a reason of its own, and the pass ends."""
    silent = world.pay(world.request())
    relay = relaying._Pass._relay

    def respond_to_others(self: Any, authorization: Authorization) -> bool:
        if authorization.payment_id == silent.pk:
            raise ChainError("no response")
        return relay(self, authorization)

    monkeypatch.setattr(relaying._Pass, "_relay", respond_to_others)
    other = world.pay(world.request())
    world.work()
    assert not Relay.objects.exists()
    world.clock.forward(seconds=15)
    assert world.work_until_decided(other, passes=5).status == "completed"


def test_relay_above_its_reservation_is_not_sent_too_cheap(own_world: SponsoringWorld, settings: Any) -> None:
    """With a fee below the base fee, it would stay in the pool and block every later nonce."""
    world = own_world
    payment = world.pay(world.request())
    reserved = Authorization.objects.get().cost or 0
    before = base_fee(world)
    set_base_fee(world, 20 * before)
    settings.SPONSOR_DAILY_BUDGET = {world.row.pk: Decimal(reserved * 101).scaleb(-18)}
    for _ in range(2):
        world.work()
    assert not Relay.objects.exists()
    set_base_fee(world, before)
    world.clock.forward(seconds=15)
    world.work_until_decided(payment)
    assert payment.status == "completed"


def test_transaction_that_no_node_takes_gets_higher_fees(
    own_world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base fee rises between the simulation and the sending."""
    world = own_world
    payment = world.pay(world.request())
    stored = relaying._Pass._stored

    def store_before_fees_rise(self: Any, *arguments: Any) -> Relay | None:
        relay = stored(self, *arguments)
        set_base_fee(world, 20 * base_fee(world))
        return relay

    with monkeypatch.context() as patched:
        patched.setattr(relaying._Pass, "_stored", store_before_fees_rise)
        world.work()
    assert Relay.objects.get().sent_at is None
    world.clock.forward(seconds=30)
    set_base_fee(world, base_fee(world))
    world.work_until_decided(payment, passes=5)
    assert (payment.status, len(Relay.objects.get().hashes)) == ("completed", 2)


def test_budget_that_is_spent_holds_up_no_later_nonce(own_world: SponsoringWorld, settings: Any) -> None:
    """If the budget has no room for higher fees, a cheaper empty transaction takes the nonce."""
    world = own_world
    first = world.pay(world.request())
    world.chain.rpc("evm_setAutomine", False)
    world.work()
    settings.SPONSOR_DAILY_BUDGET = {}
    world.clock.forward(seconds=31)
    world.work()
    assert len(Relay.objects.get().hashes) == 1, "nothing waits behind it"
    settings.SPONSOR_DAILY_BUDGET = {world.row.pk: Decimal(1)}
    second = world.pay(world.request())
    settings.SPONSOR_DAILY_BUDGET = {}
    world.work()
    world.chain.rpc("evm_setAutomine", True)
    world.chain.mine()
    world.work_until_decided(second)
    first.refresh_from_db()
    assert (first.status, second.status) == ("processing", "completed")
    emptied = Relay.objects.get(nonce=0)
    assert (emptied.unsigned["to"], emptied.unsigned["data"]) == (world.sponsor, "0x")
    world.pass_time_on_chain(15 * 60)
    world.work()
    world.work_until_decided(first)
    assert (first.status, first.failure_code) == ("failed", "authorization_expired")
    spent = sum(each.cost or 0 for each in Authorization.objects.all())
    assert spent == COINS - int(world.chain.rpc("eth_getBalance", world.sponsor, "latest"), 16)


def test_paid_request_is_not_paid_again_by_its_signature(world: SponsoringWorld) -> None:
    """Before the signed transfer is sent, the customer pays from another wallet in another tab."""
    request = world.request()
    deploy.mint(world.chain.url, world.token.contract_address, world.chain.payer, 10 * 10**6)
    signed = world.pay(request)
    other = look_until_decided(submit(request, pay(world.chain, request)), world.clock)
    assert other.status == "completed"
    for _ in range(3):
        world.work()
    signed.refresh_from_db()
    assert (signed.status, signed.failure_code) == ("failed", "authorization_expired")
    assert (Relay.objects.count(), Authorization.objects.get().cost) == (0, 0)
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("completed", request.amount)


def test_partly_paid_request_is_free_for_the_rest(world: SponsoringWorld) -> None:
    """The signed amount exceeds the remaining amount.

    So the transfer is not sent, and the customer can sign again.
    """
    request = world.request()
    deploy.mint(world.chain.url, world.token.contract_address, world.chain.payer, 10 * 10**6)
    signed = world.pay(request)
    look_until_decided(submit(request, pay(world.chain, request, 4 * 10**6)), world.clock)
    world.work()
    signed.refresh_from_db()
    assert (signed.status, Relay.objects.count()) == ("failed", 0)
    request.refresh_from_db()
    rest = world.work_until_decided(world.pay(request))
    assert (rest.status, rest.amount_received) == ("completed", 6 * 10**6)
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("completed", request.amount)


def test_rotated_key_sends_what_was_signed_before(world: SponsoringWorld, settings: Any) -> None:
    payment = world.pay(world.request())
    successor = Account.create()
    world.chain.rpc("anvil_setBalance", successor.address, hex(COINS))
    settings.SPONSOR_KEYS = {"evm": "0x" + bytes(successor.key).hex()}
    world.work_until_decided(payment)
    assert (payment.status, Relay.objects.get().account.address) == ("completed", successor.address)


def test_two_keys_relay_one_signature_once(
    world: SponsoringWorld, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is replaced, and the new key's worker is faster than the old key's."""
    payment = world.pay(world.request())
    successor = Account.create()
    world.chain.rpc("anvil_setBalance", successor.address, hex(COINS))
    stored = relaying._Pass._stored

    def store_after_the_successor(*arguments: Any) -> Relay | None:
        monkeypatch.undo()
        settings.SPONSOR_KEYS = {"evm": "0x" + bytes(successor.key).hex()}
        account = budgets.gas_account(world.row)
        GasAccount.objects.filter(pk=account.pk).update(next_look_at=world.clock())
        relay_due(now=world.clock)
        return stored(*arguments)

    monkeypatch.setattr(relaying._Pass, "_stored", store_after_the_successor)
    world.work_until_decided(payment)
    assert payment.status == "completed"
    assert Relay.objects.get().account.address == successor.address


def test_recipient_that_empties_its_account_fails_no_relay(own_world: SponsoringWorld) -> None:
    """The recipient had a balance in the simulation. To store a first balance takes 17,100 more gas."""
    world = own_world
    recipient = Account.create()
    request = world.request()
    type(request).objects.filter(pk=request.pk).update(recipient_address=recipient.address)
    request.refresh_from_db()
    deploy.mint(world.chain.url, world.token.contract_address, recipient.address, 5 * 10**6)
    payment = world.pay(request)
    world.chain.rpc("evm_setAutomine", False)
    world.work()
    world.chain.rpc("anvil_setBalance", recipient.address, hex(10**18))
    emptying = world.chain.unsigned_transfer(world.token.contract_address, world.chain.recipient, 5 * 10**6)
    key = "0x" + bytes(recipient.key).hex()
    world.chain.send({**emptying, "maxFeePerGas": 10**12, "maxPriorityFeePerGas": 10**11}, key)
    world.chain.mine()
    world.chain.rpc("evm_setAutomine", True)
    world.work_until_decided(payment)
    assert payment.status == "completed"


def test_few_signatures_of_a_request_are_waited_for(
    own_world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service queries nodes for each built signature. Without a limit, anyone could cause many queries."""
    world = own_world
    monkeypatch.setattr(terms, "MAX_UNSIGNED", 2)
    request = world.request()
    for _ in range(2):
        world.build(built := world.route(request))
    answer = world.post("build-transaction", {"route_id": world.route(request)}, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "sponsoring_unavailable")
    assert Authorization.objects.count() == 2
    assert world.build(built)["typed_data"], "what was built can be built again"
    world.build(world.route(world.request()))
    world.pass_time_on_chain(15 * 60)
    world.work()
    world.build(world.route(request))
    assert Authorization.objects.filter(request=request, ended_at__isnull=True).count() == 1


def test_token_that_fails_holds_up_no_other_token(own_world: SponsoringWorld) -> None:
    world = own_world
    broken = replace(world, token=another_token(world))
    deploy.mint(world.chain.url, broken.token.contract_address, world.payer.address, 10 * 10**6)
    stuck, request = broken.pay(broken.request()), world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    world.broadcast(route, signature)  # only the token's state and logs show this payment
    code = world.chain.rpc("eth_getCode", broken.token.contract_address, "latest")
    world.chain.rpc("anvil_setCode", broken.token.contract_address, "0x60006000fd")  # a paused token
    assert world.work_until_decided(payment).status == "completed"
    stuck.refresh_from_db()
    assert (stuck.status, Relay.objects.count()) == ("pending", 0)
    world.chain.rpc("anvil_setCode", broken.token.contract_address, code)
    world.clock.forward(seconds=15)
    assert world.work_until_decided(stuck).status == "completed"


def another_token(world: SponsoringWorld) -> Token:
    contract = deploy.deploy_token(
        world.chain.url, artifact="AuthorizedToken", name="USD Coin", symbol="EURC", decimals=6
    )
    return Token.objects.create(
        chain=world.row,
        symbol="EURC",
        name="Euro Coin",
        decimals=6,
        contract_address=contract,
        authorization=RULES,
    )
