"""A payer with the token but no SOL signs a transaction. The gas account pays its fee."""

import pytest
from django.utils import timezone

from chains.facts.authorizations import Sent
from chains.families.solana.cosigning.client import CosigningReader
from payments.models import Authorization, Payment, Relay
from payments.sponsoring.accounts import check_balances
from payments.sponsoring.doctor import check
from payments.sponsoring.overview import overview
from tests.support.payments.cosigning import CosigningWorld
from tests.support.solana.signing import message_of, sign


def test_payer_without_sol_completes_the_request(world: CosigningWorld) -> None:
    request = world.request()
    held = world.ledger.token_balance(request.recipient_address)
    direct, sponsored = world.routes(request)
    assert (direct["sponsored"], sponsored["sponsored"], sponsored["type"]) == (False, True, "direct")
    built = world.build(sponsored["id"])
    assert (built["typed_data"], built["binding"], built["payer_proof"]) == (None, "reference", None)
    message = message_of(built["transaction"])
    signers = message.account_keys[: message.header.num_required_signatures]
    assert signers == [world.sponsor.pubkey(), world.payer.pubkey()]

    signed = sign(built["transaction"], world.payer)
    answer = world.submit(request, sponsored["id"], signed)
    assert (answer["sponsored"], answer["status"], answer["bound_by"]) == (True, "pending", "reference")
    assert (answer["transaction_hash"], answer["from_address"]) == (None, None)
    assert world.submit(request, sponsored["id"], signed, 200)["id"] == answer["id"]
    payment = world.work_until_decided(Payment.objects.get(pk=answer["id"]))
    assert (payment.status, payment.bound_by, payment.amount_received) == (
        "completed",
        "reference",
        request.amount,
    )
    assert payment.from_address == world.payer_address
    request.refresh_from_db()
    assert request.status == "completed"
    assert world.ledger.token_balance(request.recipient_address) - held == request.amount
    assert world.ledger.balance(world.payer_address) == 0

    world.work_until_idle()
    authorization, relay = Authorization.objects.get(), Relay.objects.get()
    assert (relay.succeeded, authorization.cost) == (True, relay.fee)
    # The local cluster doesn't include the price of compute units in the fee that it reports.
    assert 0 <= world.spent() - (relay.fee or 0) < 10
    assert payment.transaction_hash == relay.hashes[0]
    assert authorization.ended_at is not None
    assert world.submit(request, sponsored["id"], signed, 200)["status"] == "completed"


def test_operator_sees_the_account_and_its_budget(world: CosigningWorld) -> None:
    payment = world.pay(world.request())
    [row] = overview(timezone.now())
    assert (row.chain, row.budget, row.spent, row.unsent.number) == (world.row, 10**9, world.reserved(), 1)
    world.work_until_decided(payment)
    world.work_until_idle()
    [row] = overview(timezone.now())
    assert row.account is not None
    assert (row.account.address, row.spent, row.unsent.number) == (world.sponsor_address, 10_000, 0)
    assert check_balances() == 1
    assert world.account().balance == world.ledger.balance(world.sponsor_address)
    findings = [(finding.subject, str(finding)) for finding in check()]
    assert [subject for subject, _ in findings] == ["sponsor on Local Solana"]
    assert world.sponsor_address in findings[0][1]


def test_transaction_in_no_block_is_reported(world: CosigningWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.pay(world.request())
    monkeypatch.setattr(CosigningReader, "send", lambda *_, **__: Sent.REJECTED)
    monkeypatch.setattr(CosigningReader, "fates", lambda *_: {})
    world.work()
    world.clock.forward(minutes=6)
    [found] = [each for each in check(now=world.clock) if each.subject == "relay on Local Solana"]
    assert f"a transaction of {world.sponsor_address} is in no block" in str(found)
