"""The customer proves a Solana address and then pays from it by hand, because the request has no reference to scan."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.signature import Signature

from chains.models import Token
from payments.models import PayerProof, Payment, PaymentRequest
from tests.support.checkout.bare import Bare
from tests.support.payments.world import Clock, look_until_decided
from tests.support.solana.ledger import USDC_UNIT, LocalLedger

FORMS: dict[str, Callable[[Signature], str]] = {
    "base58": str,
    "base64": lambda signed: base64.b64encode(bytes(signed)).decode(),
    "hex": lambda signed: bytes(signed).hex(),
}


@pytest.fixture
def browser(checkout: Callable[..., dict[str, Any]], solana_usdc: Token, local_ledger: LocalLedger) -> Bare:
    """A browser on a request without references. Its recipient has an account for the token."""
    recipient = str(local_ledger.new_wallet(usdc=USDC_UNIT).pubkey())
    of_solana = {"token_id": solana_usdc.id, "chain_id": solana_usdc.chain_id, "recipient_address": recipient}
    return Bare(checkout(amount="3", references=False, **of_solana))


def prove(browser: Bare, key: Keypair, form: Callable[[Signature], str] = str) -> Any:
    page, text = browser.text_for(str(key.pubkey()))
    return browser.send(page, signature=form(key.sign_message(text.encode())))


def test_solana_transfer_of_the_proved_address_is_credited(browser: Bare, local_ledger: LocalLedger) -> None:
    response = prove(browser, local_ledger.key)
    assert (
        f'id="sender" translate="no">{local_ledger.payer}<'
        in browser.open(response["Location"]).content.decode()
    )
    recipient = PaymentRequest.objects.get().recipient_address
    sent = local_ledger.send(local_ledger.token_move(recipient, 3 * USDC_UNIT))
    payment = browser.paste(local_ledger.finalize(sent))
    assert look_until_decided(payment, Clock()).status == Payment.Status.COMPLETED
    assert (payment.bound_by, payment.from_address) == ("payer", local_ledger.payer)
    assert PaymentRequest.objects.get().status == PaymentRequest.Status.COMPLETED


def test_solana_transfer_of_another_address_is_not_credited(browser: Bare, local_ledger: LocalLedger) -> None:
    prove(browser, local_ledger.new_wallet(usdc=3 * USDC_UNIT))
    sent = local_ledger.send(
        local_ledger.token_move(PaymentRequest.objects.get().recipient_address, 3 * USDC_UNIT)
    )
    payment = browser.paste(local_ledger.finalize(sent))
    assert look_until_decided(payment, Clock()).failure_code == "transaction_not_bound"
    assert PaymentRequest.objects.get().amount_paid == 0


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_solana_signature_is_accepted_in_each_encoding(
    browser: Bare, local_ledger: LocalLedger, form: Callable[[Signature], str]
) -> None:
    assert prove(browser, local_ledger.key, form).status_code == 303
    assert PayerProof.objects.get().address == local_ledger.payer


def test_solana_signature_of_another_key_is_rejected(browser: Bare, local_ledger: LocalLedger) -> None:
    page, text = browser.text_for(local_ledger.payer)
    response = browser.send(page, signature=str(Keypair().sign_message(text.encode())))
    assert response.status_code == 400
    assert not PayerProof.objects.exists()


def test_wallet_that_refuses_the_code_scans_a_plain_one(
    checkout: Callable[..., dict[str, Any]], solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    recipient = str(local_ledger.new_wallet(usdc=USDC_UNIT).pubkey())
    of_solana = {"token_id": solana_usdc.id, "chain_id": solana_usdc.chain_id, "recipient_address": recipient}
    browser = Bare(checkout(amount="3", **of_solana))
    page = browser.open(browser.start.removesuffix("/by-hand")).content.decode()
    assert "&amp;reference=" in page
    assert f'href="{browser.start}#proof"' in page
    assert 'name="wallet_address"' in browser.open(browser.start).content.decode()
    shown = browser.open(prove(browser, local_ledger.key)["Location"]).content.decode()
    assert f'href="solana:{recipient}?amount=3' in shown
    assert "reference=" not in shown
    payment = browser.paste(
        local_ledger.finalize(local_ledger.send(local_ledger.token_move(recipient, 3 * USDC_UNIT)))
    )
    assert look_until_decided(payment, Clock()).bound_by == "payer"
