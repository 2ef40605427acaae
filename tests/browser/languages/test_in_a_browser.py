"""The page in other languages: right-to-left text, and the customer's own choice of language."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.browsing import resting_box
from tests.support.embedding.wallets import announce

Checkout = Callable[..., dict[str, Any]]
_ICON = "data:image/svg+xml,<svg/>"


@pytest.fixture
def opened(browser: Browser, live_server: LiveServer, checkout: Checkout) -> Any:
    """Return a function that opens a new request's page in a browser with this `locale`."""
    contexts = []

    def open_page(query: str = "", *, locale: str = "en", width: int = 390) -> Page:
        context = browser.new_context(locale=locale, viewport={"width": width, "height": 844})
        contexts.append(context)
        page = context.new_page()
        announce(page, "Other Wallet", _ICON)
        page.goto(f"{live_server.url}/pay/{checkout()['shortcode']}{query}")
        return page

    yield open_page
    for context in contexts:
        context.close()


def sideways(page: Page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def left(page: Page, selector: str) -> float:
    """Return the element's distance from the left edge."""
    return resting_box(page.locator(selector))["x"]


def test_arabic_page_is_mirrored_but_not_its_amounts(opened: Callable[..., Page]) -> None:
    page = opened(locale="ar-EG")
    root = page.locator("html")
    expect(root).to_have_attribute("dir", "rtl")
    expect(root).to_have_attribute("lang", "ar")
    expect(page.locator("#panel")).to_contain_text("اختر محفظة")
    assert left(page, "#amount") < left(page, ".price__symbol")
    address = page.locator("#recipient")
    assert address.evaluate("node => getComputedStyle(node).direction") == "ltr"
    assert left(page, ".merchant__logo") > left(page, ".merchant__name")
    assert sideways(page) <= 0
    expect(page.locator("#panel")).to_contain_text("USDC", use_inner_text=True)


def test_language_is_switched_by_hand_on_a_narrow_phone(opened: Callable[..., Page]) -> None:
    page = opened(locale="de-DE", width=320)
    expect(page.locator("#panel")).to_contain_text("Wählen Sie eine Wallet")
    page.locator(".languages summary").click()
    assert sideways(page) <= 0
    page.locator(".languages a[lang='ja']").click()
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    expect(page.locator("#panel")).to_contain_text("ウォレットで支払う")
    expect(page.locator("#expires")).to_contain_text("月")
    expect(page.locator("#countdown")).to_contain_text("残り")
