"""A stored transaction is sent until it is final or dead, despite crashes, forks, failures, cancellations, two tabs."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from solders.transaction import VersionedTransaction

from chains.client import ChainError, Snapshot
from chains.facts.authorizations import Sent
from chains.facts.cosigning import Fate, Pending
from chains.families import get_client
from chains.families.solana.cosigning.client import CosigningReader
from chains.models import Chain
from demo.solana import ledger as demo_ledger
from merchants.models import Merchant
from payments.models import Authorization, Payment, PaymentRequest, Relay
from payments.sponsoring.cosigned import CosignedPass
from tests.conftest import Api
from tests.support.payments.cosigning import CosigningWorld
from tests.verifying import relay_due, settle_due


def decided(payment: Payment) -> tuple[str, str]:
    payment.refresh_from_db()
    return payment.status, payment.failure_code


def end_leases() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE payments_gasaccount SET lease_until = now() - interval '1 second'")


def is_on_chain(world: CosigningWorld, hash_: str) -> bool:
    return world.ledger.rpc("getSignatureStatuses", [hash_])["value"] != [None]


# --- one transaction ------------------------------------------------------------------------------------------------


def test_transaction_that_was_stored_but_not_sent_is_sent_later(
    world: CosigningWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies after storing the transaction and before sending it. Another worker sends the same bytes."""
    payment = world.pay(world.request())

    class Died(BaseException):
        pass

    def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(CosignedPass, "_send", die)
        with pytest.raises(Died):
            relay_due(now=world.clock)
    relay = Relay.objects.get()
    payment.refresh_from_db()
    assert (payment.transaction_hash, is_on_chain(world, relay.hashes[0])) == (relay.hashes[0], False)
    end_leases()
    world.work_until_decided(payment)
    assert (payment.status, payment.transaction_hash) == ("completed", relay.hashes[0])
    assert Relay.objects.get().hashes == relay.hashes


def test_many_payments_are_each_paid_once(world: CosigningWorld) -> None:
    payments = []
    for _ in range(4):
        payments.append(world.pay(world.request("1")))
        # On the local chain, a blockhash expires within seconds.
        relay_due(now=world.clock)
    for payment in payments:
        world.work_until_decided(payment)
    world.work_until_idle()
    assert {decided(payment) for payment in payments} == {("completed", "")}
    assert len({relay.hashes[0] for relay in Relay.objects.all()}) == len(payments)
    assert {each.status for each in PaymentRequest.objects.all()} == {"completed"}
    costs = [each.cost for each in Authorization.objects.all()]
    assert costs == [10_000] * len(payments)
    assert world.account().next_nonce is None


def test_worker_whose_lease_was_lost_stores_nothing(
    world: CosigningWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.pay(world.request())
    store = CosignedPass._stored

    def lose(self: Any, *arguments: Any) -> Any:
        type(world.account()).objects.update(claim_id="00000000-0000-0000-0000-000000000001")
        return store(self, *arguments)

    monkeypatch.setattr(CosignedPass, "_stored", lose)
    relay_due(now=world.clock)
    assert not Relay.objects.exists()


class Forking:
    """The cluster's client. While `is_forked`, its nodes have lost the blocks with these transactions."""

    def __init__(self, chain: Chain) -> None:
        self._client = get_client(chain)
        self.is_forked = False
        self.sent: list[str] = []

    def __call__(self, chain: Chain) -> "Forking":
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @property
    def cosigning(self) -> "Forking":
        return self

    def look_up(self, hashes: Sequence[str], **options: Any) -> Snapshot:
        snapshot = self._client.look_up(hashes, **options)
        return replace(snapshot, transactions=dict.fromkeys(hashes)) if self.is_forked else snapshot

    def fates(self, transactions: dict[str, Pending]) -> Any:
        reader = self._client.cosigning
        return {} if self.is_forked or reader is None else reader.fates(transactions)

    def send(self, raw: str, *, to_all: bool = False) -> Sent:
        self.sent.append(raw)
        reader = self._client.cosigning
        return reader.send(raw, to_all=to_all) if reader is not None else Sent.REJECTED


def test_transaction_that_a_fork_dropped_is_sent_again(world: CosigningWorld) -> None:
    world.client = client = Forking(world.row)
    payment = world.pay(world.request())
    world.work()
    assert len(client.sent) == 1
    client.is_forked = True
    world.work()
    world.work()
    assert decided(payment)[0] == "processing"
    assert payment.is_bound_unmined  # the payment still holds the request
    client.is_forked = False
    world.work_until_decided(payment)
    assert decided(payment) == ("completed", "")
    assert (len(client.sent) >= 3, len(set(client.sent)), Relay.objects.count()) == (True, 1, 1)
    request = PaymentRequest.objects.get()
    assert (request.status, request.amount_paid) == ("completed", request.amount)


# --- ends -----------------------------------------------------------------------------------------------------------


def test_payer_who_empties_the_account_costs_the_sponsor_nothing(world: CosigningWorld) -> None:
    request = world.new_request()
    payment = world.pay(request)
    world.empty_payer()
    world.work()
    relay = Relay.objects.get()
    assert (relay.sent_at, is_on_chain(world, relay.hashes[0])) == (None, False)
    assert (Authorization.objects.get().cost or 0) > 2_000_000  # with the deposit
    world.work_until_decided(payment)
    assert decided(payment) == ("failed", "authorization_expired")
    world.work_until_idle()
    authorization = Authorization.objects.get()
    assert (authorization.cost, authorization.deposit, world.spent()) == (0, None, 0)
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("active", 0)
    assert len(world.routes(request)) == 2  # nothing was lost, so the payer stays eligible


def test_dead_transaction_that_was_not_signed_last_is_unchecked(world: CosigningWorld) -> None:
    payment = world.pay(world.request())
    world.pass_blocks(world.authorization().last_valid_height or 0)
    world.clock.forward(seconds=3)
    settle_due(now=world.clock)
    assert decided(payment) == ("failed", "authorization_expired")
    assert (Relay.objects.count(), world.authorization().next_check_at) == (0, None)


def test_account_that_was_drained_after_storing_pays_nothing(world: CosigningWorld) -> None:
    payment = world.pay(world.request())
    world.drain_sponsor()
    world.work_until_decided(payment)
    assert decided(payment) == ("failed", "authorization_expired")
    world.work_until_idle()
    assert Authorization.objects.get().cost == 0
    assert world.ledger.token_balance(world.payer_address) == 1_000 * 10**6


def test_transaction_that_fails_in_a_block_ends_at_once(
    world: CosigningWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction can't be in another block, so the customer may pay again. The sponsor records the lost fee."""
    request = world.request()
    payment = world.pay(request)
    with monkeypatch.context() as patched:
        patched.setattr(CosignedPass, "_send", lambda *_: None)
        relay_due(now=world.clock)
    world.empty_payer()
    relay = Relay.objects.get()
    raw = VersionedTransaction.from_bytes(base64.b64decode(relay.raw))
    assert demo_ledger.send_signed(world.ledger.url, raw, even_if_it_fails=True) == relay.hashes[0]
    world.work_until_decided(payment)
    assert decided(payment) == ("failed", "transaction_reverted")
    world.work_until_idle()
    relay.refresh_from_db()
    authorization = Authorization.objects.get()
    assert (relay.succeeded, relay.fee, authorization.cost) == (False, 10_000, 10_000)
    assert authorization.ended_at is not None
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("active", 0)
    assert len(world.routes(request)) == 2
    Relay.objects.create(
        account=relay.account, authorization=authorization, hashes=["1"], raw="", unsigned={}, succeeded=False
    )
    assert [each["sponsored"] for each in world.routes(request)] == [False]  # the second failure within a day


def test_our_clock_ends_no_transaction(world: CosigningWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CosigningReader, "fates", lambda *_: {})
    monkeypatch.setattr(CosigningReader, "send", lambda *_, **__: Sent.REJECTED)
    payment = world.pay(world.request())
    world.clock.forward(minutes=20)
    for _ in range(3):
        world.work()
    assert decided(payment)[0] == "processing"
    assert (Authorization.objects.get().ended_at, Relay.objects.get().ended_at) == (None, None)


def test_dead_transaction_that_landed_after_all_counts(
    world: CosigningWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two nodes were wrong. The hourly check finds the transaction."""
    payment = world.pay(world.request())
    with monkeypatch.context() as patched:
        hidden = Forking(world.row)
        hidden.is_forked = True
        world.client = hidden
        world.work()
        patched.setattr(Forking, "fates", lambda _, each: dict.fromkeys(each, Fate.EXPIRED))
        world.work()
    assert decided(payment) == ("failed", "authorization_expired")
    world.client = get_client
    world.clock.forward(hours=1)
    world.work_until_completed(payment)
    assert decided(payment) == ("completed", "")
    assert PaymentRequest.objects.get().status == "completed"


# --- two tabs, expiry and cancellation ------------------------------------------------------------------------------


def test_another_transaction_waits_for_the_live_one(world: CosigningWorld) -> None:
    request = world.request()
    first, second = world.signed(request), world.signed(request)
    world.submit(request, *first)
    answer = world.submit(request, *second, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "payment_in_progress")
    assert Payment.objects.count() == 1
    answer = world.post("build-transaction", {"route_id": second[0]}, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "payment_in_progress")


def test_unsent_transaction_is_dropped_when_the_merchant_cancels(world: CosigningWorld, api: Api) -> None:
    request = world.request()
    payment = world.pay(request)
    answer = api.post(f"/api/payment-requests/{request.pk}/cancel", {})
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    assert decided(payment) == ("failed", "authorization_expired")
    for _ in range(3):
        world.work()
    assert (Relay.objects.count(), Authorization.objects.get().cost, world.spent()) == (0, 0, 0)


def test_transaction_that_may_be_sent_holds_cancellation(
    world: CosigningWorld, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node's response was lost, but the node may have the transaction."""
    request = world.request()
    payment = world.pay(request)

    def fail(*_: Any, **__: Any) -> None:
        raise ChainError("no response")

    with monkeypatch.context() as patched:
        patched.setattr(CosigningReader, "send", fail)
        relay_due(now=world.clock)
    answer = api.post(f"/api/payment-requests/{request.pk}/cancel", {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "payment_in_progress")
    world.clock.forward(seconds=20)
    world.work_until_decided(payment)
    assert decided(payment) == ("completed", "")


def test_stored_transaction_is_sent_though_it_is_switched_off(world: CosigningWorld, settings: Any) -> None:
    payment = world.pay(world.request())
    Merchant.objects.update(sponsored_payments=False)
    settings.SPONSOR_DAILY_BUDGET = {}
    world.work_until_decided(payment)
    assert decided(payment) == ("completed", "")


def test_hash_of_the_transaction_belongs_to_its_payment(world: CosigningWorld) -> None:
    request = world.request()
    payment = world.work_until_decided(world.pay(request))
    body = {"transaction_hash": payment.transaction_hash, "chain_id": world.row.pk}
    assert world.post(f"payment-requests/{request.pk}/payments", body, 200)["id"] == payment.pk
    other = world.request()
    answer = world.post(f"payment-requests/{other.pk}/payments", body, 409)
    assert answer["error"]["code"] == "transaction_already_used"
