"""With a wallet, each screen until the payment is sent is accessible. The focus is on its heading."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import OPEN_PROMPT, SENT, hold, review
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.wallets.stub import ELSEWHERE, NAME, NEVER, error

SIGNED = {"gives": "0x" + "11" * 65}


def expect_screen(page: Page, screen: str, *, is_focused: bool = True) -> None:
    """Wait for the screen; check its focus and its accessibility."""
    panel = page.locator("#panel")
    expect(panel).to_have_attribute("data-screen", screen)
    if is_focused:
        expect(panel.locator("#panel-heading")).to_be_focused()
    assert_accessible(page)


def expect_notice(page: Page, text: str = "") -> None:
    """Wait for a notice; check the screen with it."""
    expect(page.locator("#panel").get_by_test_id("notice")).to_contain_text(text)
    assert_accessible(page)


def test_connecting_screens_are_accessible(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_requestAccounts": [error(4001), NEVER]})
    add_wallet(name="Other Wallet")
    page.clock.install()
    page.goto(create()["payment_url"])
    expect(panel.locator(".wallet")).to_have_count(2)
    assert_accessible(page)
    connect = panel.get_by_role("button", name=NAME)
    connect.click()
    expect_notice(page, "You declined")
    connect.click()
    expect_screen(page, "connecting")
    page.clock.fast_forward(20_000)
    expect_notice(page, "Don’t see")


@pytest.mark.parametrize(
    ("screen", "path"),
    [("looking", "**/balances/essential"), ("quoting", "**/routes"), ("building", "**/build-transaction")],
)
def test_wait_for_the_server_is_accessible(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, settings: Any, screen: str, path: str
) -> None:
    settings.ROUTING_PROVIDERS = ["lifi"] if screen == "looking" else []
    add_wallet()
    hold(page, path)
    pay = review(page, panel, create())
    if screen == "building":
        expect_screen(page, "review")
        pay.click()
    expect_screen(page, screen)


def test_blocked_payment_is_accessible(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.route("**/routes", lambda route: route.abort())
    review(page, panel, create())
    expect(panel.get_by_test_id("notice")).to_be_visible()
    expect_screen(page, "blocked")


def test_prompts_and_their_refusals_are_accessible(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet(chainId=ELSEWHERE, answers={"wallet_switchEthereumChain": [NEVER]})
    page.clock.install()
    order = create()
    pay = review(page, panel, order)
    pay.click()
    expect_screen(page, "switching")
    wallet.change_chain(order["chain_id"])
    page.reload()
    wallet.plan(SENT, error(4001), NEVER)
    wallet.change_chain(order["chain_id"])
    pay.click()
    expect_notice(page, "You declined the payment")
    pay.click()
    expect(panel.locator(".signed")).to_be_visible()
    expect_screen(page, "confirming")
    page.clock.fast_forward(20_000)
    expect_notice(page, "Don’t see")
    page.reload()
    expect_notice(page, OPEN_PROMPT)


def test_proof_and_its_check_are_accessible(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet(answers={"personal_sign": [NEVER]})
    hold(page, "**/payer-proof")
    page.clock.install()
    pay = review(page, panel, create(references=False))
    pay.click()
    expect_screen(page, "proving")
    page.clock.fast_forward(20_000)
    expect_notice(page)
    wallet.plan("personal_sign", SIGNED)
    panel.get_by_role("button", name="I don’t see the request in my wallet").click()
    expect_notice(page, "The signature request may still be open")
    pay.click()
    expect(panel).to_contain_text("Checking your signature")
    expect_screen(page, "proving")


def test_submitting_the_hash_is_accessible(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    held = hold(page, "**/payments")
    review(page, panel, create()).click()
    expect(panel).to_contain_text("Sending the transaction’s hash")
    expect_screen(page, "processing")
    held[0].abort()
    expect(panel).to_contain_text("saved in this browser")
    expect_screen(page, "processing")


def test_lost_connection_and_ended_time_are_accessible(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.clock.install()
    page.goto(create()["payment_url"])
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    page.context.set_offline(True)
    expect(page.locator("#connection")).to_contain_text("The connection was lost")
    assert_accessible(page)
    page.context.set_offline(False)
    hold(page, "**/api/public/payment-requests/*")
    page.clock.fast_forward("24:00:00")
    expect_screen(page, "time-up", is_focused=False)
