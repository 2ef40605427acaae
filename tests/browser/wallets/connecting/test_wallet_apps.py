"""On a phone without a wallet the page links to the wallets' apps, which open it in their own browsers."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from checkout.wallets.apps import wallet_apps
from tests.browser.conftest import TOUCHED, AddWallet, Create
from tests.pictures import picture
from tests.support.wallets.stub import NAME

URL = "https://pay.example.com/pay/Ab3dEf6hJk9m"
ENCODED = "https%3A%2F%2Fpay.example.com%2Fpay%2FAb3dEf6hJk9m"
ON_A_PHONE = pytest.mark.parametrize("page", [TOUCHED], ids=["phone"], indirect=True)


def test_each_link_is_in_its_wallets_own_form() -> None:
    assert {app.name: app.url for app in wallet_apps(URL, "evm", 8453)} == {
        "MetaMask": "https://link.metamask.io/dapp/pay.example.com/pay/Ab3dEf6hJk9m",
        "Phantom": f"https://phantom.app/ul/browse/{ENCODED}?ref=https%3A%2F%2Fpay.example.com",
        "Base (Coinbase Wallet)": f"https://go.cb-w.com/dapp?cb_url={ENCODED}",
        "Trust Wallet": f"https://link.trustwallet.com/open_url?coin_id=60&url={ENCODED}",
        "OKX Wallet": "https://web3.okx.com/download?deeplink=okx%3A%2F%2Fwallet%2Fdapp%2Furl%3FdappUrl%3D"
        + ENCODED.replace("%", "%25"),
    }


def test_only_wallets_that_can_pay_on_the_chain_are_named() -> None:
    on_solana = wallet_apps(URL, "solana", 1151111081099710)
    assert [app.name for app in on_solana] == ["Phantom", "Trust Wallet", "OKX Wallet"]
    assert "coin_id=501" in on_solana[1].url
    assert "Phantom" not in [app.name for app in wallet_apps(URL, "evm", 42161)]


def test_a_page_that_no_phone_reaches_has_no_links() -> None:
    assert wallet_apps("http://127.0.0.1:8000/pay/Ab3dEf6hJk9m", "evm", 1) == []


@pytest.fixture
def path(create: Create, settings: Any, live_server: LiveServer) -> str:
    """Where the page of a request is served here, while its own address is on the web."""
    settings.CHECKOUT_URL = "https://pay.example.com"
    shortcode = create()["payment_url"].rsplit("/", 1)[1]
    return f"http://localhost:{live_server.thread.port}/pay/{shortcode}"


@ON_A_PHONE
def test_a_phone_without_a_wallet_is_led_to_the_apps(page: Page, path: str) -> None:
    page.goto(path)
    links = page.locator("#wallet-apps a")
    expect(page.get_by_role("heading", name="No wallet found in this browser")).to_be_visible()
    expect(links).to_have_count(4)
    expect(links.first).to_be_visible()
    picture(page, "wallets, none on a phone")
    expect(links.first).to_have_attribute(
        "href", f"https://link.metamask.io/dapp/pay.example.com{path[-17:]}"
    )


@ON_A_PHONE
def test_in_a_wallets_own_browser_nothing_leads_away(page: Page, path: str, add_wallet: AddWallet) -> None:
    add_wallet()
    page.goto(path)
    expect(page.get_by_role("button", name=NAME)).to_be_visible()
    expect(page.locator("#wallet-apps")).to_be_hidden()


def test_a_desktop_is_not_led_to_apps(page: Page, path: str) -> None:
    page.goto(path)
    expect(page.get_by_role("heading", name="No wallet found in this browser")).to_be_visible()
    expect(page.locator("#wallet-apps")).to_be_hidden()
    picture(page, "wallets, none on a desktop")


def test_the_links_work_without_scripts(browser: Browser, path: str) -> None:
    context = browser.new_context(**TOUCHED, java_script_enabled=False)
    page = context.new_page()
    page.goto(path)
    expect(page.get_by_role("link", name="MetaMask")).to_be_visible()
    context.close()
