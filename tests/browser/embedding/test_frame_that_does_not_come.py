"""If the frame can't load the checkout, the customer reaches the checkout's own page with at most one click."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.support.embedding.shop import Shop

Create = Callable[..., dict[str, Any]]
LINK = "Open the payment’s own page"
NOT_HERE = "The payment cannot be shown inside this page."


def only_framed(page: Page, respond: Callable[[Route], None]) -> None:
    """Intercept the checkout's requests from frames with `respond`. Requests of its own page go through."""
    page.route(
        "**/pay/*",
        lambda route: respond(route) if route.request.frame.parent_frame else route.continue_(),
    )


def press(page: Page, shop: Shop, url: str) -> None:
    page.goto(shop.sell(url))
    page.get_by_role("link", name="Pay with crypto").click()


@pytest.mark.parametrize(
    "respond",
    [
        lambda route: route.abort(),
        lambda route: route.fulfill(status=502, body="Bad gateway"),
        lambda route: route.fulfill(status=200, body="<h1>Sign in to the hotel's network</h1>"),
    ],
    ids=["no connection", "bad gateway", "another page"],
)
def test_dialog_leads_to_the_checkouts_own_page(
    page: Page, shop: Shop, create: Create, respond: Callable[[Route], None]
) -> None:
    only_framed(page, respond)
    url = create()["payment_url"]
    press(page, shop, url)
    page.wait_for_url(url)
    expect(page.locator("#amount")).to_have_text("10.50")


def test_shop_policy_without_the_frame_follows_the_link(page: Page, shop: Shop, create: Create) -> None:
    url = create()["payment_url"]
    html, policy = shop.pages["/rye"] if shop.sell(url) else ("", "")
    page.goto(shop.put("/rye", html, re.sub("frame-src [^;]+", "frame-src 'none'", policy)))
    page.get_by_role("link", name="Pay with crypto").click()
    page.wait_for_url(url)


def test_going_back_from_the_own_page_returns_to_the_shop(page: Page, shop: Shop, create: Create) -> None:
    only_framed(page, lambda route: route.abort())
    url = create()["payment_url"]
    press(page, shop, url)
    page.wait_for_url(url)
    page.go_back()
    expect(page.get_by_role("link", name="Pay with crypto")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_offline_dialog_offers_a_link_and_stays_in_the_shop(page: Page, shop: Shop, create: Create) -> None:
    page.goto(shop.sell(create()["payment_url"]))
    page.context.set_offline(True)
    page.get_by_role("link", name="Pay with crypto").click()
    dialog = page.get_by_role("dialog", name="Payment")
    expect(dialog.get_by_role("status")).to_have_text(NOT_HERE)
    expect(dialog.get_by_role("link", name=LINK)).to_be_visible()
    page.get_by_role("button", name="Close the payment").click()
    expect(page.get_by_role("link", name="Pay with crypto")).to_be_focused()
    assert page.url.startswith(shop.origin)


def test_slow_checkout_offers_a_link_to_its_page(page: Page, shop: Shop, create: Create) -> None:
    page.clock.install()
    only_framed(page, lambda _route: None)
    url = create()["payment_url"]
    press(page, shop, url)
    dialog = page.get_by_role("dialog", name="Payment")
    expect(dialog.get_by_role("status")).to_have_text("Opening the payment…")
    expect(dialog.get_by_role("link")).to_have_count(0)
    page.clock.run_for(6_000)
    dialog.get_by_role("link", name=LINK).click()
    page.wait_for_url(url)


def test_broken_embedded_checkout_becomes_a_link(page: Page, shop: Shop, create: Create) -> None:
    only_framed(page, lambda route: route.fulfill(status=502, body="Bad gateway"))
    url = create()["payment_url"]
    page.goto(shop.sell(url))
    page.evaluate("Quittance.mount('#here', options)")
    expect(page.get_by_text(NOT_HERE)).to_be_visible()
    expect(page.locator("iframe")).to_have_count(0)
    page.get_by_role("link", name=LINK).click()
    page.wait_for_url(url)
