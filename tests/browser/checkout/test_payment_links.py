"""The page of a payment link, with and without scripts, on every screen."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from chains.models import Token
from merchants.models import Merchant
from payments.links.services import NewLink, change_link, create_link
from payments.models import PaymentLink, PaymentRequest
from payments.requests.creation import Price
from tests.browsing import PHONE
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible

RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
UNIT = 1_000_000
MakeLink = Callable[..., PaymentLink]


@pytest.fixture
def make_link(service: str, transactional_db: None, merchant: Merchant, usdc: Token) -> MakeLink:
    def make(**terms: Any) -> PaymentLink:
        return create_link(merchant, NewLink("Tasting", usdc, RECIPIENT, **terms), actor="test")

    return make


@pytest.fixture
def open_link(make_link: MakeLink) -> PaymentLink:
    return make_link(
        min_amount=5 * UNIT, max_amount=500 * UNIT, description="Support our roastery.\nThank you!"
    )


def test_customer_enters_an_amount_and_gets_a_payment_page(
    open_link: PaymentLink, page: Page, troubles: list[str]
) -> None:
    page.goto(open_link.url)
    picture(page, "payment link, open amount")
    assert_accessible(page)
    field = page.get_by_label("Amount")
    field.press_sequentially("2,5")
    expect(field).to_have_value("2.5")
    page.get_by_role("button", name="Continue to payment").click()
    expect(page.get_by_role("alert")).to_have_text("Enter an amount from 5.00 USDC to 500.00 USDC.")
    expect(field).to_be_focused()
    picture(page, "payment link, wrong amount")
    assert_accessible(page)
    assert not PaymentRequest.objects.exists()
    field.fill("25")
    page.get_by_role("button", name="Continue to payment").click()
    expect(page.locator("#amount")).to_have_text("25.00")
    assert PaymentRequest.objects.get().payment_link == open_link
    assert [each for each in troubles if "400" not in each] == []


def test_fixed_amount_is_paid_with_one_click(make_link: MakeLink, page: Page, troubles: list[str]) -> None:
    link = make_link(amount=12_500_000, description="One seat at the tasting")
    page.goto(link.url)
    picture(page, "payment link, fixed amount")
    assert_accessible(page)
    page.get_by_role("button", name="Continue to payment").click()
    expect(page.locator("#amount")).to_have_text("12.50")
    assert troubles == []


def test_price_and_closed_links_are_accessible(make_link: MakeLink, page: Page) -> None:
    link = make_link(price=Price("EUR", Decimal("25.00")), expires_at=timezone.now() + timedelta(days=1))
    page.goto(link.url)
    picture(page, "payment link, price")
    assert_accessible(page)
    change_link(link, is_active=False, actor="test")
    page.goto(link.url)
    expect(page.get_by_role("heading")).to_have_text("This payment link is no longer active")
    picture(page, "payment link, closed")
    assert_accessible(page)


def test_link_works_without_scripts_in_arabic(
    open_link: PaymentLink, browser_without_scripts: Browser
) -> None:
    context = browser_without_scripts.new_context(viewport=PHONE, color_scheme="dark")
    page = context.new_page()
    page.goto(f"{open_link.url}?lang=ar")
    picture(page, "payment link, Arabic")
    page.locator("#amount").fill("7.5")
    page.get_by_role("button", name="المتابعة إلى الدفع").click()
    page.wait_for_url("**/pay/*?lang=ar")
    assert PaymentRequest.objects.get().amount == 7_500_000
    context.close()
