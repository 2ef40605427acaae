"""The screens on the way to a payment read well to everybody, and their buttons are reached by keyboard."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from demo.services import anvil
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import chain_named, choose_route, create_request, turn_switches
from tests.browsing import DESKTOP
from tests.support.accessibility.keyboard import is_focus_seen, press
from tests.support.accessibility.page_rules import assert_accessible

HERE, THERE = "Local Chain", "Harbour Chain"
PAID_WITHIN_MS = 60_000


@pytest.fixture
def request_there(world: World) -> Iterator[dict[str, Any]]:
    """10.50 USDC, asked for on the second chain, while the aggregator does what it should."""
    turn_switches(world)
    yield create_request(world, chain_named(world, THERE), anvil.MERCHANT_ADDRESS)
    turn_switches(world)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


def _expect_screen(page: Page, name: str) -> None:
    """Wait for the screen: the keyboard is at its beginning, and all of it reads well."""
    expect(page.locator("#panel")).to_have_attribute("data-screen", name, timeout=PAID_WITHIN_MS)
    page.wait_for_function("document.activeElement?.id === 'panel-heading'")
    assert is_focus_seen(page), f"the heading of {name} is out of view"
    assert_accessible(page)


def _expect_question(page: Page, name: str) -> None:
    """Wait for the screen that stands behind the wallet's window; all of it but that window reads well."""
    expect(page.locator("#panel")).to_have_attribute("data-screen", name, timeout=PAID_WITHIN_MS)
    window = page.get_by_test_id("demo-wallet-window")
    expect(window).to_be_visible()
    wallet = page.locator("#demo-wallet")
    wallet.evaluate("element => void (element.hidden = true)")
    expect(window).to_be_hidden()
    assert_accessible(page)
    wallet.evaluate("element => void (element.hidden = false)")


def _answer(page: Page) -> None:
    """Agree in the wallet's window, by keyboard as well."""
    press(page, page.get_by_test_id("demo-wallet-confirm").inner_text())


def test_a_swap_is_paid_by_keyboard_alone(page: Page, request_there: dict[str, Any]) -> None:
    page.goto(request_there["payment_url"])
    panel = page.locator("#panel")
    expect(panel.get_by_role("button", name="Demo Wallet")).to_be_visible()
    assert_accessible(page)
    press(page, "Demo Wallet")
    _answer(page)
    _expect_screen(page, "review")
    press(page, "Pay with another token")
    expect(panel.get_by_label("Find a token or network")).to_be_visible()
    _expect_screen(page, "tokens")
    press(page, "DAI", f"on {HERE}")
    _expect_screen(page, "review")
    press(page, "Compare two ways to pay")
    _expect_screen(page, "routes")
    press(page, "Fastest")
    _expect_screen(page, "review")
    press(page, "Pay 1")
    _expect_question(page, "approving")
    _answer(page)
    _expect_question(page, "confirming")
    _answer(page)
    complete = panel.get_by_role("heading", name="Payment complete")
    expect(complete).to_be_focused(timeout=PAID_WITHIN_MS)
    assert_accessible(page)


def test_a_failed_swap_and_a_payment_under_way_read_well(
    world: World, page: Page, request_there: dict[str, Any]
) -> None:
    turn_switches(world, delivery="refund")
    page.goto(request_there["payment_url"])
    panel = page.locator("#panel")
    panel.get_by_role("button", name="Demo Wallet").click()
    _answer(page)
    panel.get_by_role("button", name="Pay with another token").click()
    panel.locator(".token", has_text="ETH").filter(has_text=HERE).first.click()
    choose_route(panel)
    press(page, "Pay ")
    _answer(page)
    expect(panel).to_have_attribute("data-screen", "processing", timeout=PAID_WITHIN_MS)
    assert_accessible(page)
    expect(panel.get_by_role("heading", name="did not go through")).to_be_visible(timeout=PAID_WITHIN_MS)
    assert_accessible(page)


def test_a_blocked_way_reads_well(page: Page, request_there: dict[str, Any]) -> None:
    page.goto(request_there["payment_url"])
    page.route("**/routes", lambda route: route.abort())
    page.locator("#panel").get_by_role("button", name="Demo Wallet").click()
    _answer(page)
    _expect_screen(page, "blocked")


def test_from_right_to_left_it_reads_as_well(page: Page, request_there: dict[str, Any]) -> None:
    page.goto(request_there["payment_url"] + "?lang=ar")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    panel = page.locator("#panel")
    panel.get_by_role("button", name="Demo Wallet").click()
    _answer(page)
    _expect_screen(page, "review")
