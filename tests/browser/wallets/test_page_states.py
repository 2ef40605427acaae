"""The page follows the request's status: it updates, moves the focus, and redirects the customer."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import FailureCode
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import HASH, ON_ITS_WAY, SHOP, complete, refresh, review, update
from tests.pictures import picture
from tests.support.payments.rows import new_payment
from tests.support.payments.world import ON_ITS_WAY as SEEN
from tests.support.wallets.sent_here import sent_here
from tests.support.wallets.stub import NAME

PART, MORE = 3_000_000, 12_500_000
COMPLETE = "Payment complete"


@pytest.fixture
def shop(page: Page) -> None:
    page.route(f"{SHOP}/**", lambda route: route.fulfill(body="Thank you"))


def _pay(order: dict[str, Any], chain: Chain, **change: Any) -> None:
    given = {**SEEN, "status": "processing", "confirmations": 1, "confirmations_required": 2, **change}
    new_payment(request_id=order["id"], chain=chain, transaction_hash=HASH, **given)


def _expect_state(page: Page, panel: Locator, heading: str) -> None:
    expect(panel.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    expect(page).to_have_title(f"{heading} · 10.50 USDC · Alice's Bakery")


def test_underpayment_shows_the_remaining_amount_to_pay(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    order = create()
    page.goto(order["payment_url"])
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    update(order, amount_paid=PART)
    refresh(page)
    _expect_state(page, panel, "Pay the remaining 7.50 USDC")
    expect(panel).to_contain_text("3.00 of 10.50 USDC received, 7.50 to go")
    picture(page, "underpaid")
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_role("button", name="Pay 7.50 USDC")).to_be_visible()


@pytest.mark.usefixtures("shop")
def test_success_is_announced_and_leads_back_to_the_shop(
    page: Page, panel: Locator, create: Create, chain: Chain
) -> None:
    order = create(redirect_url=f"{SHOP}/done")
    _pay(order, chain)
    page.goto(order["payment_url"])
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    complete(order)
    refresh(page)
    _expect_state(page, panel, COMPLETE)
    expect(panel.get_by_role("heading", name=COMPLETE)).to_be_focused()
    expect(page.locator("#live")).to_contain_text("Taking you back to Alice's Bakery in 3 seconds.")
    page.wait_for_url(f"{SHOP}/done?**")


def _paid_here(
    page: Page, panel: Locator, create: Create, chain: Chain, heading: str = COMPLETE, **completed: int
) -> str:
    """Complete a payment on the open page; return the page's URL. Only the test advances the page's clock."""
    page.clock.install()
    order = create(redirect_url=f"{SHOP}/done")
    _pay(order, chain)
    page.goto(order["payment_url"])
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    page.clock.pause_at(page.evaluate("Date.now() + 1000"))
    complete(order, **completed)
    refresh(page)
    expect(panel.get_by_role("heading", name=heading)).to_be_visible()
    return str(order["payment_url"])


@pytest.mark.usefixtures("shop")
def test_page_leaves_three_seconds_after_the_last_input(
    page: Page, panel: Locator, create: Create, chain: Chain
) -> None:
    url = _paid_here(page, panel, create, chain)
    leaving = panel.locator(".leaving")
    picture(page, "complete, going back to the shop")
    inputs = (
        lambda: page.keyboard.press("Shift"),
        lambda: page.locator("body").dispatch_event("wheel"),
        lambda: page.evaluate("document.querySelector('.receipt-link a').focus()"),
    )
    for touch in inputs:
        # Go beyond the time for which the page doesn't react because it has just drawn.
        page.clock.run_for(2_300)
        expect(leaving).to_contain_text("in 1 second")
        touch()
    page.clock.run_for(2_900)
    assert page.url == url
    page.clock.run_for(200)
    page.wait_for_url(f"{SHOP}/done?**")
    # A customer who goes back wants to stay, so the page doesn't redirect again.
    page.go_back()
    expect(page.get_by_role("heading", name=COMPLETE)).to_be_visible()
    expect(page.get_by_role("link", name="View receipt")).to_be_visible()
    expect(leaving).to_have_count(0)


def test_customer_can_stay_on_the_completed_page(
    page: Page, panel: Locator, create: Create, chain: Chain
) -> None:
    url = _paid_here(page, panel, create, chain)
    panel.get_by_role("button", name="Stay on this page").click()
    expect(panel.locator(".leaving")).to_have_count(0)
    page.clock.run_for(30_000)
    expect(panel.get_by_role("link", name="Return to Alice's Bakery")).to_be_visible()
    assert page.url == url


@pytest.mark.usefixtures("shop")
def test_overpayment_leaves_fifteen_seconds_to_read_its_notice(
    page: Page, panel: Locator, create: Create, chain: Chain, merchant: Merchant
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(support_email="help@shop.example")
    url = _paid_here(page, panel, create, chain, "Paid more than requested", paid=MORE)
    expect(panel.get_by_role("link", name="help@shop.example")).to_be_visible()
    expect(panel.locator(".leaving")).to_contain_text("in 15 seconds")
    expect(page.locator(".price")).to_contain_text("Paid to Alice's Bakery")
    expect(page.locator("#amount")).to_have_text("12.50")
    picture(page, "overpaid")
    page.clock.run_for(14_500)
    assert page.url == url
    page.clock.run_for(600)
    page.wait_for_url(f"{SHOP}/done?**")


def test_link_opened_after_cancellation_does_not_redirect(page: Page, panel: Locator, create: Create) -> None:
    page.clock.install()
    order = create(cancel_url=f"{SHOP}/basket")
    update(order, status="cancelled")
    page.goto(order["payment_url"])
    expect(panel.get_by_role("heading", name="This payment was cancelled")).to_be_visible()
    expect(panel.locator(".leaving")).to_have_count(0)
    page.clock.run_for(30_000)
    assert page.url == order["payment_url"]
    expect(panel.get_by_role("link", name="Return to Alice's Bakery")).to_be_visible()


@pytest.mark.parametrize(
    ("status", "heading"),
    [("expired", "This payment has expired"), ("cancelled", "This payment was cancelled")],
)
def test_request_that_ends_takes_the_ways_to_pay_away(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, status: str, heading: str
) -> None:
    add_wallet()
    order = create()
    expect(review(page, panel, order)).to_be_visible()
    update(order, status=status)
    refresh(page)
    _expect_state(page, panel, heading)
    expect(panel.get_by_role("heading", name=heading)).to_be_focused()
    expect(page.locator("#live")).to_contain_text(heading)
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_have_count(0)
    expect(page.get_by_text(order["recipient_address"])).to_be_hidden()


def test_countdown_that_ends_stops_the_customer(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    order = create()
    update(order, expires_at=timezone.now() + timedelta(seconds=1))
    page.goto(order["payment_url"])
    _expect_state(page, panel, "Time is up")
    expect(panel).to_contain_text("Please don’t send anything now")
    expect(page.locator("#amount-label")).to_have_text("Amount")
    expect(page.locator("#countdown")).to_be_hidden()
    expect(page.get_by_text(order["recipient_address"])).to_be_hidden()
    picture(page, "time up")
    page.reload()
    expect(page.locator("#amount-label")).to_have_text("Amount")


def test_inactive_token_is_not_offered_until_it_is_active(
    page: Page, panel: Locator, create: Create, usdc: Token, add_wallet: AddWallet
) -> None:
    add_wallet()
    order = create()
    expect(review(page, panel, order)).to_be_visible()
    Token.objects.filter(pk=usdc.pk).update(is_active=False)
    refresh(page)
    for _ in range(2):
        _expect_state(page, panel, "Payments in USDC on Local Chain are unavailable at the moment")
        expect(panel.get_by_role("button")).to_have_count(0)
        expect(page.get_by_role("link", name="Send it yourself")).to_be_hidden()
        expect(page.locator("#amount-label")).to_have_text("Amount")
        page.reload()
    picture(page, "switched off")
    Token.objects.filter(pk=usdc.pk).update(is_active=True)
    refresh(page)
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    expect(page.locator("#amount-label")).to_have_text("Amount to pay")


def test_failure_of_an_own_payment_leads_to_paying_again(
    page: Page, panel: Locator, create: Create, chain: Chain, merchant: Merchant, add_wallet: AddWallet
) -> None:
    add_wallet()
    Merchant.objects.filter(pk=merchant.pk).update(support_email="help@shop.example")
    order = create()
    failure: dict[str, Any] = {
        "failure_code": FailureCode.TRANSACTION_REVERTED,
        "failure_message": "It was undone.",
    }
    _pay(order, chain, status="failed", failed_at=timezone.now(), **failure)
    page.goto(order["payment_url"])
    sent_here(page, order, HASH)
    _expect_state(page, panel, "The payment did not go through")
    picture(page, "failed, reverted")
    expect(panel.get_by_role("link", name="help@shop.example")).to_be_visible()
    panel.get_by_role("button", name="Pay again").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    expect(panel.get_by_role("heading", name="Pay with your wallet")).to_be_focused()
