"""A newcomer buys in the demo shop without leaving it: the checkout opens over the order; the webhook makes it paid."""

import re

import requests
from playwright.sync_api import FrameLocator, Page, expect

from tests.browser.local_world.conftest import World
from tests.browser.windows import ON_DESKTOP, ON_PHONE

BUTTON = "Pay without leaving the shop: Filter papers, size 02"


def _opened(world: World, page: Page) -> FrameLocator:
    """Order filter papers and have the checkout over the order's page; return the checkout."""
    page.goto(world.shop)
    page.get_by_role("button", name=BUTTON).click()
    page.wait_for_url(re.compile(re.escape(world.shop) + "/orders/HC-[0-9A-Z]+$"))
    checkout = page.frame_locator("iframe")
    expect(checkout.locator("#amount")).to_have_text("4.20")
    return checkout


def test_from_the_shop_to_the_paid_order_in_one_page(world: World, page: Page, troubles: list[str]) -> None:
    checkout = _opened(world, page)
    address = page.url
    checkout.get_by_role("button", name="Demo Wallet").click()
    checkout.get_by_test_id("demo-wallet-confirm").click()
    checkout.locator("#panel").get_by_role("button", name="Pay 4.20 USDC").click()
    expect(checkout.get_by_test_id("demo-wallet-amount")).to_contain_text("4.20")
    checkout.get_by_test_id("demo-wallet-confirm").click()

    expect(checkout.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=60_000)
    order = page.get_by_test_id("order")
    expect(order).to_have_attribute("data-status", "paid", timeout=30_000)
    expect(page.get_by_test_id("settled-by")).to_contain_text("evt_")
    assert page.url == address
    # The demo wallet's window asks for the keyboard, which browsers remark on in frames.
    assert not [trouble for trouble in troubles if not re.search("favicon|autofocus", trouble)], troubles


@ON_DESKTOP
def test_what_the_page_is_told_makes_no_order_paid(world: World, page: Page) -> None:
    _opened(world, page)
    forged = {"type": "status", "payment_request_id": "x", "status": "completed", "is_busy": False}
    inside = next(frame for frame in page.frames if "/pay/" in frame.url)
    with page.expect_response("**/status"):  # the shop's page looks at its server, as it was told something
        inside.evaluate(
            "([news, shop]) => parent.postMessage({ quittance: 1, ...news }, shop)", [forged, world.shop]
        )
    expect(page.get_by_test_id("order")).to_have_attribute("data-status", "awaiting")
    said = requests.get(f"{page.url}/status", timeout=10).json()
    assert said["status"] == "awaiting"


@ON_PHONE
def test_the_link_is_there_for_who_closed_the_dialog(world: World, page: Page) -> None:
    _opened(world, page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    link = page.get_by_role("link", name="Pay without leaving the shop")
    link.click()
    expect(page.frame_locator("iframe").locator("#amount")).to_have_text("4.20")
    page.keyboard.press("Escape")
    expect(link).to_be_focused()
    page.reload()
    expect(page.get_by_role("button", name="Go to payment")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
