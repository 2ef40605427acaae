"""A refund in the portal: rejected amounts and wallets, the refund's page, the list by status."""

import pytest
from django.db import transaction
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from config.admin.actions import action_url
from config.admin.portal import change_url
from payments.models import PaymentRequest, Refund
from payments.requests.lifecycle import lock_request
from payments.sandbox import payments as sandbox_payments
from tests.browser.portal.conftest import fits
from tests.pictures import picture
from tests.support.portal.payment_rows import SENDER, Make


@pytest.fixture
def paid(make: Make) -> PaymentRequest:
    """A request on which the full 10.50 USDC is paid."""
    request = make("order-7")
    with transaction.atomic():
        sandbox_payments.pay(lock_request(request.pk), request.amount, "for a test")
    return PaymentRequest.objects.get()


def test_refund_is_rejected_by_field_then_created_and_listed(
    paid: PaymentRequest, live_server: LiveServer, portal: str, page: Page, troubles: list[str]
) -> None:
    page.goto(f"{live_server.url}{change_url(paid)}")
    picture(page, "portal, paid request")
    page.goto(f"{live_server.url}{action_url(paid, 'refund')}")
    picture(page, "portal, refund form")
    page.get_by_label("Amount").fill("10.51")
    page.get_by_label("Customer's wallet").fill("0x1234")
    page.get_by_role("button", name="Refund", exact=True).click()
    expect(page.get_by_text("40 hexadecimal digits")).to_be_visible()
    picture(page, "portal, refund refused")
    assert fits(page)
    assert not Refund.objects.exists()
    page.get_by_label("Customer's wallet").fill(SENDER)
    page.get_by_role("button", name="Refund", exact=True).click()
    expect(page.get_by_text("At most 10.50 USDC can be refunded now.")).to_be_visible()
    picture(page, "portal, refund too large")
    assert not Refund.objects.exists()
    page.get_by_label("Amount").fill("2.5")
    page.get_by_role("button", name="Refund", exact=True).click()
    expect(page.get_by_text("The refund of 2.50 USDC is created.")).to_be_visible()
    picture(page, "portal, refund created")
    refund = Refund.objects.get()
    page.get_by_role("link", name="Sign it.").click()
    expect(page.get_by_text("Sign it with your wallet.")).to_be_visible()
    picture(page, "portal, refund")
    assert fits(page)
    page.goto(f"{live_server.url}/admin/payments/refund/?status=ready")
    picture(page, "portal, refunds by status")
    assert fits(page)
    page.goto(f"{live_server.url}{action_url(refund, 'cancel')}")
    picture(page, "portal, refund to cancel")
    page.get_by_role("button", name="Cancel the refund").click()
    expect(page.get_by_text("is cancelled.")).to_be_visible()
    picture(page, "portal, refund cancelled")
    assert troubles == []
