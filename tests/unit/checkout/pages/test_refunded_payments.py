"""The receipt and the payment page show the refunded amount. No page shows details that are only for the merchant."""

import html
import re

import pytest
from django.test import Client
from django.urls import reverse

from merchants.models import Merchant
from payments.models import PaymentRequest, Refund
from payments.refunds import services
from tests.conftest import Api
from tests.support.portal.payment_rows import SENDER, Make
from tests.support.portal.refund_rows import WHY, carrier_of, create, pay

pytestmark = pytest.mark.django_db


def text_of(path: str) -> str:
    page = Client().get(path)
    assert page.status_code == 200, path
    markup = re.sub("(?s)<script.*?</script>", "", page.content.decode())
    return html.unescape(re.sub("[\u2066-\u2069]|<[^>]*>", "", markup))


def test_completed_refund_is_on_receipt_and_payment_page(paid: PaymentRequest) -> None:
    refund = create(paid, amount=2_500_000)
    sent = pay(carrier_of(refund), refund.amount)
    for path in (f"/pay/{paid.shortcode}/receipt", f"/pay/{paid.shortcode}"):
        page = Client().get(path).content.decode()
        text = text_of(path)
        assert "2.50 USDC" in text
        assert f"{SENDER[:6]}" in text
        assert f"https://basescan.example/tx/{sent.transaction_hash}" in page
    assert "Refunded to" in text_of(f"/pay/{paid.shortcode}/receipt")
    assert "was refunded to" in text_of(f"/pay/{paid.shortcode}")


@pytest.mark.parametrize("refunded", [1_000_000, 2_000_000])
def test_receipt_adds_up_after_refund_of_excess(paid: PaymentRequest, refunded: int) -> None:
    pay(paid, 2_000_000)
    refund = create(paid, amount=refunded)
    pay(carrier_of(refund), refund.amount)
    text = re.sub(r"\s+", " ", text_of(f"/pay/{paid.shortcode}/receipt"))
    assert "Receipt 12.50 USDC" in text
    assert f"Requested10.50 USDC Overpaid2.00 USDC Refunded{refunded // 1_000_000}.00 USDC" in text


def test_overpaid_request_is_not_headed_as_complete(paid: PaymentRequest) -> None:
    address = f"/pay/{paid.shortcode}"
    assert "<h2>Payment complete</h2>" in Client().get(address).content.decode()
    pay(paid, 3_000_000)
    page = Client().get(address).content.decode()
    assert "<h2>Paid more than requested</h2>" in page
    assert "<h2>Payment complete</h2>" not in page


def test_page_says_what_was_overpaid_before_refunds(paid: PaymentRequest) -> None:
    pay(paid, 3_000_000)
    refund = create(paid, amount=2_000_000)
    pay(carrier_of(refund), refund.amount)
    text = text_of(f"/pay/{paid.shortcode}")
    assert "has received 13.50 USDC" in text
    assert "That is 3.00 USDC more than requested." in text
    assert "2.00 USDC was refunded" in text


@pytest.mark.parametrize("is_sent", [False, True])
def test_amount_stays_all_that_was_paid_once_excess_is_refunded(paid: PaymentRequest, is_sent: bool) -> None:
    pay(paid, 3_000_000)
    refund = create(paid, amount=3_000_000)
    if is_sent:
        pay(carrier_of(refund), refund.amount)
    page = Client().get(f"/pay/{paid.shortcode}").content.decode()
    assert "<h2>Payment complete</h2>" in page
    assert re.findall(r'id="amount">([0-9.]+)<', page) == ["13.50"]
    text = text_of(f"/pay/{paid.shortcode}")
    assert "has received 13.50 USDC" in text
    assert ("3.00 USDC was refunded" in text) is is_sent


def test_refund_of_exact_payment_leaves_its_amount(paid: PaymentRequest) -> None:
    create(paid, amount=10_500_000)
    assert re.findall(r'id="amount">([0-9.]+)<', Client().get(f"/pay/{paid.shortcode}").content.decode()) == [
        "10.50"
    ]


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_refunded_part_leaves_nothing_to_ask_for(make: Make, status: str) -> None:
    part = make("order-8")
    pay(part, 3_000_000)
    PaymentRequest.objects.filter(pk=part.pk).update(status=status)
    assert "3.00 of 10.50 USDC" in text_of(f"/pay/{part.shortcode}")
    assert "about your money" in text_of(f"/pay/{part.shortcode}")
    create(part, amount=3_000_000)
    text = text_of(f"/pay/{part.shortcode}")
    assert "3.00 of 10.50 USDC arrived." in text
    assert "about your money" not in text


def test_public_details_list_refunds_and_poll_while_one_is_open(paid: PaymentRequest) -> None:
    path = f"/api/public/payment-requests/{paid.pk}"
    before = Client().get(path)
    assert before.json()["refunds"] == []
    services.cancel_refund(create(paid, amount=500_000), actor=WHY)
    refund = create(paid, amount=1_000_000, recipient_address=None)
    waiting = Client().get(path, headers={"If-None-Match": before["ETag"]})
    assert waiting.status_code == 200
    assert waiting.json()["refunds"] == [
        {"status": "requires_address", "amount": {"raw": "1000000", "formatted": "1.000000", "decimals": 6}}
    ]
    assert waiting.json()["poll_in_ms"] < before.json()["poll_in_ms"]
    services.set_address(refund, SENDER, actor=WHY)
    pay(carrier_of(refund), refund.amount)
    done = Client().get(path).json()
    assert [each["status"] for each in done["refunds"]] == ["completed"]
    assert done["poll_in_ms"] == before.json()["poll_in_ms"]


def test_customer_who_overpaid_can_ask_for_a_refund(paid: PaymentRequest) -> None:
    Merchant.objects.update(support_email="help@shop.example")
    address, subject = f"/pay/{paid.shortcode}", f"subject=Refund%20for%20payment%20{paid.shortcode}"
    assert subject not in Client().get(address).content.decode()
    pay(paid, 3_000_000)
    assert f'href="mailto:help@shop.example?{subject}"' in Client().get(address).content.decode()
    create(paid, amount=1_000_000, recipient_address=None)
    assert subject not in Client().get(address).content.decode()


def test_refund_contact_falls_back_to_the_shop_site(paid: PaymentRequest) -> None:
    pay(paid, 3_000_000)
    ask = re.compile(r'<a class="button button--primary" href="([^"]*)" rel="noopener">Ask ')
    address = f"/pay/{paid.shortcode}"
    assert not ask.search(Client().get(address).content.decode())
    PaymentRequest.objects.filter(pk=paid.pk).update(redirect_url="https://shop.example/orders/7?paid")
    assert ask.findall(Client().get(address).content.decode()) == ["https://shop.example"]


def test_open_refund_is_shown_as_under_way(paid: PaymentRequest) -> None:
    create(paid, amount=2_500_000)
    for path in (f"/pay/{paid.shortcode}/receipt", f"/pay/{paid.shortcode}"):
        text = text_of(path)
        assert "A refund of 2.50 USDC is under way." in text


def test_refund_without_address_leads_to_its_claim(paid: PaymentRequest) -> None:
    waiting = create(paid, amount=1_000_000, recipient_address=None)
    for path in (f"/pay/{paid.shortcode}/receipt", f"/pay/{paid.shortcode}"):
        assert "A refund of 1.00 USDC is waiting for your address." in text_of(path)
        assert f'href="{reverse("claim", args=(waiting.code,))}"' in Client().get(path).content.decode()
    public = Client().get(f"/api/public/payment-requests/{paid.shortcode}").content.decode()
    assert waiting.code not in public


def test_cancelled_refund_is_not_shown(paid: PaymentRequest) -> None:
    services.cancel_refund(create(paid), actor=WHY)
    for path in (f"/pay/{paid.shortcode}/receipt", f"/pay/{paid.shortcode}"):
        assert "under way" not in text_of(path)
        assert "Refunded to" not in text_of(path)


def test_merchants_own_fields_are_on_no_public_page(api: Api, paid: PaymentRequest) -> None:
    PaymentRequest.objects.filter(pk=paid.pk).update(metadata={"cart": "basket-of-7"})
    created = api.post(
        f"/api/payment-requests/{paid.pk}/refunds", {"recipient_address": SENDER, "reason": "torn-bag"}
    ).json()
    refund = Refund.objects.get(pk=created["id"])
    prefix = refund.created_by.removeprefix("api key ")
    assert prefix.startswith("quitt_")
    carrier = carrier_of(refund)
    pages = [
        f"/pay/{carrier.shortcode}",
        f"/pay/{carrier.shortcode}/by-hand",
        f"/refunds/{refund.code}",
        f"/pay/{paid.shortcode}",
        f"/pay/{paid.shortcode}/receipt",
        f"/api/public/payment-requests/{carrier.pk}",
        f"/api/public/payment-requests/{paid.pk}",
    ]
    pay(carrier, refund.amount)
    pages.append(f"/pay/{carrier.shortcode}/receipt")
    for path in pages:
        page = Client().get(path).content.decode()
        for private in ("order-7", "basket-of-7", "torn-bag", prefix):
            assert private not in page, (path, private)
    assert f"Refund of {paid.shortcode}" in Client().get(f"/pay/{carrier.shortcode}").content.decode()
