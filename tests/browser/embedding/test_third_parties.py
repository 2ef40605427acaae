"""A checkout asks nobody but its own service, and tells no other site of itself."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from chains.models import Chain
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from payments.submission.hashes import submit_hash
from tests.support.embedding.shop import Shop
from tests.support.embedding.wallets import announce

Create = Callable[..., dict[str, Any]]
PAID = {"amount_paid": 10_500_000}
STATES = {
    "active": {},
    "partly paid": {"amount_paid": 3_000_000},
    "completed": {"status": "completed", **PAID},
    "expired": {"status": "expired"},
    "cancelled": {"status": "cancelled", **PAID},
}


@pytest.fixture
def asked(page: Page) -> list[str]:
    """All that the browser asked for, but what it holds itself."""
    urls: list[str] = []
    page.context.on("request", lambda request: urls.append(request.url))
    return urls


@pytest.fixture
def tempting(merchant: Merchant, chain: Chain) -> None:
    """A merchant and a chain with addresses elsewhere, which the page could be led to fetch from."""
    Merchant.objects.filter(pk=merchant.pk).update(
        logo_url="https://logo.example/logo.png", support_url="https://support.example/"
    )
    Chain.objects.filter(pk=chain.pk).update(explorer_url="https://explorer.example")


def others(asked: list[str], service: str) -> set[str]:
    return {url for url in asked if urlsplit(url).scheme != "data" and not url.startswith(service + "/")}


@pytest.mark.parametrize("state", STATES)
def test_no_state_asks_anybody_else(
    page: Page, service: str, create: Create, asked: list[str], tempting: None, state: str
) -> None:
    request = create(redirect_url="https://shop.example/ok", cancel_url="https://shop.example/no")
    PaymentRequest.objects.filter(pk=request["id"]).update(**STATES[state])
    page.goto(request["payment_url"], wait_until="networkidle")
    expect(page.locator("#panel h2")).to_be_visible()
    # The page and its script at the least: a headless shell fetches no icon.
    assert len(asked) >= 2
    assert others(asked, service) == set()


@pytest.mark.parametrize("status", ["pending", "processing", "failed"])
def test_no_payments_state_does(
    page: Page, service: str, create: Create, asked: list[str], tempting: None, chain: Chain, status: str
) -> None:
    request = create()
    found = PaymentRequest.objects.get(pk=request["id"])
    submit_hash(found, chain=chain, transaction_hash="0x" + "12" * 32, actor="checkout")
    Payment.objects.filter(request=found).update(status=status)
    page.goto(request["payment_url"], wait_until="networkidle")
    expect(page.locator("#panel")).to_contain_text("12121212")
    assert others(asked, service) == set()


def test_no_wallet_makes_it(
    page: Page, service: str, create: Create, asked: list[str], tempting: None
) -> None:
    for number, icon in enumerate(
        [
            "https://icons.example/a.svg",
            "//icons.example/b.png",
            "http://icons.example/c.png",
            "blob:x",
            "javascript:0",
        ]
    ):
        announce(page, f"Wallet {number}", icon)
    page.goto(create()["payment_url"], wait_until="networkidle")
    expect(page.locator("#panel .wallet")).to_have_count(5)
    assert others(asked, service) == set()


def test_in_a_frame_it_asks_its_service_and_the_shop_itself(
    page: Page, shop: Shop, service: str, create: Create, asked: list[str], tempting: None
) -> None:
    page.goto(shop.sell(create()["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").click()
    expect(page.frame_locator("iframe").locator("#amount")).to_have_text("10.50")
    page.wait_for_load_state("networkidle")
    assert {url for url in others(asked, service) if not url.startswith(shop.origin + "/")} == set()


def test_other_sites_are_not_told_where_the_customer_comes_from(
    page: Page, shop: Shop, create: Create
) -> None:
    request = create(redirect_url=shop.put("/ok", "<h1>Thanks</h1>"))
    PaymentRequest.objects.filter(pk=request["id"]).update(status="completed", **PAID)
    page.goto(request["payment_url"])
    page.get_by_role("link", name="Return to").first.click()
    expect(page.get_by_role("heading", name="Thanks")).to_be_visible()
    assert shop.referrers["/ok"] is None


def test_nor_is_the_service_told_of_the_shops_page(page: Page, shop: Shop, create: Create) -> None:
    told: list[str | None] = []
    page.on(
        "request",
        lambda request: told.append(request.headers.get("referer")) if "/pay/" in request.url else None,
    )
    page.goto(shop.sell(create()["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").click()
    expect(page.frame_locator("iframe").locator("#amount")).to_have_text("10.50")
    assert told == [None]
