"""The screens between two others, where the page waits for a wallet or the server, read well to everybody."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.test_paying import review
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.wallets.stub import NAME, error

NEVER = "never"
SIGNED = {"gives": "0x" + "11" * 65}


def hold(page: Page, address: str) -> None:
    """Let no answer to this come any more, so that what waits for it stands still."""
    page.route(address, lambda _: None)


def expect_wait(page: Page, screen: str, *, is_focused: bool = True) -> None:
    """Wait for the screen; hold it to the rules."""
    panel = page.locator("#panel")
    expect(panel).to_have_attribute("data-screen", screen)
    if is_focused:
        expect(panel.locator("#panel-heading")).to_be_focused()
    assert_accessible(page)


def test_connecting(page: Page, panel: Locator, create: Create, add_wallet: AddWallet) -> None:
    add_wallet(answers={"eth_requestAccounts": [NEVER]})
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect_wait(page, "connecting")


def test_looking_at_what_a_wallet_holds(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, settings: Any
) -> None:
    settings.ROUTING_PROVIDERS = ["lifi"]
    add_wallet()
    hold(page, "**/balances/essential")
    review(page, panel, create())
    expect_wait(page, "looking")


def test_preparing_the_payment(page: Page, panel: Locator, create: Create, add_wallet: AddWallet) -> None:
    add_wallet()
    hold(page, "**/routes")
    review(page, panel, create())
    expect_wait(page, "quoting")


def test_preparing_the_transaction(page: Page, panel: Locator, create: Create, add_wallet: AddWallet) -> None:
    add_wallet()
    hold(page, "**/build-transaction")
    review(page, panel, create()).click()
    expect_wait(page, "building")


def test_proving_the_wallet_and_having_it_checked(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet(answers={"personal_sign": [NEVER]})
    hold(page, "**/payer-proof")
    page.clock.install()
    pay = review(page, panel, create(references=False))
    pay.click()
    expect_wait(page, "proving")
    page.clock.fast_forward(20_000)
    expect(panel.get_by_test_id("notice")).to_be_visible()
    assert_accessible(page)
    wallet.plan("personal_sign", SIGNED)
    panel.get_by_role("button", name="I don’t see the request in my wallet").click()
    expect(panel.get_by_test_id("notice")).to_contain_text("The signature request may still be open")
    assert_accessible(page)
    pay.click()
    expect(panel).to_contain_text("Checking your signature")
    expect_wait(page, "proving")


def test_telling_the_server(page: Page, panel: Locator, create: Create, add_wallet: AddWallet) -> None:
    add_wallet()
    hold(page, "**/payments")
    review(page, panel, create()).click()
    expect(panel).to_contain_text("Sending the transaction’s hash")
    expect_wait(page, "processing")


def test_a_transaction_that_the_server_can_not_be_told_of(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.route("**/payments", lambda route: route.abort())
    review(page, panel, create()).click()
    expect(panel).to_contain_text("saved in this browser")
    expect_wait(page, "processing")


def test_a_lost_connection(page: Page, panel: Locator, create: Create, add_wallet: AddWallet) -> None:
    add_wallet()
    page.goto(create()["payment_url"])
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    page.clock.install()
    page.route("**/api/public/**", lambda route: route.abort())
    for _ in range(20):
        page.evaluate("dispatchEvent(new Event('online'))")
        page.clock.run_for(5_000)
        if page.locator("#connection").is_visible():
            break
    expect(page.locator("#connection")).to_contain_text("The connection was lost")
    assert_accessible(page)


def test_a_question_that_was_left_open(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_sendTransaction": [error(-32603, "nonce too low")]})
    review(page, panel, create()).click()
    expect(panel.get_by_test_id("notice")).to_be_visible()
    page.reload()
    expect(panel.get_by_test_id("notice")).to_contain_text("A payment was started in this browser")
    assert_accessible(page)


def test_a_blocked_payment(page: Page, panel: Locator, create: Create, add_wallet: AddWallet) -> None:
    add_wallet()
    page.route("**/routes", lambda route: route.abort())
    review(page, panel, create())
    expect(panel.get_by_test_id("notice")).to_be_visible()
    expect_wait(page, "blocked")


def test_time_that_is_up(page: Page, panel: Locator, create: Create, add_wallet: AddWallet) -> None:
    add_wallet()
    page.clock.install()
    page.goto(create()["payment_url"])
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    hold(page, "**/api/public/payment-requests/*")
    page.clock.fast_forward("24:00:00")
    expect_wait(page, "time-up", is_focused=False)
