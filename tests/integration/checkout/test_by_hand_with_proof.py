"""The customer proves the address and then pays from it by hand, in a browser without scripts."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from eth_account import Account
from limits import parse

from payments.models import PayerProof, Payment, PaymentRequest, Route
from tests.chain import USDC_UNIT, LocalChain
from tests.support.checkout.bare import Bare, sign, text_on
from tests.support.payments.rows import change
from tests.support.payments.world import ON_ITS_WAY, Clock, look, look_until_decided

Checkout = Callable[..., dict[str, Any]]
AMOUNT = 10_500_000


def verdict(payment: Payment) -> Payment:
    return look_until_decided(payment, Clock())


def test_transfer_from_the_proved_address_is_credited(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    page = browser.prove(local_chain)
    shown = browser.open(page).content.decode()
    assert "Now send 10.50 USDC" in shown
    assert f'id="sender" translate="no">{local_chain.payer}<' in shown
    assert f'id="recipient" translate="no">{local_chain.recipient}<' in shown
    assert f'action="{page}/sent' in shown
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, AMOUNT)
    response = browser.send(f"{page}/sent", transaction_hash=sent)
    assert (response.status_code, response["Location"]) == (303, browser.start.removesuffix("/by-hand"))
    payment = verdict(Payment.objects.get(transaction_hash=sent))
    assert (payment.status, payment.bound_by) == (Payment.Status.COMPLETED, "payer")
    assert PaymentRequest.objects.get().status == PaymentRequest.Status.COMPLETED
    assert browser.open(page)["Location"] == browser.start.removesuffix("/by-hand")


def test_invalid_hash_is_explained_on_the_address_page(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    page = browser.prove(local_chain)
    response = browser.send(f"{page}/sent", transaction_hash="0x12")
    shown = response.content.decode()
    assert (response.status_code, Payment.objects.count()) == (400, 0)
    assert re.search(r'id="problem" role="alert">This should be a transaction hash', shown)
    assert f'id="sender" translate="no">{local_chain.payer}<' in shown
    assert 'value="0x12"' in shown
    PayerProof.objects.update(not_after=timezone.now())
    assert 'id="sender"' not in browser.send(f"{page}/sent", transaction_hash="0x12").content.decode()
    assert browser.send(f"{page}/sent", transaction_hash="0x" + "77" * 32).status_code == 303
    assert browser.open(f"{page}/sent")["Location"] == page


def test_text_to_sign_names_request_and_amount(checkout: Checkout, local_chain: LocalChain) -> None:
    order = checkout()
    _, text = Bare(order).text_for(local_chain.payer.lower())
    assert text == Route.objects.get().proof_message
    for part in (
        "testserver wants you to sign in",
        local_chain.payer,
        "10.50 USDC on Local Chain",
        order["id"],
    ):
        assert part in text


def test_transfer_from_another_address_is_not_credited(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    key = "0x" + "5e" * 32
    other = Account.from_key(key).address
    local_chain.transfer(local_chain.usdc, other, AMOUNT)
    local_chain.rpc("anvil_setBalance", other, hex(10**18))
    page = browser.prove(local_chain)
    payment = browser.paste(local_chain.transfer(local_chain.usdc, local_chain.recipient, AMOUNT, key=key))
    assert verdict(payment).failure_code == "transaction_not_bound"
    assert PaymentRequest.objects.get().amount_paid == 0
    for shown in (browser.open(browser.start), browser.open(page)):
        text = shown.content.decode()
        assert "Please don’t send it again" in text
        assert f"/sent/{payment.pk}" in text, "the other address can sign"
        assert local_chain.recipient in text, "anyone may have submitted it, so the address stays"


def test_signature_credits_a_transfer_sent_before_it(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    page, text = browser.text_for(local_chain.payer)
    payment = browser.paste(local_chain.transfer(local_chain.usdc, local_chain.recipient, AMOUNT))
    assert verdict(payment).failure_code == "transaction_not_bound"
    shown = browser.open(page).content.decode()
    assert "isn’t matched to this payment yet" in shown
    assert "Sign anyway" in shown
    assert browser.send(page, signature=sign(text, local_chain.payer_key)).status_code == 303
    assert browser.open(page)["Location"] == browser.start.removesuffix("/by-hand")
    look(Clock())
    payment.refresh_from_db()
    assert (payment.status, payment.retries) == (Payment.Status.COMPLETED, 0)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text, key: sign(text, "0x" + "77" * 32),
        lambda text, key: sign(text + " ", key),
        lambda text, key: '"><script>alert(1)</script>',
        lambda text, key: "é" * 20_000,
    ],
    ids=["another key", "another text", "markup", "too long"],
)
def test_wrong_signature_is_explained_beside_the_field(
    checkout: Checkout, local_chain: LocalChain, spoil: Callable[[str, str], str]
) -> None:
    browser = Bare(checkout())
    page, text = browser.text_for(local_chain.payer)
    given = spoil(text, local_chain.payer_key)
    response = browser.send(page, signature=given)
    shown = response.content.decode()
    assert response.status_code == 400
    assert re.search(r'id="signature-problem" role="alert">(This|The|A) ', shown)
    assert f'value="{html.escape(given[:10_000])}"' in shown
    assert text_on(response) == text, "the same text can be signed again"
    assert "<script>alert" not in shown
    assert not PayerProof.objects.exists()


def test_invalid_address_is_explained_beside_the_field(checkout: Checkout) -> None:
    browser = Bare(checkout())
    for address, said in (
        ("0x12", "an EVM address"),
        ("", "an EVM address"),
        ("0x" + "0" * 40, "have no owner"),
    ):
        response = browser.ask(address)
        shown = response.content.decode()
        assert response.status_code == 400
        assert said in re.findall(r'id="wallet-problem" role="alert">([^<]*)', shown)[0]
        assert f'name="wallet_address" type="text" required value="{address}"' in shown
    assert not Route.objects.exists()


def test_address_without_the_funds_gets_no_text(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    poor = Account.create().address
    local_chain.transfer(local_chain.usdc, poor, 4 * USDC_UNIT)
    response = browser.ask(poor)
    assert response.status_code == 409
    assert "needs 6.50 more USDC on Local Chain" in response.content.decode()
    assert poor in response.content.decode()
    assert not Route.objects.exists()


def test_text_to_sign_needs_no_coin_for_the_fee(checkout: Checkout, local_chain: LocalChain) -> None:
    """The customer can get coins for the fee later. Contract accounts pay no fee themselves."""
    without_coins = Account.create()
    local_chain.transfer(local_chain.usdc, without_coins.address, AMOUNT)
    assert Bare(checkout()).prove(local_chain, without_coins.key.hex())


def test_expired_text_keeps_the_address_for_a_new_one(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    page, text = browser.text_for(local_chain.payer)
    Route.objects.update(expires_at=timezone.now())
    response = browser.send(page, signature=sign(text, local_chain.payer_key))
    assert (response.status_code, PayerProof.objects.count()) == (409, 0)
    for shown in (response.content.decode(), browser.open(page).content.decode()):
        assert "The text to sign has expired" in shown
        assert f'value="{local_chain.payer}"' in shown
        assert "proof-text" not in shown


def test_address_is_hidden_once_the_proof_has_ended(checkout: Checkout, local_chain: LocalChain) -> None:
    first, second = Bare(checkout()), Bare(checkout())
    page = first.prove(local_chain)
    assert 'id="sender"' in first.open(page).content.decode()
    second.prove(local_chain)
    assert "The text to sign has expired" in first.open(page).content.decode(), "a later proof took its place"
    PayerProof.objects.filter(request__shortcode=second.start.split("/")[2]).delete()
    PayerProof.objects.update(not_after=timezone.now())
    assert 'id="sender"' not in first.open(page).content.decode()


def test_payment_under_way_offers_no_second_one(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    payment = browser.paste("0x" + "77" * 32)
    change(payment, **ON_ITS_WAY)
    assert browser.ask(local_chain.payer)["Location"] == browser.start
    assert "A payment is already on its way" in browser.open(browser.start).content.decode()
    assert not Route.objects.exists()


def test_pages_of_unknown_texts_are_404(checkout: Checkout, local_chain: LocalChain) -> None:
    browser, other = Bare(checkout()), Bare(checkout())
    page, _ = browser.text_for(local_chain.payer)
    route_id = page.rsplit("/", 1)[1]
    for path in (
        f"{other.start}/proof/{route_id}",
        f"{browser.start}/proof/rt_nonesuch",
        f"{browser.start}/proof/%00",
        f"{browser.start}/proof/rt_nonesuch/sent",
        f"/pay/nonesuch2345/by-hand/proof/{route_id}",
    ):
        assert browser.open(path).status_code == 404
        assert browser.send(path, signature="0x00").status_code == 404
    assert browser.open(f"{browser.start}/proof")["Location"] == browser.start
    assert not PayerProof.objects.exists()


def test_proof_form_accepts_only_urlencoded_forms(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    page, text = browser.text_for(local_chain.payer)
    client = Client(enforce_csrf_checks=True)
    fields = {"signature": sign(text, local_chain.payer_key)}
    for response in (client.post(page, fields), client.post(page, fields, "application/json")):
        assert response.status_code == 400
    assert not PayerProof.objects.exists()


def test_chosen_language_is_kept_through_the_proof(checkout: Checkout, local_chain: LocalChain) -> None:
    browser = Bare(checkout())
    response = browser.send(f"{browser.start}/proof?lang=de", wallet_address=local_chain.payer)
    assert response["Location"].endswith("?lang=de")
    page = browser.open(response["Location"])
    assert "Signieren Sie genau diesen Text" in page.content.decode()
    signed = browser.send(response["Location"], signature=sign(text_on(page), local_chain.payer_key))
    assert signed["Location"] == response["Location"]


def test_rate_limited_proof_keeps_the_input(
    checkout: Checkout, local_chain: LocalChain, settings: Any
) -> None:
    browser = Bare(checkout())
    page, text = browser.text_for(local_chain.payer)
    settings.RATE_LIMIT_EXPENSIVE = parse("1/minute")
    browser.ask(local_chain.payer)
    response = browser.ask(local_chain.payer)
    assert (response.status_code, f'value="{local_chain.payer}"' in response.content.decode()) == (429, True)
    signature = sign(text, local_chain.payer_key)
    response = browser.send(page, signature=signature)
    assert (response.status_code, f'value="{signature}"' in response.content.decode()) == (429, True)
    assert "Please wait a moment." in response.content.decode()
    assert int(response["Retry-After"]) > 0
    assert not PayerProof.objects.exists()


def test_dead_node_keeps_the_input_and_names_a_retry(
    checkout: Checkout, local_chain: LocalChain, chain: Any
) -> None:
    browser = Bare(checkout())
    chain.rpc_urls = ["http://127.0.0.1:9"]
    chain.save()
    response = browser.ask(local_chain.payer)
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert f'value="{local_chain.payer}"' in response.content.decode()
    assert not Route.objects.exists()
