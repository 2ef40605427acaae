"""With a wallet, each screen up to its question reads well to everybody, and the keyboard stands at its heading."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.test_paying import review
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.wallets.stub import ELSEWHERE, NAME, error

NEVER = "never"


def test_the_list_of_wallets_reads_well(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    add_wallet(name="Other Wallet")
    page.goto(create()["payment_url"])
    expect(panel.locator(".wallet")).to_have_count(2)
    assert_accessible(page)


def test_a_declined_connection_reads_well(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_requestAccounts": [error(4001)]})
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_test_id("notice")).to_be_visible()
    assert_accessible(page)


def test_a_wallet_that_is_slow_to_connect_reads_well(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_requestAccounts": [NEVER]})
    page.clock.install()
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_role("heading", name=f"Connect {NAME}")).to_be_focused()
    page.clock.fast_forward(20_000)
    expect(panel.get_by_test_id("notice")).to_be_visible()
    assert_accessible(page)


def test_the_review_reads_well_before_and_after_a_refusal(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_sendTransaction": [error(4001)]})
    pay = review(page, panel, create())
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_focused()
    assert_accessible(page)
    pay.click()
    expect(panel.get_by_test_id("notice")).to_be_visible()
    assert_accessible(page)


def test_what_is_signed_reads_well_while_the_wallet_asks(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_sendTransaction": [NEVER]})
    page.clock.install()
    review(page, panel, create()).click()
    expect(panel.get_by_role("heading", name=f"Confirm in {NAME}")).to_be_focused()
    expect(panel.locator(".signed")).to_be_visible()
    assert_accessible(page)
    page.clock.fast_forward(20_000)
    expect(panel.get_by_test_id("notice")).to_be_visible()
    assert_accessible(page)


def test_a_change_of_network_reads_well(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(chainId=ELSEWHERE, answers={"wallet_switchEthereumChain": [NEVER]})
    review(page, panel, create()).click()
    expect(page.locator("#panel")).to_have_attribute("data-screen", "switching")
    expect(panel.get_by_role("heading", level=2).first).to_be_focused()
    assert_accessible(page)
