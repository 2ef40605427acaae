"""The Back button goes one step back within the checkout. From the first step, it leaves the page."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.connecting.test_permissions import order_there as order_there
from tests.browser.wallets.steps import SENT, review
from tests.support.wallets.stub import NAME

DAI = re.compile(r"^DAI\b.*Local Chain")


def test_back_leaves_the_checkout_one_step_at_a_time(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    add_wallet()
    page.goto("data:text/html,<title>The shop</title>")
    page.goto(order_there["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    panel.get_by_role("button", name="Pay with another token").click()
    panel.get_by_role("button", name=DAI).click()
    expect(panel).to_have_attribute("data-screen", "review")
    for screen in ("tokens", "review", "choose"):
        page.go_back()
        expect(panel).to_have_attribute("data-screen", screen)
    page.go_back()
    expect(page).to_have_title("The shop")


def test_back_from_an_open_prompt_shows_the_review_with_a_notice(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet(answers={"eth_sendTransaction": ["never"]})
    review(page, panel, create()).click()
    expect(panel).to_have_attribute("data-screen", "confirming")
    page.go_back()
    expect(panel).to_have_attribute("data-screen", "review")
    expect(panel.get_by_test_id("notice")).to_contain_text("A payment was started in this browser")
    assert len(wallet.asked(SENT)) == 1


def test_back_after_use_another_wallet_leaves_the_page(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.goto("data:text/html,<title>The shop</title>")
    expect(review(page, panel, create())).to_be_visible()
    panel.get_by_role("button", name="Use another wallet").click()
    expect(panel).to_have_attribute("data-screen", "choose")
    page.evaluate("history.back()")
    expect(page).to_have_title("The shop")
