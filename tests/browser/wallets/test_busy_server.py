"""A server that is busy for a moment is waited for by the page, which says so; for longer, the customer decides."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.test_paying import review, send
from tests.support.accessibility.page_rules import assert_accessible

BUSY = {429: ("rate_limited", "Slow down."), 503: ("node_unavailable", "No node answers.")}


def _refuse(page: Page, path: str, status: int, seconds: int, times: int) -> None:
    code, message = BUSY[status]
    answer = {
        "status": status,
        "headers": {"Retry-After": str(seconds)},
        "json": {"error": {"code": code, "message": message}},
    }
    page.route(path, lambda route: route.fulfill(**answer), times=times)


@pytest.mark.parametrize("status", BUSY)
def test_a_short_wait_goes_on_by_itself(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, status: int
) -> None:
    wallet = add_wallet()
    _refuse(page, "**/build-transaction", status, 7, times=1)
    page.clock.install()
    review(page, panel, create()).click()
    expect(panel.get_by_test_id("notice")).to_have_text(re.compile("Trying again in 7 s"))
    expect(panel.get_by_role("heading", name="Preparing the transaction")).to_be_visible()
    assert wallet.asked("eth_sendTransaction") == []
    if status == 429:
        assert_accessible(page)
    with page.expect_response("**/payments") as told:
        page.clock.fast_forward(8_000)
    assert told.value.status == 201
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert len(wallet.asked("eth_sendTransaction")) == 1


def test_who_can_not_wait_may_leave(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    _refuse(page, "**/routes", 503, 5, times=1)
    page.clock.install()
    page.goto(create()["payment_url"])
    panel.locator(".wallet").click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Trying again in 5 s")
    panel.get_by_role("button", name="Back").click()
    expect(panel.locator(".wallet")).to_be_visible()
    page.clock.fast_forward(6_000)
    expect(panel).to_have_attribute("data-screen", "choose")


@pytest.mark.parametrize(
    ("seconds", "times", "waits"), [(30, 1, 0), (6, 2, 1)], ids=["long", "again and again"]
)
def test_a_long_wait_is_the_customers_to_end(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, seconds: int, times: int, waits: int
) -> None:
    add_wallet()
    _refuse(page, "**/build-transaction", 503, seconds, times)
    page.clock.install()
    pay = review(page, panel, create())
    pay.click()
    for _ in range(waits):
        expect(panel.get_by_test_id("notice")).to_contain_text("Trying again in")
        page.clock.fast_forward(7_000)
    expect(panel.get_by_test_id("notice")).to_contain_text(f"You can try again in {seconds} s.")
    panel.get_by_role("button", name="Try again").click()
    send(page, pay)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
