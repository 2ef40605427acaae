"""A malicious page can't frame the checkout and trick customers into clicks on it."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.support.embedding.shop import Shop, open_shop

Create = Callable[..., dict[str, Any]]
FRAME = '<!doctype html><title>Win a prize</title><iframe src="{url}"></iframe>'
REJECTED = "frame-ancestors"


def shown(page: Page, depth: int) -> bool:
    """Return whether the innermost frame shows a checkout."""
    frame = page.frame_locator("iframe")
    for _ in range(depth - 1):
        frame = frame.frame_locator("iframe")
    return frame.locator("#amount").count() == 1


def test_unregistered_site_can_not_frame_a_checkout(page: Page, shop: Shop, create: Create) -> None:
    request = create()
    page.goto(shop.put("/", FRAME.format(url=request["payment_url"])))
    assert shown(page, 1)
    with open_shop() as stranger:
        with page.expect_console_message(lambda message: REJECTED in message.text):
            page.goto(stranger.put("/", FRAME.format(url=request["payment_url"])))
        assert not shown(page, 1)


def test_site_around_a_registered_shop_shows_no_checkout(page: Page, shop: Shop, create: Create) -> None:
    request = create()
    inner = shop.put("/", FRAME.format(url=request["payment_url"]))
    with open_shop() as stranger:
        with page.expect_console_message(lambda message: REJECTED in message.text):
            page.goto(stranger.put("/", FRAME.format(url=inner)))
        assert page.frame_locator("iframe").locator("iframe").count() == 1
        assert not shown(page, 2)


def test_sandboxed_document_can_not_frame_a_checkout(page: Page, shop: Shop, create: Create) -> None:
    request = create()
    sandboxed = f'<iframe sandbox="allow-scripts" srcdoc=\'<iframe src="{request["payment_url"]}"></iframe>\'></iframe>'
    with page.expect_console_message(lambda message: REJECTED in message.text):
        page.goto(shop.put("/", sandboxed))
    assert not shown(page, 2)


def test_service_frames_none_of_its_own_pages(page: Page, shop: Shop, service: str, create: Create) -> None:
    request = create()
    page.goto(request["payment_url"])
    expect(page.locator("#amount")).to_be_visible()
    with page.expect_console_message(
        lambda message: "frame-src" in message.text or "default-src" in message.text
    ):
        page.evaluate(
            "(url) => { const f = document.createElement('iframe'); f.src = url; document.body.append(f); }",
            service,
        )
