"""What a screen reader is told from the list of wallets to the paid request: names, states, and each change once."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from demo.services import anvil
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import COMPARE, chain_named, create_request, turn_switches
from tests.browser.local_world.test_solana import RECIPIENT, solana
from tests.browsing import DESKTOP
from tests.support.accessibility.page_rules import open_bare

__all__ = ["solana"]

HERE, THERE = "Local Chain", "Harbour Chain"
PAID_WITHIN_MS = 60_000
# What the live region says, one text after the other.
_LISTEN = """addEventListener("DOMContentLoaded", () => {
  window.heard = [];
  const region = document.getElementById("live");
  new MutationObserver(() => region.textContent && heard.push(region.textContent))
    .observe(region, { childList: true, characterData: true, subtree: true });
});"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
    context.set_default_timeout(30_000)
    context.add_init_script(_LISTEN)
    yield context.new_page()
    context.close()


@pytest.fixture
def panel(page: Page) -> Locator:
    return page.locator("#panel")


def connect(page: Page) -> None:
    page.locator("#panel").get_by_role("button", name="Demo Wallet").click()
    page.get_by_test_id("demo-wallet-confirm").click()


def expect_heard(page: Page, *told: str) -> None:
    """These were said, in this order, and nothing was said twice in a row."""
    heard: list[str] = page.evaluate("heard")
    assert all(one != other for one, other in zip(heard, heard[1:], strict=False)), heard
    rest = iter(heard)
    for text in told:
        assert any(text in one for one in rest), f"{text!r} was not said, or not in turn: {heard}"


def test_of_a_swap_it_is_told_everything_once(world: World, page: Page, panel: Locator) -> None:
    turn_switches(world)
    request = create_request(world, chain_named(world, THERE), anvil.MERCHANT_ADDRESS)
    page.goto(request["payment_url"])
    expect(page.locator("main")).to_match_aria_snapshot("""
      - heading "Amount to pay 10.50 USDC" [level=1]
      - region "Payment":
        - heading "Pay with your wallet" [level=2]
        - list:
          - listitem:
            - button "Demo Wallet"
        - status
      - region "Details of this payment":
        - heading "Details of this payment" [level=2]
    """)
    connect(page)
    expect(panel).to_match_aria_snapshot("""
      - heading "Review and pay" [level=2]
      - term: Amount
      - definition:
        - strong: 10.50 USDC
      - term: Network
      - definition: Harbour Chain
      - button "Pay 10.50 USDC"
      - button "Pay with another token"
    """)
    panel.get_by_role("button", name="Pay with another token").click()
    expect(panel.locator("#look-again")).to_be_visible()
    expect(panel.get_by_role("button", name=re.compile(r"^DAI on Local Chain \d"))).to_be_visible()
    panel.get_by_role("button", name=re.compile(r"^DAI on Local Chain")).click()
    panel.get_by_role("button", name=COMPARE).click()
    expect(panel).to_match_aria_snapshot("""
      - heading "Two ways to pay" [level=2]
      - list:
        - listitem:
          - button /Recommended.*DAI.*about .* min/
        - listitem:
          - button /Fastest.*DAI/
    """)
    panel.get_by_role("button", name="Fastest").click()
    expect(panel).to_match_aria_snapshot("""
      - heading "Review and pay" [level=2]
      - term: You pay
      - term: /receives/
      - button /^Pay 1.* DAI$/
    """)
    panel.get_by_role("button", name=re.compile("^Pay 1")).click()
    expect(page.get_by_test_id("demo-wallet-confirm")).to_be_visible()
    expect(panel).to_match_aria_snapshot("""
      - heading "Allow in Demo Wallet" [level=2]
      - list:
        - listitem: /Allow exactly .* DAI \\(in progress\\)/
        - listitem: /Pay .* DAI \\(not yet\\)/
      - heading "What you sign" [level=3]
    """)
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("heading", name="Confirm in Demo Wallet")).to_be_visible()
    expect(panel).to_match_aria_snapshot("""
      - list:
        - listitem: /Allow exactly .* DAI \\(done\\)/
        - listitem: /Pay .* DAI \\(in progress\\)/
    """)
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_focused(timeout=PAID_WITHIN_MS)
    expect_heard(
        page,
        "Connect Demo Wallet",
        "Review and pay",
        "What would you like to pay with?",
        "Finding the best route",
        "Review and pay",
        "Two ways to pay",
        "Review and pay",
        "Allow in Demo Wallet. Allow exactly",
        "Confirm in Demo Wallet",
        "Payment on its way",
        "Payment complete",
    )


def test_of_a_solana_payment_it_is_told_everything_once(
    world: World, solana: dict[str, Any], page: Page, panel: Locator
) -> None:
    page.goto(create_request(world, solana, RECIPIENT)["payment_url"])
    connect(page)
    pay = panel.get_by_role("button", name="Pay 10.50 USDC")
    pay.click()
    page.get_by_test_id("demo-wallet-reject").click()
    expect(panel.get_by_test_id("notice")).to_be_visible()
    pay.click()
    expect(page.get_by_test_id("demo-wallet-confirm")).to_be_visible()
    expect(panel).to_match_aria_snapshot("""
      - heading "Confirm in Demo Wallet" [level=2]
      - heading "What you sign" [level=3]
      - term: Amount
      - definition:
        - strong: 10.50 USDC
      - button "I don’t see the request in my wallet"
    """)
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_focused(timeout=PAID_WITHIN_MS)
    expect_heard(
        page,
        "Connect Demo Wallet",
        "Review and pay",
        "Confirm in Demo Wallet",
        "Review and pay. You declined the payment in your wallet. No money has moved.",
        "Confirm in Demo Wallet",
        "Payment on its way",
        "Payment complete",
    )


def test_without_scripts_it_is_told_the_same_on_the_page_itself(world: World, page: Page) -> None:
    request = create_request(
        world, chain_named(world, HERE), anvil.MERCHANT_ADDRESS, description="Two loaves, sliced"
    )
    open_bare(page, request["payment_url"])
    expect(page.locator("main")).to_match_aria_snapshot("""
      - heading "Amount to pay 10.50 USDC" [level=1]
      - paragraph: Two loaves, sliced
      - region "Payment":
        - heading "Pay with your wallet" [level=2]
        - paragraph: /Paying with a connected wallet needs JavaScript/
        - paragraph:
          - link "Send it yourself, without connecting a wallet"
      - region "Details of this payment":
        - heading "Details of this payment" [level=2]
        - term: Pay by
        - term: Token
        - term: Recipient
    """)
    open_bare(page, request["payment_url"] + "/by-hand")
    page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))")
    expect(page.locator("main")).to_match_aria_snapshot("""
      - heading "Send 10.50 USDC by hand" [level=1]
      - heading "What can go wrong"
      - group:
        - term: Exact amount in USDC
        - term: To this address
        - img /QR code with the recipient/
      - textbox "Transaction hash"
      - button "Find my payment"
    """)
