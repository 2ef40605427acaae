"""The page on which the sender of an unbound transfer signs a proof for it, without scripts."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from eth_account import Account

from payments.models import Payment, PaymentRequest, TransferProof
from payments.requests.lifecycle import cancel_request, expire_due
from tests.chain import LocalChain
from tests.support.checkout.bare import Bare, sign, text_on
from tests.support.payments.world import Clock, look_until_decided

Checkout = Callable[..., dict[str, Any]]
AMOUNT = 10_500_000


def sent(browser: Bare, chain: LocalChain) -> tuple[Payment, str]:
    """Return the unbound payment of a transfer by hand, and the path of the page to sign for it."""
    payment = browser.paste(chain.transfer(chain.usdc, chain.recipient, AMOUNT))
    assert look_until_decided(payment, Clock()).failure_code == "transaction_not_bound"
    return payment, f"{browser.start.removesuffix('/by-hand')}/sent/{payment.pk}"


def test_customer_without_scripts_signs_for_a_transfer(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    payment, page = sent(browser, local_chain)
    for path in (browser.start, browser.start.removesuffix("/by-hand")):
        text = browser.open(path).content.decode()
        assert page in text
        assert ">This transaction didn’t pay this request<" not in text
    shown = browser.open(page).content.decode()
    for part in ("Sign only if you sent this transfer", payment.transaction_hash, "10.50 USDC"):
        assert part in shown
    to_sign = browser.send(page, wallet_address=local_chain.payer.lower())
    assert "Sign only if you sent this transfer" in to_sign.content.decode(), (
        "another site's form leads here, too"
    )
    text = text_on(to_sign)
    assert "and no other." in text
    answer = browser.send(page, wallet_address=local_chain.payer, signature=sign(text, local_chain.payer_key))
    assert (answer.status_code, answer["Location"]) == (303, browser.start.removesuffix("/by-hand"))
    assert look_until_decided(payment, Clock()).status == Payment.Status.COMPLETED
    assert browser.open(page)["Location"] == browser.start.removesuffix("/by-hand")


def test_wrong_signature_is_explained_beside_the_text(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    payment, page = sent(browser, local_chain)
    text = text_on(browser.send(page, wallet_address=local_chain.payer))
    wrong = sign(text, "0x" + "5e" * 32)
    for signature in (wrong, "0x12", "no signature"):
        answer = browser.send(page, wallet_address=local_chain.payer, signature=signature)
        assert answer.status_code == 400
        assert 'id="signature-problem"' in answer.content.decode()
        assert text_on(answer) == text
    assert not TransferProof.objects.exclude(verified_at=None).exists()
    assert PaymentRequest.objects.get().amount_paid == 0
    assert Payment.objects.get(pk=payment.pk).sender_signed_at is None


def test_address_that_sent_nothing_is_explained(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    _, page = sent(browser, local_chain)
    for address, status in ((Account.create().address, 409), ("0x12", 400), ("", 400)):
        answer = browser.send(page, wallet_address=address)
        assert (answer.status_code, 'id="wallet-problem"' in answer.content.decode()) == (status, True)
    assert not TransferProof.objects.exists()


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_sender_can_sign_after_the_request_ended(
    checkout: Checkout, local_chain: LocalChain, status: str
) -> None:
    """After the request has ended, the signature binds nothing. The page says that the shop decides."""
    browser = Bare(checkout())
    payment, page = sent(browser, local_chain)
    if status == "cancelled":
        cancel_request(PaymentRequest.objects.get().pk, actor="test")
    else:
        PaymentRequest.objects.update(expires_at=timezone.now(), expiry_check_at=timezone.now())
        expire_due()
    start = browser.start.removesuffix("/by-hand")
    for path in (start, browser.start):
        shown = browser.open(path).content.decode()
        assert page in shown
        assert "<p>If you sent it, sign with the wallet that sent it. " in shown
        assert "<p>If you sent it, sign with the wallet that sent it, and it counts" not in shown
    text = text_on(browser.send(page, wallet_address=local_chain.payer))
    signature = sign(text, local_chain.payer_key)
    assert browser.send(page, wallet_address=local_chain.payer, signature=signature).status_code == 303
    payment.refresh_from_db()
    assert (payment.status, payment.sender_signed_at is not None) == (Payment.Status.FAILED, True)
    shown = browser.open(start).content.decode()
    assert "decides whether it counts" in shown
    assert page not in shown
    assert PaymentRequest.objects.get().status == status


def test_page_of_another_requests_payment_is_missing(checkout: Checkout, local_chain: LocalChain) -> None:
    browser, other = Bare(checkout()), Bare(checkout())
    _, page = sent(browser, local_chain)
    elsewhere = page.replace(browser.start.removesuffix("/by-hand"), other.start.removesuffix("/by-hand"))
    assert browser.open(elsewhere).status_code == 404
