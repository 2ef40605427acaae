"""Paying by hand: the page warns before it shows the address, and its form accepts a hash without scripts."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from payments.submission.merchant_acceptance import accept_payment
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, look_until_decided

Checkout = Callable[..., dict[str, Any]]
UNKNOWN = "0x" + "77" * 32
WARNING = "has no reference that links it to this payment"
_FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def browser_without_script(db: None) -> Client:
    """A client that checks CSRF tokens as the site does."""
    return Client(enforce_csrf_checks=True, raise_request_exception=False)


def shown(public: Api, order: dict[str, Any], page: str = "/by-hand") -> str:
    response = public.get(f"/pay/{order['shortcode']}{page}")
    assert response.status_code == 200
    return str(response.content.decode())


def send_form(client: Client, order: dict[str, Any], **fields: Any) -> Any:
    return client.post(f"/pay/{order['shortcode']}/by-hand/sent", fields and _encoded(fields), _FORM)


def _encoded(fields: dict[str, Any]) -> str:
    from urllib.parse import urlencode

    return urlencode(fields)


def test_warning_comes_before_the_address(public: Api, checkout: Checkout, local_chain: LocalChain) -> None:
    order = checkout()
    text = shown(public, order)
    assert -1 < text.index(WARNING) < text.index(local_chain.recipient)
    assert text.index("From an exchange.") < text.index(local_chain.recipient)
    main = shown(public, order, "")
    assert main.index("it can’t be matched automatically") < main.index(local_chain.recipient)


def test_page_shows_amount_network_and_whole_address(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    order = checkout(amount="10.5")
    PaymentRequest.objects.filter(pk=order["id"]).update(amount_paid=3_250_000)
    text = shown(public, order)
    assert '<code class="exact" id="exact-amount" translate="no">7.25</code>' in text
    assert f'id="recipient" translate="no">{local_chain.recipient}</code>' in text
    uri = f"ethereum:{local_chain.usdc}@31337/transfer?address={local_chain.recipient}&amp;uint256=7250000"
    assert f'href="{uri}"' in text
    assert "Send only on Local Chain (chain ID 31337)." in text
    assert "<svg" in text


@pytest.mark.parametrize(
    "change",
    [
        {"status": "completed", "amount_paid": 10_500_000},
        {"status": "cancelled"},
        {"expires_at": timezone.now() - timedelta(seconds=1)},
    ],
)
def test_ended_request_shows_no_address(
    public: Api, checkout: Checkout, local_chain: LocalChain, change: dict[str, Any]
) -> None:
    order = checkout()
    PaymentRequest.objects.filter(pk=order["id"]).update(**change)
    text = shown(public, order)
    assert "Please don’t send anything now." in text
    assert local_chain.recipient not in text
    assert "ethereum:" not in text
    assert 'name="transaction_hash"' in text, "a payment sent in time is still found"


def test_pasted_hash_is_stored_and_its_progress_shown(
    public: Api, checkout: Checkout, browser_without_script: Client
) -> None:
    order = checkout()
    response = send_form(
        browser_without_script, order, transaction_hash=f" {UNKNOWN[2:].upper()}\n", chain_id=31337
    )
    assert (response.status_code, response["Location"]) == (303, f"/pay/{order['shortcode']}")
    assert Payment.objects.get().transaction_hash == UNKNOWN
    text = shown(public, order, "")
    assert UNKNOWN in text
    # The URL is explicit: after a form, the page's URL ends in a fragment, and Chromium doesn't reload such a
    # page by itself.
    assert f'<meta http-equiv="refresh" content="15; url=/pay/{order["shortcode"]}">' in text
    assert "refresh" not in shown(public, order, "?still").split("</head>")[0]
    assert 'class="send-yourself"' in text
    again = send_form(browser_without_script, order, transaction_hash=UNKNOWN)
    assert (again.status_code, Payment.objects.count()) == (303, 1)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "This should be a transaction hash"),
        ({"transaction_hash": '"><script>alert(1)</script>'}, "This should be a transaction hash"),
        (
            {"transaction_hash": "\0\ud800".encode("utf-8", "surrogatepass")},
            "This should be a transaction hash",
        ),
        ({"transaction_hash": "é" * 9000}, "This should be a transaction hash"),
        ({"transaction_hash": UNKNOWN, "chain_id": "9" * 4000}, "Choose one of the networks."),
        ({"transaction_hash": UNKNOWN, "chain_id": "99999999999999999999"}, "There is no chain"),
    ],
)
def test_invalid_input_is_explained_beside_the_field(
    checkout: Checkout, browser_without_script: Client, fields: dict[str, Any], said: str
) -> None:
    response = send_form(browser_without_script, checkout(), **fields)
    text = response.content.decode()
    assert response.status_code == 400
    assert re.search(rf'<p class="field-error" id="problem" role="alert">{said}', text)
    assert "<script>alert" not in text
    if fields.get("transaction_hash") == UNKNOWN:
        assert f'value="{UNKNOWN}"' in text
    assert not Payment.objects.exists()


def test_upload_and_json_are_rejected_by_the_form(checkout: Checkout, browser_without_script: Client) -> None:
    path = f"/pay/{checkout()['shortcode']}/by-hand/sent"
    fields = {"transaction_hash": UNKNOWN, "chain_id": 31337}
    for response in (
        browser_without_script.post(path, fields),
        browser_without_script.post(path, fields, "application/json"),
        browser_without_script.post(path, b"\xff" * 99, "multipart/form-data; boundary=x"),
    ):
        assert response.status_code == 400
    assert not Payment.objects.exists()


def test_unbound_transfer_waits_for_the_merchant(
    public: Api,
    checkout: Checkout,
    local_chain: LocalChain,
    merchant: Merchant,
    browser_without_script: Client,
) -> None:
    """A wallet pays by the EIP-681 link, the customer pastes the hash, the merchant accepts the payment."""
    Merchant.objects.filter(pk=merchant.pk).update(support_email="help@bakery.example")
    order = checkout()
    link = re.search(
        r"ethereum:(0x\w+)@31337/transfer\?address=(0x\w+)&amp;uint256=(\d+)", shown(public, order)
    )
    assert link
    sent = local_chain.transfer(link[1], link[2], int(link[3]))
    assert send_form(browser_without_script, order, transaction_hash=sent).status_code == 303
    clock = Clock()
    payment = look_until_decided(Payment.objects.get(), clock)
    assert payment.failure_code == "transaction_not_bound"

    text = shown(public, order, "")
    for said in (
        ">This transfer isn’t linked to this payment yet<",
        f"/sent/{payment.pk}",
        "Please don’t send it again",
        sent,
        "help@bakery.example",
    ):
        assert said in text

    assert "Send it yourself" in text
    by_hand = shown(public, order)
    assert "Please don’t send it again" in by_hand
    assert "/transfer?address=" in by_hand, "anyone may have submitted it, so the address stays"

    accept_payment(payment, reason="the customer's hash", actor="Alice")
    assert look_until_decided(payment, clock).status == Payment.Status.COMPLETED
    assert "Payment complete" in shown(public, order, "")
    receipt = shown(public, order, "/receipt")
    assert "Accepted by" in receipt
    assert "Reference in its call data" not in receipt
