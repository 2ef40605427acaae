"""Details on the pages besides the payment: order number, test mark and link preview, but no address."""

import html
import re
from typing import Any

import pytest
from django.conf import LazySettings

from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.conftest import Api
from tests.integration.checkout.test_page import Checkout, page
from tests.support.payments.rows import new_payment

ORDER = "ORDER-4711"


def _ended(order: dict[str, Any], **change: Any) -> None:
    PaymentRequest.objects.filter(pk=order["id"]).update(**change)


@pytest.mark.parametrize("is_allowed", [True, False])
def test_the_order_number_shows_where_the_merchant_allows_it(
    public: Api, checkout: Checkout, merchant: Merchant, is_allowed: bool
) -> None:
    order = checkout(external_id=ORDER)
    Merchant.objects.filter(pk=merchant.pk).update(show_order_number=is_allowed)
    assert (ORDER in page(public, order).content.decode()) is is_allowed
    assert ORDER not in public.get(f"/api/public/payment-requests/{order['id']}").content.decode()


def test_only_a_test_system_marks_its_pages(public: Api, checkout: Checkout, settings: LazySettings) -> None:
    path = f"/pay/{checkout()['shortcode']}"
    mark = re.search(
        r'<aside class="test-mark" id="test-mark" aria-labelledby="test-mark-text">',
        public.get(path).content.decode(),
    )
    assert mark
    settings.ENVIRONMENT = "production"
    assert (
        '<aside class="test-mark" id="test-mark" aria-labelledby="test-mark-text" hidden>'
        in public.get(path).content.decode()
    )


def test_a_simulated_payment_is_marked_wherever_it_runs(
    public: Api, checkout: Checkout, settings: LazySettings
) -> None:
    settings.ENVIRONMENT = "production"
    order = checkout()
    api = f"/api/public/payment-requests/{order['id']}"
    assert public.get(api).json()["is_test"] is False
    request = PaymentRequest.objects.get(pk=order["id"])
    new_payment(request=request, chain=request.chain, transaction_hash="0x" + "12" * 32, is_simulated=True)
    assert public.get(api).json()["is_test"] is True
    assert (
        '<aside class="test-mark" id="test-mark" aria-labelledby="test-mark-text">'
        in page(public, order).content.decode()
    )


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_ended_page_shows_support_and_no_address(
    public: Api, checkout: Checkout, merchant: Merchant, status: str
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(support_email="help@bakery.example")
    order = checkout()
    _ended(order, status=status)
    text = page(public, order).content.decode()
    shown = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert order["recipient_address"] not in shown
    assert "Goes directly to" not in shown
    assert "mailto:help@bakery.example" in shown


def test_link_preview_shows_only_amount_and_merchant(
    public: Api, checkout: Checkout, merchant: Merchant
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(
        display_name='Joe\'s "Best" <Bakery>',
        logo_url="https://elsewhere.example/logo.png",
        show_order_number=True,
    )
    order = checkout(external_id=ORDER, description="A private note")
    text = page(public, order).content.decode()
    meta = dict(re.findall(r'<meta property="og:([a-z_]+)" content="([^"]*)">', text))
    assert html.unescape(meta["title"]) == 'Pay 10.50 USDC · Joe\'s "Best" <Bakery>'
    assert html.unescape(meta["description"]).startswith("Payment to Joe")
    assert meta["image"].startswith("http")
    assert meta["image"].endswith(".png")
    everything = " ".join(meta.values())
    for secret in (ORDER, "A private note", order["recipient_address"], order["shortcode"], "elsewhere"):
        assert secret not in everything
