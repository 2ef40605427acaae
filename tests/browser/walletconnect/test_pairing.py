"""The QR code that a wallet scans: its screen, its expiry, and the next steps if nothing happens."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import TOUCHED, Create
from tests.browser.walletconnect.conftest import NAME, Connect, code, pairing_uri
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible, assert_fits
from tests.support.walletconnect.phone import Phone, evm
from tests.support.walletconnect.relay import Relay

FIVE_MINUTES = 300_000


def test_code_screen_is_accessible(page: Page, panel: Locator, create: Create, relay: Relay) -> None:
    page.goto(create()["payment_url"])
    uri = pairing_uri(panel)
    assert uri.startswith("wc:")
    code = panel.get_by_role("img", name="QR code that connects a wallet to this page")
    expect(code).to_be_visible()
    expect(panel.get_by_role("heading", name="Scan with your phone’s wallet")).to_be_focused()
    expect(panel.get_by_role("button", name="Copy the code")).to_be_visible()
    # A desktop has no app that could open this link.
    expect(panel.get_by_role("link", name="Open a wallet")).to_be_hidden()
    expect(panel.locator(".pairing__apps")).to_be_hidden()
    assert_accessible(page)


@pytest.mark.parametrize("page", [TOUCHED], indirect=True, ids=["phone"])
def test_code_on_a_phone_is_a_link_to_wallet_apps(
    page: Page, panel: Locator, create: Create, relay: Relay
) -> None:
    page.goto(create()["payment_url"])
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    # The links that open the page in wallets' browsers remain.
    expect(page.locator("#checkout")).to_have_attribute("data-wallets", "none")
    uri = pairing_uri(panel)
    link = panel.get_by_role("link", name="Open a wallet on this device")
    expect(link).to_be_visible()
    expect(link).to_have_attribute("href", uri)
    app = panel.get_by_role("link", name="MetaMask")
    expect(app).to_have_attribute("href", f"https://link.metamask.io/wc?uri={quote(uri, safe='')}")
    expect(app).to_have_attribute("target", "_blank")
    assert_accessible(page)
    picture(page, "WalletConnect on a phone")


@pytest.mark.parametrize("page", [TOUCHED], indirect=True, ids=["phone"])
def test_tap_leads_back_to_the_wallets_open_request(
    page: Page, panel: Locator, create: Create, connect: Connect, phone: Phone
) -> None:
    topic = connect(create())
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    asked = phone.expect("request")
    link = panel.get_by_role("link", name="Open Rainbow")
    expect(link).to_have_attribute(
        "href", f"https://rnbwapp.com/wc?requestId={asked['id']}&sessionTopic={topic}"
    )
    expect(link).to_be_visible()
    picture(page, "confirming, the wallet on this phone")
    assert_accessible(page)


def test_code_is_scannable_in_arabic_and_forced_colors(
    page: Page, panel: Locator, create: Create, relay: Relay
) -> None:
    page.emulate_media(forced_colors="active", color_scheme="dark")
    page.goto(f"{create()['payment_url']}?lang=ar")
    pairing_uri(panel)
    shown = panel.locator(".pairing__code")
    assert shown.evaluate("box => getComputedStyle(box).backgroundColor") == "rgb(255, 255, 255)"
    assert_fits(page)
    picture(page, "WalletConnect in Arabic")


def test_declined_pairing_can_be_repeated(
    page: Page, panel: Locator, create: Create, phone: Phone, account: str
) -> None:
    page.goto(create()["payment_url"])
    phone.reject(phone.scan(pairing_uri(panel)))
    expect(panel.get_by_test_id("notice")).to_contain_text("You declined the connection")
    phone.approve(phone.scan(pairing_uri(panel)), eip155=evm(account))
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_be_visible()


def test_expired_code_is_replaced_by_a_new_one(
    page: Page, panel: Locator, create: Create, phone: Phone, account: str
) -> None:
    page.clock.install()
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    first = code(panel)
    page.clock.fast_forward(FIVE_MINUTES)
    expect(panel).to_contain_text("This code has expired")
    assert_accessible(page)
    panel.get_by_role("button", name="New code").click()
    second = code(panel)
    assert second != first
    phone.approve(phone.scan(second), eip155=evm(account))
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_be_visible()


def test_silent_relay_is_reported_and_tried_again(
    page: Page, panel: Locator, create: Create, relay: Relay
) -> None:
    page.clock.install()
    relay.is_silent = True
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel).to_contain_text("Creating a code")
    page.clock.fast_forward(21_000)
    expect(panel).to_contain_text("WalletConnect can’t be reached")
    picture(page, "WalletConnect that can't be reached")
    relay.is_silent = False
    panel.get_by_role("button", name="Try again").click()
    assert code(panel).startswith("wc:")


def test_late_wallet_does_not_connect_after_going_back(
    page: Page, panel: Locator, create: Create, phone: Phone, account: str
) -> None:
    page.goto(create()["payment_url"])
    proposal = phone.scan(pairing_uri(panel))
    panel.get_by_role("button", name="Back").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    # Choosing WalletConnect again makes a new code. The late wallet scanned the old one.
    pairing_uri(panel)
    topic = phone.approve(proposal, eip155=evm(account))
    assert phone.expect("ended")["topic"] == topic
    expect(panel.get_by_role("heading", name="Scan with your phone’s wallet")).to_be_visible()
