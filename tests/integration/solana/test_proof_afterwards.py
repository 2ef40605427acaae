"""On a real ledger, the sender of a Solana transfer without this request's reference proves it afterwards."""

from collections.abc import Callable
from typing import Any

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chains.models import Token
from payments.models import Payment, PaymentRequest
from tests.conftest import Api
from tests.support.checkout.bare import Bare
from tests.support.payments.world import Clock, look_until_decided
from tests.support.solana.ledger import USDC_UNIT, LocalLedger


@pytest.fixture
def browser(checkout: Callable[..., dict[str, Any]], solana_usdc: Token, local_ledger: LocalLedger) -> Bare:
    recipient = str(local_ledger.new_wallet(usdc=USDC_UNIT).pubkey())
    of_solana = {"token_id": solana_usdc.id, "chain_id": solana_usdc.chain_id, "recipient_address": recipient}
    return Bare(checkout(amount="3", **of_solana))


def unbound(browser: Bare, ledger: LocalLedger, *keys: Pubkey) -> Payment:
    """Return the failed payment of a transfer with these keys."""
    recipient = PaymentRequest.objects.get().recipient_address
    *before, move = ledger.token_move(recipient, 3 * USDC_UNIT)
    further = [AccountMeta(key, is_signer=False, is_writable=False) for key in keys]
    sent = ledger.send([*before, Instruction(move.program_id, move.data, [*move.accounts, *further])])
    payment = browser.paste(ledger.finalize(sent))
    assert look_until_decided(payment, Clock()).failure_code == "transaction_not_bound"
    return payment


def ask(public: Api, payment: Payment, wallet: str) -> Any:
    path = f"/api/public/payment-requests/{payment.request_id}/payments/{payment.pk}/proof-message"
    return public.post(path, {"wallet_address": wallet})


def test_scanned_transfer_without_key_counts_once_signed(
    browser: Bare, local_ledger: LocalLedger, public: Api
) -> None:
    payment = unbound(browser, local_ledger)
    text = ask(public, payment, local_ledger.payer).json()["message"]
    assert "wants you to sign in with your Solana account:" in text
    assert f"My transfer {payment.transaction_hash} pays order " in text
    body = {"payment_id": payment.pk, "wallet_address": local_ledger.payer}
    path = f"/api/public/payment-requests/{payment.request_id}/payer-proof"
    forged = public.post(path, {**body, "signature": str(Keypair().sign_message(text.encode()))})
    assert forged.json()["error"]["code"] == "signature_invalid"
    signature = str(local_ledger.key.sign_message(text.encode()))
    assert public.post(path, {**body, "signature": signature}).status_code == 200
    assert look_until_decided(payment, Clock()).status == Payment.Status.COMPLETED
    assert (payment.bound_by, payment.retries) == ("payer", 0)


def test_transfer_with_another_systems_key_is_never_proved(
    browser: Bare, local_ledger: LocalLedger, public: Api
) -> None:
    payment = unbound(browser, local_ledger, Keypair().pubkey())
    answer = ask(public, payment, local_ledger.payer)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "transaction_not_bound")
