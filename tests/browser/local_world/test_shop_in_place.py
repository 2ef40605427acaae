"""A customer pays inside the demo shop's page, and the webhook marks the order as paid."""

import re

import requests
from playwright.sync_api import FrameLocator, Page, expect

from tests.browser.local_world.conftest import World
from tests.browser.windows import ON_PHONE

BUTTON = "Pay without leaving the shop: Filter papers, size 02"


def _opened(world: World, page: Page) -> FrameLocator:
    """Order filter papers in the demo shop; return the checkout that opens over the page."""
    page.goto(world.shop)
    page.get_by_role("button", name=BUTTON).click()
    page.wait_for_url(re.compile(re.escape(world.shop) + "/orders/HC-[0-9A-Z]+$"))
    checkout = page.frame_locator("iframe")
    expect(checkout.locator("#amount")).to_have_text("4.20")
    return checkout


@ON_PHONE
def test_order_is_paid_without_leaving_the_shop(world: World, page: Page, troubles: list[str]) -> None:
    checkout = _opened(world, page)
    address = page.url
    checkout.get_by_role("button", name="Demo Wallet").click()
    checkout.get_by_test_id("demo-wallet-confirm").click()
    checkout.locator("#panel").get_by_role("button", name="Pay 4.20 USDC").click()
    expect(checkout.get_by_test_id("demo-wallet-amount")).to_contain_text("4.20")
    checkout.get_by_test_id("demo-wallet-confirm").click()

    expect(checkout.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=180_000)
    order = page.get_by_test_id("order")
    expect(order).to_have_attribute("data-status", "paid", timeout=180_000)
    expect(page.get_by_test_id("settled-by")).to_contain_text("evt_")
    assert page.url == address
    # Browsers warn if the demo wallet's window takes the focus inside a frame.
    assert not [trouble for trouble in troubles if not re.search("favicon|autofocus", trouble)], troubles


def test_forged_message_marks_no_order_as_paid(world: World, page: Page) -> None:
    _opened(world, page)
    forged = {"type": "status", "payment_request_id": "x", "status": "completed", "is_busy": False}
    inside = next(frame for frame in page.frames if "/pay/" in frame.url)
    with page.expect_response("**/status"):  # after the message, the shop's page polls its server
        inside.evaluate(
            "([news, shop]) => parent.postMessage({ quittance: 1, ...news }, shop)", [forged, world.shop]
        )
    expect(page.get_by_test_id("order")).to_have_attribute("data-status", "awaiting")
    order = requests.get(f"{page.url}/status", timeout=10).json()
    assert order["status"] == "awaiting"


@ON_PHONE
def test_closed_dialog_leaves_a_link_to_the_payment(world: World, page: Page) -> None:
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
