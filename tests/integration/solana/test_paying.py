"""A payment on Solana that arrives completes its request: built by the service, signed and sent by a script's key."""

from typing import Any

import pytest
from solders.keypair import Keypair

from chains.models import Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.conftest import Api
from tests.support.payments.world import Clock, look_until_decided, make_request, submit
from tests.support.solana.ledger import LocalLedger
from tests.support.solana.world import built_for
from tests.verifying import discover_due

Status = PaymentRequest.Status


@pytest.fixture
def recipient() -> str:
    """A wallet that was never used: it has neither SOL nor a token account."""
    return str(Keypair().pubkey())


def test_usdc_arrives_in_an_account_made_for_it_and_completes_the_request(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger, recipient: str
) -> None:
    request = make_request(merchant, solana_usdc, "10.5", recipient)
    signature = local_ledger.sign_and_send(built_for(request, local_ledger.payer))
    payment = look_until_decided(submit(request, local_ledger.finalize(signature)), Clock())

    request.refresh_from_db()
    assert (payment.status, request.status) == (Payment.Status.COMPLETED, Status.COMPLETED)
    assert payment.amount_received == request.amount_paid == 10_500_000
    assert (payment.bound_by, payment.from_address) == ("reference", local_ledger.payer)
    assert local_ledger.token_balance(recipient) == 10_500_000
    assert ConsumedTransfer.objects.get().slot == "3"  # after the compute budget and the account's making


def test_sol_completes_the_request(
    merchant: Merchant, sol: Token, local_ledger: LocalLedger, recipient: str
) -> None:
    request = make_request(merchant, sol, "0.25", recipient)
    signature = local_ledger.sign_and_send(built_for(request, local_ledger.payer))
    look_until_decided(submit(request, local_ledger.finalize(signature)), Clock())

    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.COMPLETED, 250_000_000)
    assert local_ledger.balance(recipient) == 250_000_000
    assert ConsumedTransfer.objects.get().slot == "2"


def test_a_wallet_pays_through_the_public_endpoints_alone(
    api: Api, public: Api, solana_usdc: Token, local_ledger: LocalLedger, recipient: str
) -> None:
    body = {
        "amount": "3",
        "token_id": solana_usdc.id,
        "chain_id": solana_usdc.chain_id,
        "recipient_address": recipient,
    }
    created = api.post("/api/payment-requests", body).json()
    path = f"/api/public/payment-requests/{created['id']}"
    wanted = {
        "wallet_address": local_ledger.payer,
        "chain_id": solana_usdc.chain_id,
        "token_id": solana_usdc.id,
    }
    [route] = public.post(f"{path}/routes", wanted).json()["routes"]
    built = public.post("/api/public/build-transaction", {"route_id": route["id"]}).json()
    assert (built["chain_type"], built["binding"]) == ("solana", "reference")
    signature = local_ledger.finalize(local_ledger.sign_and_send(built["transaction"]))
    sent = {"transaction_hash": signature, "chain_id": solana_usdc.chain_id, "route_id": route["id"]}
    answer = public.post(f"{path}/payments", sent)
    assert answer.status_code == 201
    look_until_decided(Payment.objects.get(pk=answer.json()["id"]), Clock())
    assert public.get(path).json()["status"] == "completed"


def test_a_payment_whose_page_was_closed_is_found_by_its_reference(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger, recipient: str
) -> None:
    request = make_request(merchant, solana_usdc, "2", recipient)
    signature = local_ledger.sign_and_send(built_for(request, local_ledger.payer))
    local_ledger.finalize(signature)
    assert discover_due() == 1
    payment = Payment.objects.get()
    assert (payment.request_id, payment.transaction_hash) == (request.pk, signature)
    look_until_decided(payment, Clock())
    request.refresh_from_db()
    assert request.status == Status.COMPLETED


def test_a_hash_submitted_after_the_deadline_still_counts(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger, recipient: str
) -> None:
    request = make_request(merchant, solana_usdc, "2", recipient)
    signature = local_ledger.sign_and_send(built_for(request, local_ledger.payer))
    local_ledger.finalize(signature)
    PaymentRequest.objects.filter(pk=request.pk).update(status=Status.EXPIRED)
    look_until_decided(submit(request, signature), Clock())
    request.refresh_from_db()
    assert (request.status, request.amount_paid, request.paid_late) == (Status.COMPLETED, 2_000_000, False)


def test_a_strangers_signature_pays_only_its_own_request(
    merchant: Merchant,
    solana_usdc: Token,
    local_ledger: LocalLedger,
    recipient: str,
) -> None:
    mine = make_request(merchant, solana_usdc, "2", recipient)
    strangers = make_request(merchant, solana_usdc, "2", recipient)
    signature = local_ledger.sign_and_send(built_for(mine, local_ledger.payer))
    local_ledger.finalize(signature)
    clock = Clock()
    claimed = look_until_decided(submit(strangers, signature), clock)
    assert (claimed.status, claimed.failure_code) == (Payment.Status.FAILED, "transaction_not_bound")
    look_until_decided(submit(mine, signature), clock)
    mine.refresh_from_db()
    strangers.refresh_from_db()
    assert (mine.status, mine.amount_paid) == (Status.COMPLETED, 2_000_000)
    assert (strangers.status, strangers.amount_paid) == (Status.ACTIVE, 0)


def test_a_transfer_without_a_reference_is_not_bound(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger, recipient: str
) -> None:
    request = make_request(merchant, solana_usdc, "2", recipient)
    signature = local_ledger.send(local_ledger.token_move(recipient, 2_000_000))
    payment = look_until_decided(submit(request, local_ledger.finalize(signature)), Clock())
    assert payment.failure_code == "transaction_not_bound"
    assert ConsumedTransfer.objects.count() == 0


def test_another_token_or_another_recipient_is_named(
    merchant: Merchant, solana_usdc: Token, sol: Token, local_ledger: LocalLedger, recipient: str
) -> None:
    request = make_request(merchant, solana_usdc, "2", recipient)
    reference = bytes(request.reference)
    other = str(Keypair().pubkey())
    moves: dict[str, Any] = {
        "wrong_token": local_ledger.coin_move(recipient, 10**9, reference),
        "wrong_recipient": local_ledger.token_move(other, 2_000_000, reference),
    }
    codes = {}
    for wanted, move in moves.items():
        signature = local_ledger.finalize(local_ledger.send(move))
        codes[wanted] = look_until_decided(submit(request, signature), Clock()).failure_code
    assert codes == {wanted: wanted for wanted in moves}
