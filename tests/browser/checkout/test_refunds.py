"""An open page shows the request's refunds and their changes without a reload."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from payments.models import PaymentRequest
from payments.refunds import services
from tests.browser.conftest import Create
from tests.browsing import DESKTOP, PHONE
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.portal.payment_rows import SENDER
from tests.support.portal.refund_rows import WHY, carrier_of, pay
from tests.support.portal.refund_rows import create as create_refund

WAITING, UNDER_WAY, SENT = "is waiting for your address", "is under way", "was refunded to"
CENTS_300 = 3_000_000


def _overpaid(create: Create, **given: Any) -> PaymentRequest:
    request = PaymentRequest.objects.get(pk=create(**given)["id"])
    pay(request, request.amount)
    pay(request, CENTS_300)
    return PaymentRequest.objects.get(pk=request.pk)


def _look_again(page: Page) -> None:
    """Have the page poll now, as when the customer returns to its tab."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


@pytest.mark.parametrize(
    "page", [{"viewport": DESKTOP}, {"viewport": PHONE}], ids=["desktop", "phone"], indirect=True
)
def test_refund_appears_and_changes_on_the_open_page(
    page: Page, create: Create, service: str, troubles: list[str]
) -> None:
    request = _overpaid(create, redirect_url="https://shop.example/done")
    page.goto(f"{service}/pay/{request.shortcode}")
    panel, refunds, amount = page.locator("#panel"), page.locator("#refunds"), page.locator("#amount")
    expect(panel.get_by_role("heading", name="Paid more than requested")).to_be_visible()
    expect(panel.get_by_role("link", name="for a refund")).to_be_visible()
    expect(refunds).to_be_hidden()

    refund = create_refund(request, amount=CENTS_300, recipient_address=None)
    _look_again(page)
    expect(refunds).to_contain_text(WAITING)
    expect(page.locator("#live")).to_contain_text(WAITING)
    expect(refunds.get_by_role("link")).to_have_attribute("href", f"/refunds/{refund.code}")
    # The refund already exists, so no button requests one. The back link is not the main button.
    expect(panel.get_by_role("link", name="for a refund")).to_have_count(0)
    expect(page.locator(".button--primary:visible")).to_have_count(1)
    _check(page, "refund, waiting")

    services.set_address(refund, SENDER, actor=WHY)
    _look_again(page)
    expect(refunds).to_contain_text(UNDER_WAY)
    _check(page, "refund, under way")

    pay(carrier_of(refund), refund.amount)
    _look_again(page)
    expect(refunds).to_contain_text(SENT)
    # The amounts match: 13.50 arrived, 3.00 was refunded.
    expect(panel).to_contain_text("has received 13.50 USDC")
    expect(amount).to_have_text("13.50")
    _check(page, "refund, sent")
    page.reload()
    expect(amount).to_have_text("13.50")
    expect(refunds).to_contain_text(SENT)
    assert not troubles


def _check(page: Page, name: str) -> None:
    picture(page, name)
    assert_accessible(page)
