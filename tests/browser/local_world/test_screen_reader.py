"""A keyboard is enough to pay. Each screen is accessible, and a screen reader speaks each change once."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from demo.services import anvil
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import (
    COMPARE,
    WITHOUT_BATCHES,
    chain_named,
    create_request,
    turn_switches,
)
from tests.browser.local_world.test_solana import RECIPIENT, solana
from tests.browsing import DESKTOP
from tests.support.accessibility.keyboard import is_focus_seen, press
from tests.support.accessibility.page_rules import assert_accessible

__all__ = ["solana"]

HERE, THERE = "Local Chain", "Harbour Chain"
PAID_WITHIN_MS = 60_000
# Records the live region's texts in order.
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
    context.add_init_script(WITHOUT_BATCHES)
    yield context.new_page()
    context.close()


@pytest.fixture
def panel(page: Page) -> Locator:
    return page.locator("#panel")


def confirm(page: Page) -> None:
    """Press the confirm button of the wallet's window."""
    press(page, page.get_by_test_id("demo-wallet-confirm").inner_text())


def expect_screen(panel: Locator, name: str, snapshot: str) -> None:
    """Check a screen's structure and accessibility, and that the focus is on its heading."""
    page = panel.page
    expect(panel).to_have_attribute("data-screen", name, timeout=PAID_WITHIN_MS)
    page.wait_for_function("document.activeElement?.id === 'panel-heading'")
    assert is_focus_seen(page), f"the heading of {name} is out of view"
    expect(panel).to_match_aria_snapshot(snapshot)
    assert_accessible(page)


def expect_prompt(panel: Locator, name: str, snapshot: str) -> None:
    """Check the screen that the wallet's window covers. The window itself is not checked."""
    page, wallet = panel.page, panel.page.locator("#demo-wallet")
    expect(panel).to_have_attribute("data-screen", name, timeout=PAID_WITHIN_MS)
    window = page.get_by_test_id("demo-wallet-window")
    expect(window).to_be_visible()
    expect(panel).to_match_aria_snapshot(snapshot)
    wallet.evaluate("element => void (element.hidden = true)")
    expect(window).to_be_hidden()
    assert_accessible(page)
    wallet.evaluate("element => void (element.hidden = false)")


def expect_heard(page: Page, *texts: str) -> None:
    """Check that these texts were spoken in this order, and that none was repeated directly."""
    heard: list[str] = page.evaluate("heard")
    assert all(one != other for one, other in zip(heard, heard[1:], strict=False)), heard
    rest = iter(heard)
    for text in texts:
        assert any(text in one for one in rest), f"{text!r} was not spoken, or not in turn: {heard}"


def test_swap_is_paid_by_keyboard_and_spoken_once(world: World, page: Page, panel: Locator) -> None:
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
    assert_accessible(page)
    press(page, "Demo Wallet")
    confirm(page)
    expect_screen(
        panel,
        "review",
        """
      - heading "Review and pay" [level=2]
      - term: Amount
      - definition:
        - strong: 10.50 USDC
      - term: Network
      - definition: Harbour Chain
      - button "Pay 10.50 USDC"
      - button "Pay with another token"
    """,
    )
    press(page, "Pay with another token")
    expect(panel.locator("#look-again")).to_be_visible()
    expect_screen(panel, "tokens", "- button /DAI on Local Chain \\d/")
    press(page, "DAI", f"on {HERE}")
    expect(panel).to_have_attribute("data-screen", "review")
    press(page, COMPARE)
    expect_screen(
        panel,
        "routes",
        """
      - heading "Two ways to pay" [level=2]
      - list:
        - listitem:
          - button /Recommended.*DAI.*about .* min/
        - listitem:
          - button /Fastest.*DAI/
    """,
    )
    press(page, "Fastest")
    expect_screen(
        panel,
        "review",
        """
      - heading "Review and pay" [level=2]
      - term: You pay
      - term: /receives/
      - button /^Pay 1.* DAI$/
    """,
    )
    press(page, "Pay 1")
    expect_prompt(
        panel,
        "approving",
        """
      - heading "Allow in Demo Wallet" [level=2]
      - list:
        - listitem: /Allow exactly .* DAI \\(in progress\\)/
        - listitem: /Pay .* DAI \\(not yet\\)/
      - heading "What you sign" [level=3]
    """,
    )
    confirm(page)
    expect_prompt(
        panel,
        "confirming",
        """
      - list:
        - listitem: /Allow exactly .* DAI \\(done\\)/
        - listitem: /Pay .* DAI \\(in progress\\)/
    """,
    )
    confirm(page)
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_focused(timeout=PAID_WITHIN_MS)
    assert_accessible(page)
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


def test_solana_payment_is_paid_by_keyboard_and_spoken_once(
    world: World, solana: dict[str, Any], page: Page, panel: Locator
) -> None:
    page.goto(create_request(world, solana, RECIPIENT)["payment_url"])
    expect(panel.get_by_role("button", name="Demo Wallet")).to_be_visible()
    press(page, "Demo Wallet")
    confirm(page)
    expect_screen(panel, "review", '- button "Pay 10.50 USDC"')
    press(page, "Pay 10.50 USDC")
    page.get_by_test_id("demo-wallet-reject").click()
    expect(panel.get_by_test_id("notice")).to_be_visible()
    press(page, "Pay 10.50 USDC")
    expect_prompt(
        panel,
        "confirming",
        """
      - heading "Sign with Demo Wallet" [level=2]
      - heading "What you sign" [level=3]
      - term: Amount
      - definition:
        - strong: 10.50 USDC
      - button "I don’t see the request in my wallet"
    """,
    )
    confirm(page)
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_focused(timeout=PAID_WITHIN_MS)
    expect_heard(
        page,
        "Connect Demo Wallet",
        "Review and pay",
        "Sign with Demo Wallet",
        "Review and pay. You declined the payment in your wallet. No money has moved.",
        "Sign with Demo Wallet",
        "Payment on its way",
        "Payment complete",
    )
