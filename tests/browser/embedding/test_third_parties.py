"""A checkout calls only its own service, and its URL never reaches another site."""

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
def requested(page: Page) -> list[str]:
    urls: list[str] = []
    page.context.on("request", lambda request: urls.append(request.url))
    return urls


@pytest.fixture
def tempting(merchant: Merchant, chain: Chain) -> None:
    """A merchant and a chain with URLs on other hosts, which the page must not load."""
    Merchant.objects.filter(pk=merchant.pk).update(
        logo_url="https://logo.example/logo.png", support_url="https://support.example/"
    )
    Chain.objects.filter(pk=chain.pk).update(explorer_url="https://explorer.example")


def others(requested: list[str], service: str) -> set[str]:
    return {url for url in requested if urlsplit(url).scheme != "data" and not url.startswith(service + "/")}


@pytest.mark.usefixtures("tempting")
def test_no_state_loads_anything_from_another_host(
    page: Page, service: str, create: Create, requested: list[str], chain: Chain
) -> None:
    request = create(redirect_url="https://shop.example/ok", cancel_url="https://shop.example/no")
    found = PaymentRequest.objects.filter(pk=request["id"])
    for state in STATES.values():
        found.update(**state)
        page.goto(request["payment_url"], wait_until="networkidle")
        expect(page.locator("#panel h2")).to_be_visible()
    found.update(status="active", amount_paid=0)
    submit_hash(found.get(), chain=chain, transaction_hash="0x" + "12" * 32, actor="checkout")
    for status in ("pending", "processing", "failed"):
        Payment.objects.update(status=status)
        page.goto(request["payment_url"], wait_until="networkidle")
        expect(page.locator("#panel")).to_contain_text("12121212")
    # At least two requests a page: the page and its script.
    assert len(requested) >= 16
    assert others(requested, service) == set()


def test_wallet_icons_load_nothing_from_another_host(
    page: Page, service: str, create: Create, requested: list[str], tempting: None
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
    assert others(requested, service) == set()


def test_framed_checkout_calls_its_service_and_the_shop(
    page: Page, shop: Shop, service: str, create: Create, requested: list[str], tempting: None
) -> None:
    page.goto(shop.sell(create()["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").click()
    expect(page.frame_locator("iframe").locator("#amount")).to_have_text("10.50")
    page.wait_for_load_state("networkidle")
    assert {url for url in others(requested, service) if not url.startswith(shop.origin + "/")} == set()


def test_shop_gets_no_referrer_from_the_checkout(page: Page, shop: Shop, create: Create) -> None:
    request = create(redirect_url=shop.put("/ok", "<h1>Thanks</h1>"))
    PaymentRequest.objects.filter(pk=request["id"]).update(status="completed", **PAID)
    page.goto(request["payment_url"])
    page.get_by_role("link", name="Return to").first.click()
    expect(page.get_by_role("heading", name="Thanks")).to_be_visible()
    assert shop.referrers["/ok"] is None


def test_service_gets_no_referrer_from_the_shop(page: Page, shop: Shop, create: Create) -> None:
    referrers: list[str | None] = []
    page.on(
        "request",
        lambda request: referrers.append(request.headers.get("referer")) if "/pay/" in request.url else None,
    )
    page.goto(shop.sell(create()["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").click()
    expect(page.frame_locator("iframe").locator("#amount")).to_have_text("10.50")
    assert referrers == [None]
