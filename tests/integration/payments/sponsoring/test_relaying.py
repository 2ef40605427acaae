"""The gas account: its nonces, fees and budget, and its behaviour when one of these is missing."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from eth_account import Account

from chains.client import ChainError
from chains.families import get_client
from demo.contracts import deploy
from merchants.models import Merchant
from payments.models import Authorization, GasAccount, Payment, PaymentRequest, Relay
from payments.requests.lifecycle import expire_due
from payments.routes import authorizing
from payments.sponsoring import relaying
from tests.conftest import Api
from tests.support.payments.sponsoring import SponsoringWorld
from tests.verifying import relay_due


def decided(payment: Payment) -> tuple[str, str]:
    payment.refresh_from_db()
    return payment.status, payment.failure_code


def send_by_payer(world: SponsoringWorld, to: str, units: int) -> None:
    """Move the payer's tokens with a transaction of the payer."""
    world.chain.rpc("anvil_setBalance", world.payer.address, hex(10**18))
    world.chain.transfer(world.token.contract_address, to, units, key="0x" + bytes(world.payer.key).hex())


# --- nonces ---------------------------------------------------------------------------------------------------------


def test_many_payments_have_nonces_without_a_gap(world: SponsoringWorld) -> None:
    payments = [world.pay(world.request()) for _ in range(20)]
    for payment in payments:
        world.work_until_decided(payment)
    assert {decided(payment) for payment in payments} == {("completed", "")}
    assert sorted(Relay.objects.values_list("nonce", flat=True)) == list(range(20))
    world.work()
    spent = 10**18 - int(world.chain.rpc("eth_getBalance", world.sponsor, "latest"), 16)
    assert sum(each.cost or 0 for each in Authorization.objects.all()) == spent


def test_transaction_that_was_stored_but_not_sent_is_sent_later(
    world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies after storing the transaction and before sending it. Another worker sends the same bytes."""
    payment = world.pay(world.request())

    class Died(BaseException):
        pass

    def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(relaying._Pass, "_send", die)
        with pytest.raises(Died):
            relay_due(now=world.clock)
    relay = Relay.objects.get()
    assert world.chain.rpc("eth_getTransactionByHash", relay.hashes[0]) is None
    assert relay_due(now=world.clock) == 0  # the dead worker's lease is still valid
    with connection.cursor() as cursor:
        cursor.execute("UPDATE payments_gasaccount SET lease_until = now() - interval '1 second'")
    world.work_until_decided(payment)
    assert (payment.status, payment.transaction_hash) == ("completed", relay.hashes[0])
    assert Relay.objects.get().hashes == relay.hashes


def test_worker_whose_lease_was_lost_stores_nothing(
    world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.pay(world.request())
    simulate = relaying._Pass._stored

    def lose(self: Any, *arguments: Any) -> Any:
        GasAccount.objects.update(claim_id="00000000-0000-0000-0000-000000000001")
        return simulate(self, *arguments)

    monkeypatch.setattr(relaying._Pass, "_stored", lose)
    relay_due(now=world.clock)
    assert not Relay.objects.exists()
    assert world.account().next_nonce is None


def test_key_that_was_used_elsewhere_continues_at_its_nonce(world: SponsoringWorld) -> None:
    deploy.send(world.chain.url, world.sponsor_key, to=world.chain.recipient, value=1)
    payment = world.work_until_decided(world.pay(world.request()))
    assert (payment.status, Relay.objects.get().nonce) == ("completed", 1)
    deploy.send(world.chain.url, world.sponsor_key, to=world.chain.recipient, value=1)
    payment = world.work_until_decided(world.pay(world.request()))
    assert (payment.status, Relay.objects.latest("nonce").nonce) == ("completed", 3)


# --- fees -----------------------------------------------------------------------------------------------------------


def test_stuck_transaction_is_sent_again_with_higher_fees(own_world: SponsoringWorld) -> None:
    world = own_world
    payment = world.pay(world.request())
    world.chain.rpc("evm_setAutomine", False)
    world.work()
    first = Relay.objects.get()
    cost = Authorization.objects.get().cost or 0
    world.clock.forward(seconds=31)
    world.work()
    second = Relay.objects.get()
    assert (second.nonce, second.hashes[:1], len(second.hashes)) == (first.nonce, first.hashes, 2)
    assert int(second.unsigned["maxFeePerGas"], 16) * 10 >= int(first.unsigned["maxFeePerGas"], 16) * 11
    assert (Authorization.objects.get().cost or 0) > cost
    world.chain.rpc("evm_setAutomine", True)
    world.chain.mine()
    world.work_until_decided(payment)
    assert (payment.status, payment.transaction_hash) == ("completed", second.hashes[1])
    assert payment.replaced_hashes == first.hashes
    for hash_ in second.hashes:
        body = {"transaction_hash": hash_, "chain_id": world.row.pk}
        assert world.post(f"payment-requests/{payment.request_id}/payments", body, 200)["id"] == payment.pk


def test_account_without_coin_offers_no_relay(world: SponsoringWorld) -> None:
    request = world.request()
    route, signature = world.signed(request)
    world.chain.rpc("anvil_setBalance", world.sponsor, "0x0")
    answer = world.submit(request, route, signature, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "sponsoring_unavailable")
    assert not Payment.objects.exists()
    request.refresh_from_db()
    assert request.status == "active"  # the customer can still use the ordinary route
    assert world.routes(request)[0]["sponsored"] is False


def test_account_that_gets_coin_in_time_still_pays(world: SponsoringWorld) -> None:
    payment = world.pay(world.request())
    world.chain.rpc("anvil_setBalance", world.sponsor, "0x0")
    for _ in range(3):
        world.work()
    assert not Relay.objects.exists()
    world.chain.rpc("anvil_setBalance", world.sponsor, hex(10**18))
    world.work_until_decided(payment)
    assert decided(payment) == ("completed", "")


# --- budgets --------------------------------------------------------------------------------------------------------


def test_budget_is_reserved_and_returned(
    world: SponsoringWorld, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = 10**15
    monkeypatch.setattr(authorizing, "_simulated_cost", lambda *_: cost)

    def submitted() -> int:
        """Submit a signature that was built while the budget was sufficient; return the status."""
        request = world.request()
        signed = world.signed(request)
        settings.SPONSOR_DAILY_BUDGET = {world.row.pk: Decimal(cost * 102).scaleb(-18)}
        status = world.submit(request, *signed, None).status_code
        settings.SPONSOR_DAILY_BUDGET = {world.row.pk: Decimal(1)}
        return int(status)

    first = world.pay(world.request())
    # A request can use a hundredth of the budget that other requests leave. After three reservations, that is
    # too little.
    assert [submitted() for _ in range(3)] == [201, 201, 409]
    reserved = sum(each.cost or 0 for each in Authorization.objects.all())
    for payment in Payment.objects.all():
        world.work_until_decided(payment)
    world.work()
    returned = reserved - sum(each.cost or 0 for each in Authorization.objects.all())
    assert returned > 0
    assert decided(first) == ("completed", "")


def test_request_gets_a_hundredth_of_the_budget(world: SponsoringWorld, settings: Any) -> None:
    request = world.request()
    route, signature = world.signed(request)
    settings.SPONSOR_DAILY_BUDGET = {world.row.pk: Decimal("0.000001")}
    answer = world.submit(request, route, signature, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "sponsoring_unavailable")
    assert Authorization.objects.get().cost is None


def test_two_failed_relays_bar_the_payer_for_the_day(world: SponsoringWorld) -> None:
    request = world.request()
    day = datetime.now(UTC).date()
    world.route(request)
    for number in range(2):
        world.signed(request)
        authorization = Authorization.objects.latest("pk")
        Authorization.objects.filter(pk=authorization.pk).update(day=day, ended_at=datetime.now(UTC))
        account, _ = GasAccount.objects.get_or_create(chain=world.row, address=world.sponsor)
        Relay.objects.create(
            account=account, nonce=number, authorization=authorization, hashes=["0x"], raw="", unsigned={},
            succeeded=False, ended_at=datetime.now(UTC),
        )  # fmt: skip
    assert [route["sponsored"] for route in world.routes(request)] == [False]
    assert len(world.routes(request, Account.create())) == 2


# --- data fees ------------------------------------------------------------------------------------------------------

ORACLE = "0x420000000000000000000000000000000000000F"


def charge_for_data(world: SponsoringWorld, fee: int, *, operator_fee: bool = False) -> None:
    """Make the chain charge this fee for each transaction's data; its oracle returns the fee.

    With `operator_fee`, the oracle returns the same value as the operator fee. Without, it lacks that function.
    """
    data_fee_only = (
        "5f3560e01c6349948e0e14601157" + "5f5ffd" + "5b"
    )  # if the selector is getL1Fee's, else revert
    code = ("" if operator_fee else data_fee_only) + f"7f{fee:064x}5f5260205ff3"
    world.chain.rpc("anvil_setCode", ORACLE, "0x" + code)
    type(world.row).objects.update(l1_fee_oracle=ORACLE)


def test_data_fee_of_a_rollup_is_reserved_twice(world: SponsoringWorld) -> None:
    fee = 10**15
    world.pay(world.request())
    charge_for_data(world, fee)
    world.pay(world.request())
    without, with_fee = (each.cost or 0 for each in Authorization.objects.order_by("pk"))
    assert abs(with_fee - without - 2 * fee) < without
    assert with_fee > 2 * fee


def test_operator_fee_of_a_rollup_is_reserved_too(world: SponsoringWorld) -> None:
    fee = 10**15
    charge_for_data(world, fee, operator_fee=True)
    world.pay(world.request())
    assert (Authorization.objects.get().cost or 0) > 4 * fee


def test_data_fee_beyond_the_budget_is_not_sponsored(world: SponsoringWorld) -> None:
    charge_for_data(world, 10**16)  # twice this is more than a request's share of the budget
    request = world.request()
    answer = world.submit(request, *world.signed(request), None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "sponsoring_unavailable")
    assert (Payment.objects.count(), Authorization.objects.get().cost) == (0, None)


def test_relay_waits_while_its_data_costs_more_than_is_reserved(world: SponsoringWorld) -> None:
    charge_for_data(world, 10**9)
    payment = world.pay(world.request())
    reserved = Authorization.objects.get().cost
    charge_for_data(world, 10**17)
    for _ in range(3):
        world.work()
    assert (Relay.objects.count(), Authorization.objects.get().cost) == (0, reserved)
    charge_for_data(world, 10**9)
    world.work_until_decided(payment)
    assert decided(payment) == ("completed", "")


def test_relay_without_a_known_fee_keeps_its_reservation(
    world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = world.pay(world.request())
    world.work()
    reserved = Authorization.objects.get().cost
    end = relaying._Pass._end
    monkeypatch.setattr(
        relaying._Pass,
        "_end",
        lambda self, relay, succeeded, fee: end(self, relay, succeeded=succeeded, fee=None),
    )
    world.work_until_decided(payment)
    for _ in range(3):
        world.work()
    authorization = Authorization.objects.get()
    assert (Relay.objects.get().succeeded, authorization.ended_at is not None) == (True, True)
    assert authorization.cost == reserved


# --- switches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("off", ["key", "budget", "merchant", "references", "token"])
def test_nothing_is_sponsored_if_switched_off(world: SponsoringWorld, settings: Any, off: str) -> None:
    request = world.request(references=False) if off == "references" else world.request()
    if off == "key":
        settings.SPONSOR_KEYS = {"evm": ""}
    elif off == "budget":
        settings.SPONSOR_DAILY_BUDGET = {}
    elif off == "merchant":
        Merchant.objects.update(sponsored_payments=False)
    elif off == "token":
        type(world.token).objects.update(authorization=None)
    assert [route["sponsored"] for route in world.routes(request)] == [False]


def test_stored_signature_is_sent_though_it_is_switched_off(world: SponsoringWorld, settings: Any) -> None:
    payment = world.pay(world.request())
    Merchant.objects.update(sponsored_payments=False)
    settings.SPONSOR_DAILY_BUDGET = {}
    world.work_until_decided(payment)
    assert decided(payment) == ("completed", "")


# --- ends -----------------------------------------------------------------------------------------------------------


def test_payer_who_empties_the_account_costs_the_sponsor_nothing(own_world: SponsoringWorld) -> None:
    world = own_world
    request = world.request()
    payment = world.pay(request)
    send_by_payer(
        world,
        world.chain.recipient,
        world.chain.token_balance(world.token.contract_address, world.payer.address),
    )
    for _ in range(3):
        world.work()
    assert (decided(payment), Relay.objects.count()) == (("pending", ""), 0)
    world.pass_time_on_chain(15 * 60)
    world.work()
    assert decided(payment) == ("failed", "authorization_expired")
    assert Authorization.objects.get().cost == 0
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("active", 0)


def test_reverted_relay_is_not_final_until_the_signature_ends(own_world: SponsoringWorld) -> None:
    world = own_world
    payment = world.pay(world.request())
    world.chain.rpc("evm_setAutomine", False)
    world.work()
    world.chain.rpc("anvil_setBalance", world.payer.address, hex(10**18))
    everything = world.chain.token_balance(world.token.contract_address, world.payer.address)
    emptying = world.chain.unsigned_transfer(world.token.contract_address, world.chain.recipient, everything)
    world.chain.send(
        {**emptying, "maxFeePerGas": 10**12, "maxPriorityFeePerGas": 10**11},
        "0x" + bytes(world.payer.key).hex(),
    )
    world.chain.mine()
    world.chain.rpc("evm_setAutomine", True)
    for _ in range(3):
        world.work()
    relay = Relay.objects.get()
    assert (relay.succeeded, decided(payment)[0]) == (False, "processing")
    assert payment.is_bound_unmined  # the payment still holds the request
    world.pass_time_on_chain(15 * 60)
    world.work()
    assert decided(payment) == ("failed", "authorization_expired")
    assert Authorization.objects.get().cost == relay.fee


def test_our_clock_ends_no_signature(own_world: SponsoringWorld) -> None:
    """After an outage, the nodes may still show blocks with old timestamps."""
    world = own_world
    payment = world.pay(world.request())
    world.chain.rpc("anvil_setBalance", world.sponsor, "0x0")
    world.clock.forward(minutes=20)
    for _ in range(3):
        world.work()
    assert decided(payment)[0] == "pending"
    assert Authorization.objects.get().ended_at is None


def test_reorganised_relay_is_sent_again_and_pays_once(own_world: SponsoringWorld) -> None:
    world = own_world
    type(world.row).objects.update(confirmations="3")
    payment = world.pay(world.request())
    world.chain.mine(5)
    world.work()
    world.work()
    assert decided(payment)[0] == "processing"
    world.chain.reorganise(1)
    assert world.chain.rpc("eth_getTransactionReceipt", Relay.objects.get().hashes[0]) is None
    world.clock.forward(seconds=15)
    world.work()
    world.chain.mine(3)
    world.work_until_decided(payment)
    assert decided(payment) == ("completed", "")
    assert Relay.objects.count() == 1
    request = PaymentRequest.objects.get()
    assert (request.status, request.amount_paid) == ("completed", request.amount)


# --- expiry and cancellation ----------------------------------------------------------------------------------------


def test_unsent_signature_is_dropped_when_the_merchant_cancels(world: SponsoringWorld, api: Api) -> None:
    request = world.request()
    payment = world.pay(request)
    answer = api.post(f"/api/payment-requests/{request.pk}/cancel", {})
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    assert decided(payment) == ("failed", "authorization_expired")
    for _ in range(3):
        world.work()
    assert (Relay.objects.count(), Authorization.objects.get().cost) == (0, 0)


def test_sent_signature_holds_cancellation(
    world: SponsoringWorld, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node's response was lost, but the node may have the transaction."""
    request = world.request()
    payment = world.pay(request)

    def fail(*_: Any, **__: Any) -> None:
        raise ChainError("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(type(get_client(world.row).authorizations), "send", fail)
        relay_due(now=world.clock)
    assert Relay.objects.get().sent_at is None
    answer = api.post(f"/api/payment-requests/{request.pk}/cancel", {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "payment_in_progress")
    world.clock.forward(seconds=15)
    world.work_until_decided(payment)
    assert decided(payment) == ("completed", "")


def test_signature_holds_expiry_for_fifteen_minutes(world: SponsoringWorld) -> None:
    request = world.request(lifetime=timedelta(minutes=5))
    world.pay(request)
    at = request.expires_at
    assert expire_due(at + timedelta(minutes=4)) == 0
    assert expire_due(at + timedelta(minutes=16)) == 1
