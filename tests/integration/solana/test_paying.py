"""The service builds a Solana payment and a script signs and sends it. When it arrives, the request completes."""

import pytest
from solders.keypair import Keypair

from chains.models import Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.conftest import Api
from tests.support.payments.world import Clock, look_until_decided, make_request, submit
from tests.support.solana.ledger import LocalLedger
from tests.support.solana.world import built_for

Status = PaymentRequest.Status


@pytest.fixture
def recipient() -> str:
    """A new wallet without SOL and without a token account."""
    return str(Keypair().pubkey())


def test_usdc_payment_to_a_new_account_completes_the_request(
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
    assert ConsumedTransfer.objects.get().slot == "3"  # after compute budget and account creation


def test_wallet_pays_through_the_public_endpoints(
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
