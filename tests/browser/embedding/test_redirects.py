"""The page redirects only to the URL that the merchant stored."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from payments.models import PaymentRequest
from tests.support.embedding.shop import Shop

Create = Callable[..., dict[str, Any]]
NAMES = ("redirect_url", "cancel_url", "return_url", "next", "url", "back", "lang", "status")


def test_cancelled_page_redirects_to_the_stored_address(page: Page, shop: Shop, create: Create) -> None:
    request = create(cancel_url=shop.put("/basket", "<h1>Your basket</h1>"))
    query = urlencode(dict.fromkeys(NAMES, "https://evil.example/"))
    page.goto(f"{request['payment_url']}?{query}#https://evil.example/")
    expect(page.get_by_role("heading", name="Pay with your wallet")).to_be_visible()
    # The page redirects only if the request is cancelled while the page is open.
    PaymentRequest.objects.filter(pk=request["id"]).update(status="cancelled")
    expect(page.get_by_role("heading", name="Your basket")).to_be_visible(timeout=180_000)
    assert page.url.startswith(f"{shop.origin}/basket?")
