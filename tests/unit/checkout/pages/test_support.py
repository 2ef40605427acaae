"""After a problem, pages show the merchant's contact, but no private data of the merchant."""

import re
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from merchants.models import ApiKey, Merchant
from payments.models import FailureCode, Payment, PaymentRequest
from tests.conftest import Api
from tests.integration.checkout.test_page import Checkout
from tests.support.payments.rows import new_payment
from tests.support.payments.world import ON_ITS_WAY

MAIL, SITE = "help@bakery.example", "https://bakery.example/help"
PAST = timezone.now() - timedelta(minutes=5)
STATES: dict[str, dict[str, Any]] = {
    "to be paid": {},
    "partly paid": {"amount_paid": 3_000_000},
    "time is up": {"expires_at": PAST},
    "expired": {"status": "expired"},
    "cancelled": {"status": "cancelled", "amount_paid": 3_000_000},
    "completed": {"status": "completed", "amount_paid": 10_500_000, "completed_at": PAST},
    "paid beyond": {"status": "completed", "amount_paid": 11_000_000, "completed_at": PAST},
}  # fmt: skip


def main_and_foot(public: Api, path: str) -> tuple[str, str]:
    answer = public.get(path)
    assert answer.status_code == 200, path
    main, foot = answer.content.decode().split("</main>")
    return main, foot


def test_each_failure_names_the_contact_and_the_code(public: Api, checkout: Checkout) -> None:
    Merchant.objects.update(support_email=MAIL)
    order = checkout()
    request = PaymentRequest.objects.get(pk=order["id"])
    new_payment(
        request=request,
        chain=request.chain,
        transaction_hash="0x" + "12" * 32,
        status="failed",
        failed_at=PAST,
    )
    for code in FailureCode:
        Payment.objects.update(failure_code=code.value)
        main, foot = main_and_foot(public, f"/pay/{order['shortcode']}")
        assert f'<a href="mailto:{MAIL}">{MAIL}</a>' in main, code
        assert f"<strong>{order['shortcode']}</strong>" in main, code
        assert MAIL in foot, code


@pytest.mark.parametrize("state", ["time is up", "expired", "cancelled", "paid beyond"])
def test_unpaid_and_overpaid_ends_name_the_contact(public: Api, checkout: Checkout, state: str) -> None:
    Merchant.objects.update(support_url=SITE, support_email=MAIL)
    order = checkout()
    PaymentRequest.objects.filter(pk=order["id"]).update(**STATES[state])
    main, foot = main_and_foot(public, f"/pay/{order['shortcode']}")
    assert f'href="{SITE}"' in main
    assert f'href="{SITE}"' in foot
    assert f"<strong>{order['shortcode']}</strong>" in main


@pytest.mark.parametrize("path", ["by-hand", "by-hand/sent", "receipt"])
def test_other_checkout_pages_name_the_contact(public: Api, checkout: Checkout, path: str) -> None:
    Merchant.objects.update(support_email=MAIL)
    order = checkout()
    if path == "receipt":
        PaymentRequest.objects.filter(pk=order["id"]).update(**STATES["completed"])
    address = f"/pay/{order['shortcode']}/{path}"
    if path == "by-hand/sent":  # a refused hash
        answer = Client().post(address, {"transaction_hash": "0x12", "chain_id": order["chain_id"]})
        assert answer.status_code == 400
    else:
        answer = public.get(address)
    assert MAIL in answer.content.decode().split("</main>")[0]


def test_without_a_contact_the_merchant_is_named(public: Api, checkout: Checkout) -> None:
    order = checkout()
    PaymentRequest.objects.filter(pk=order["id"]).update(status="expired")
    main, _ = main_and_foot(public, f"/pay/{order['shortcode']}")
    assert "Alice" in main.split('class="help support"')[1]


def test_without_a_contact_the_shops_own_site_is_named(public: Api, checkout: Checkout) -> None:
    order = checkout(cancel_url="https://bakery.example/basket?item=7")
    PaymentRequest.objects.filter(pk=order["id"]).update(status="expired")
    main, _ = main_and_foot(public, f"/pay/{order['shortcode']}")
    support = main.split('class="help support"')[1]
    assert '<a href="https://bakery.example" rel="noopener">bakery.example</a>' in support


def test_several_transactions_have_their_amounts_in_their_titles(public: Api, checkout: Checkout) -> None:
    order = checkout()
    request = PaymentRequest.objects.get(pk=order["id"])
    PaymentRequest.objects.filter(pk=order["id"]).update(**STATES["completed"])
    labels: list[list[str]] = []
    for digits, amount in (("12", 3_000_000), ("34", 7_500_000)):
        new_payment(
            request=request, chain=request.chain, transaction_hash="0x" + digits * 32, status="completed",
            amount_received=amount, bound_by="reference", completed_at=PAST,
        )  # fmt: skip
        main, _ = main_and_foot(public, f"/pay/{order['shortcode']}")
        text = re.sub("<[^>]*>", "", main)
        labels.append(sorted(re.findall("Transaction · [0-9.]+ USDC", text)))
    assert labels == [[], ["Transaction · 3.00 USDC", "Transaction · 7.50 USDC"]]


def test_hash_in_a_failure_is_shortened(public: Api, checkout: Checkout) -> None:
    order = checkout()
    request = PaymentRequest.objects.get(pk=order["id"])
    new_payment(
        request=request, chain=request.chain, transaction_hash="0x" + "12" * 32, status="failed",
        failed_at=PAST, failure_code="wrong_recipient", failure_message=f"LI.FI reports 0x{'ab' * 32}.",
    )  # fmt: skip
    main, _ = main_and_foot(public, f"/pay/{order['shortcode']}")
    assert "LI.FI reports 0xabababab…abababab." in main


def test_amount_of_a_sent_payment_is_no_longer_to_be_paid(public: Api, checkout: Checkout) -> None:
    order = checkout()
    request = PaymentRequest.objects.get(pk=order["id"])
    assert "Amount to pay" in main_and_foot(public, f"/pay/{order['shortcode']}")[0]
    new_payment(
        request=request,
        chain=request.chain,
        transaction_hash="0x" + "12" * 32,
        status="processing",
        **ON_ITS_WAY,
    )
    assert "Amount to pay" not in main_and_foot(public, f"/pay/{order['shortcode']}")[0]


def test_no_page_has_private_data_of_the_merchant(
    public: Api, checkout: Checkout, merchant: Merchant, api_key: tuple[ApiKey, str]
) -> None:
    Merchant.objects.update(
        name="Crumb Holding Ltd", display_name="Alice's Bakery", email="boss@bakery.example"
    )
    order = checkout(
        external_id="order-4711",
        metadata={"customer": "Zoë Quill"},
        webhook_url="https://hooks.example/secret-path",
    )
    request = PaymentRequest.objects.get(pk=order["id"])
    new_payment(
        request=request, chain=request.chain, transaction_hash="0x" + "12" * 32, status="completed",
        from_address="0x" + "ab" * 20, amount_received=10_500_000, bound_by="reference", completed_at=PAST,
    )  # fmt: skip
    own = [
        "order-4711",
        "Zoë",
        "hooks.example",
        "crumb",
        "boss@",
        str(merchant.pk),
        api_key[0].prefix,
        "ab" * 20,
    ]
    page = f"/pay/{order['shortcode']}"
    paths = (page, f"{page}/by-hand", f"{page}/receipt", f"/api/public/payment-requests/{order['id']}")
    for state, path in product(STATES, paths):
        PaymentRequest.objects.filter(pk=request.pk).update(
            **{"status": "active", "expires_at": request.expires_at, **STATES[state]}
        )
        text = public.get(path).content.decode()
        # A receipt may name the payer, because its transaction, which the receipt also names, shows the payer
        # anyway.
        private = own[:-1] if path.endswith("/receipt") else own
        assert [word for word in private if word.lower() in text.lower()] == [], (state, path)
