"""The page waits briefly for a busy server. After a longer wait, the customer decides."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import ON_ITS_WAY, SENT, review, send
from tests.support.accessibility.page_rules import assert_accessible


def _be_busy(page: Page, path: str, seconds: int) -> None:
    """Respond to the next call of this path with 503."""
    error = {"code": "node_unavailable", "message": "No node responds.", "request_id": "req_7"}
    response = {"status": 503, "headers": {"Retry-After": str(seconds)}, "json": {"error": error}}
    page.route(path, lambda route: route.fulfill(**response), times=1)


def test_short_wait_is_shown_and_ends_by_itself(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    _be_busy(page, "**/build-transaction", 7)
    page.clock.install()
    review(page, panel, create()).click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Trying again in 7 s")
    assert wallet.asked(SENT) == []
    assert_accessible(page)
    with page.expect_response("**/payments") as submitted:
        page.clock.fast_forward(8_000)
    assert submitted.value.status == 201
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    assert len(wallet.asked(SENT)) == 1


def test_customer_can_leave_during_a_short_wait(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    _be_busy(page, "**/routes", 5)
    page.clock.install()
    page.goto(create()["payment_url"])
    panel.locator(".wallet").click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Trying again in 5 s")
    panel.get_by_role("button", name="Back").click()
    expect(panel.locator(".wallet")).to_be_visible()
    page.clock.fast_forward(6_000)
    expect(panel).to_have_attribute("data-screen", "choose")


def test_long_wait_is_ended_by_the_customer(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    _be_busy(page, "**/build-transaction", 30)
    pay = review(page, panel, create())
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text("You can try again in 30 s.")
    panel.get_by_role("button", name="Try again").click()
    send(page, pay)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
