"""On a phone without a wallet, the page links to wallet apps. They open the page in their own browsers."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.browser.conftest import TOUCHED, AddWallet, Create
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.wallets.stub import NAME

_INLINE_WALLET = """
new MutationObserver((_, observer) => {
  if (!document.head) return;
  observer.disconnect();
  const script = document.createElement("script");
  script.append("window.ethereum = { request: async () => null }");
  document.head.append(script);
}).observe(document, { childList: true, subtree: true });
"""

ON_A_PHONE = pytest.mark.parametrize("page", [TOUCHED], ids=["phone"], indirect=True)


@pytest.fixture
def path(create: Create, settings: Any, live_server: LiveServer) -> str:
    """The path of a request's page on this server. The service's public URL is another one."""
    settings.CHECKOUT_URL = "https://pay.example.com"
    shortcode = create()["payment_url"].rsplit("/", 1)[1]
    return f"http://localhost:{live_server.thread.port}/pay/{shortcode}"


@ON_A_PHONE
def test_phone_without_a_wallet_links_to_apps(page: Page, path: str, browser: Browser) -> None:
    page.goto(path)
    links = page.locator("#wallet-apps a")
    expect(page.get_by_role("heading", name="No wallet found in this browser")).to_be_visible()
    expect(links).to_have_count(4)
    expect(links.first).to_be_visible()
    picture(page, "wallets, none on a phone")
    expect(links.first).to_have_attribute(
        "href", f"https://link.metamask.io/dapp/pay.example.com{path[-17:]}"
    )
    without_scripts = browser.new_context(**TOUCHED, java_script_enabled=False)
    bare = without_scripts.new_page()
    bare.goto(path)
    expect(bare.get_by_role("link", name="MetaMask")).to_be_visible()
    without_scripts.close()


@ON_A_PHONE
def test_wallets_own_browser_shows_no_app_links(page: Page, path: str, add_wallet: AddWallet) -> None:
    add_wallet()
    page.goto(path)
    expect(page.get_by_role("button", name=NAME)).to_be_visible()
    expect(page.locator("#wallet-apps")).to_be_hidden()


@ON_A_PHONE
def test_wallet_that_the_policy_blocks_leads_to_ways_that_work(page: Page, path: str) -> None:
    page.add_init_script(_INLINE_WALLET)
    page.goto(path)
    panel = page.locator("#panel")
    expect(panel).to_contain_text("A wallet or extension in this browser tried to add itself to this page")
    expect(panel).not_to_contain_text("Open this page in your wallet app’s own browser")
    # This browser already belongs to a wallet app.
    expect(page.locator("#wallet-apps")).to_be_hidden()
    picture(page, "wallets, blocked by the policy")
    assert_accessible(page)
    panel.get_by_role("link", name="Send it yourself").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("10.50 USDC")


def test_desktop_shows_no_app_links(page: Page, path: str) -> None:
    page.goto(path)
    expect(page.get_by_role("heading", name="No wallet found in this browser")).to_be_visible()
    expect(page.locator("#wallet-apps")).to_be_hidden()
    picture(page, "wallets, none on a desktop")
