"""In the portal, a merchant creates a payment request and a payment link without writing code."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from chains.models import Token
from merchants.models import Merchant
from payments.models import PaymentLink, PaymentRequest
from tests.browser.portal.conftest import fits
from tests.pictures import picture

RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.mark.usefixtures("portal")
def test_payment_is_requested_and_shared(
    live_server: LiveServer, page: Page, troubles: list[str], merchant: Merchant, usdc: Token
) -> None:
    page.goto(f"{live_server.url}/admin/payments/paymentrequest/")
    picture(page, "portal, requests with the add button")
    page.goto(f"{live_server.url}/admin/payments/paymentrequest/add/")
    picture(page, "portal, choose a merchant")
    page.get_by_label("Merchant").select_option(label=merchant.name)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Amount").fill("12.5.0")
    page.get_by_label("Token").select_option(value=str(usdc.pk))
    page.get_by_label("Your wallet").fill(RECIPIENT)
    page.get_by_label("Description").fill("Two bags of coffee")
    page.get_by_role("button", name="Create the request").click()
    expect(page.get_by_text("The amount should be digits")).to_be_visible()
    picture(page, "portal, new request refused")
    assert fits(page)
    page.get_by_label("Amount").fill("12.50")
    page.get_by_role("button", name="Create the request").click()
    expect(page.get_by_role("heading", name="Share")).to_be_visible()
    request = PaymentRequest.objects.get()
    expect(page.locator("#share-url")).to_have_text(re.compile(request.shortcode))
    picture(page, "portal, new request to share")
    assert fits(page)
    page.get_by_role("button", name="Copy link").click()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open a page to print").click()
    printed = opened.value
    expect(printed.get_by_role("heading", name="12.50 USDC")).to_be_visible()
    expect(printed.get_by_role("button", name="Print")).to_be_visible()
    picture(printed, "portal, page to print")
    assert fits(printed)
    assert troubles == []


@pytest.mark.usefixtures("portal")
def test_link_is_created_listed_and_switched_off(
    live_server: LiveServer, page: Page, troubles: list[str], merchant: Merchant, usdc: Token
) -> None:
    page.goto(f"{live_server.url}/admin/payments/paymentlink/add/?merchant={merchant.pk}")
    picture(page, "portal, new link")
    assert fits(page)
    page.get_by_label("Name").fill("Coffee tasting, 12 December")
    page.get_by_label("Smallest amount").fill("5")
    page.get_by_label("Token").select_option(value=str(usdc.pk))
    page.get_by_label("Your wallet").fill(RECIPIENT)
    page.get_by_label("Number of payments").fill("20")
    page.get_by_role("button", name="Create the link").click()
    expect(page.get_by_role("heading", name="Share")).to_be_visible()
    picture(page, "portal, link to share")
    assert fits(page)
    page.goto(f"{live_server.url}/admin/payments/paymentlink/")
    picture(page, "portal, links")
    assert fits(page)
    page.get_by_role("link", name="Coffee tasting").first.click()
    page.get_by_role("link", name="Switch off").click()
    picture(page, "portal, link to switch off")
    page.get_by_role("button", name="Switch off").click()
    expect(page.get_by_text("is switched off.").first).to_be_visible()
    picture(page, "portal, link switched off")
    assert PaymentLink.objects.get().is_active is False
    assert troubles == []
