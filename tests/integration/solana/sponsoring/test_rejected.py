"""Sponsored transactions that nodes reject, that fail in a block, or that are no longer needed."""

import base64
from typing import Any

import pytest
from solders.transaction import VersionedTransaction

from chains.facts.authorizations import Sent
from chains.families.solana.cosigning.client import CosigningReader
from demo.solana import ledger as demo_ledger
from payments.evaluation.verdicts import Finality
from payments.models import Authorization, Payment, PaymentRequest, Relay
from payments.sponsoring import cosigned
from payments.sponsoring.cosigned import CosignedPass
from payments.sponsoring.passes import MAX_WAITING_OF_PAYER, PAUSE_POSTPONED
from tests.support.payments.cosigning import CosigningWorld
from tests.verifying import relay_due


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make the nodes reject each transaction; return a list of those that were sent."""
    raws: list[str] = []

    def reject(_: CosigningReader, raw: str, **__: Any) -> Sent:
        raws.append(raw)
        return Sent.REJECTED

    monkeypatch.setattr(CosigningReader, "send", reject)
    return raws


def test_rejected_transaction_holds_up_no_other(
    world: CosigningWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cosigned, "MAX_WAITING", 1)
    world.pay(world.request())
    world.empty_payer()
    world.work()
    assert Relay.objects.get().sent_at is None
    other = world.pay(world.request(), world.ledger.new_wallet(usdc=1_000 * 10**6))
    world.work_until_decided(other)
    assert (other.status, other.failure_code) == ("completed", "")


def test_unreadable_transaction_holds_up_no_others(
    world: CosigningWorld, caplog: pytest.LogCaptureFixture
) -> None:
    broken = world.pay(world.request())
    Authorization.objects.update(transaction=b"")
    other = world.pay(world.request(), world.ledger.new_wallet(usdc=1_000 * 10**6))
    world.work_until_decided(other)
    assert (other.status, other.failure_code) == ("completed", "")
    broken.refresh_from_db()
    assert broken.status != Payment.Status.COMPLETED
    assert Authorization.objects.get(payment=broken).postponed_at is not None
    assert "a signed transfer could not be relayed" in caplog.messages


def test_stored_transaction_without_bytes_holds_up_no_others(
    world: CosigningWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world.pay(world.request())
    with monkeypatch.context() as patched:
        patched.setattr(CosignedPass, "_send", lambda *_: True)
        relay_due(now=world.clock)
    broken, send = Relay.objects.get(), CosignedPass._send

    def fail(self: CosignedPass, relay: Relay) -> bool:
        if relay.pk == broken.pk:
            raise ValueError("no bytes")
        return send(self, relay)

    monkeypatch.setattr(CosignedPass, "_send", fail)
    other = world.pay(world.request(), world.ledger.new_wallet(usdc=1_000 * 10**6))
    world.work_until_decided(other)
    assert (other.status, other.failure_code) == ("completed", "")
    assert "a signed transfer could not be relayed" in caplog.messages


def test_payer_has_few_transactions_that_nodes_reject(world: CosigningWorld, sent: list[str]) -> None:
    for _ in range(MAX_WAITING_OF_PAYER + 2):
        world.pay(world.request("1"))
    for _ in range(3):
        relay_due(now=world.clock)
        world.clock.forward(seconds=3)
    assert Relay.objects.count() == MAX_WAITING_OF_PAYER
    assert len(set(sent)) == MAX_WAITING_OF_PAYER


def test_rejected_transaction_is_sent_again_after_a_pause(world: CosigningWorld, sent: list[str]) -> None:
    world.pay(world.request())
    for _ in range(2):
        relay_due(now=world.clock)
        world.clock.forward(seconds=PAUSE_POSTPONED.total_seconds() / 2)
    assert len(sent) == 1
    relay_due(now=world.clock)
    assert len(sent) == 2


def test_transaction_of_a_paid_request_is_not_sent_again(world: CosigningWorld, sent: list[str]) -> None:
    request = world.request()
    world.pay(request)
    relay_due(now=world.clock)
    PaymentRequest.objects.filter(pk=request.pk).update(amount_paid=request.amount)
    for _ in range(3):
        world.clock.forward(seconds=10)
        relay_due(now=world.clock)
    assert len(sent) == 1
    assert Relay.objects.get().ended_at is None


def test_failure_counts_against_the_payer_before_it_is_final(
    world: CosigningWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cosigned, "_FINAL", Finality.parse("1000000"))
    world.pay(world.request())
    with monkeypatch.context() as patched:
        patched.setattr(CosignedPass, "_send", lambda *_: True)
        relay_due(now=world.clock)
    world.empty_payer()
    relay = Relay.objects.get()
    raw = VersionedTransaction.from_bytes(base64.b64decode(relay.raw))
    demo_ledger.send_signed(world.ledger.url, raw, even_if_it_fails=True)
    world.clock.forward(seconds=3)
    relay_due(now=world.clock)
    relay.refresh_from_db()
    assert (relay.succeeded, relay.ended_at) == (False, None)


def test_transactions_of_a_barred_payer_are_not_signed(world: CosigningWorld) -> None:
    world.pay(world.request())
    world.work_until_idle()
    first = Relay.objects.get()
    world.pay(world.request())
    for name in ("1", "2"):
        Relay.objects.create(
            account=first.account, authorization=first.authorization, hashes=[name], raw="", unsigned={},
            succeeded=False, ended_at=first.ended_at,
        )  # fmt: skip
    relay_due(now=world.clock)
    assert Authorization.objects.latest("pk").relays.count() == 0
