"""A purchase in the demo shop: checkout, demo wallet, real chain, signed webhook, paid order."""

import re
from typing import Any

import requests
from playwright.sync_api import Page, expect

from tests.browser.local_world.conftest import World
from tests.browser.windows import ON_BOTH
from tests.pictures import picture


@ON_BOTH
def test_shop_order_is_paid_with_the_demo_wallet(world: World, page: Page, troubles: list[str]) -> None:
    page.goto(world.shop)
    page.get_by_role("button", name="Pay with crypto: Night Ferry beans").click()

    page.wait_for_url("**/pay/**")
    panel = page.locator("#panel")
    expect(page.locator("#amount")).to_have_text("12.50")
    expect(panel.get_by_role("button", name="Demo Wallet")).to_be_visible()
    picture(page, "wallets")
    panel.get_by_role("button", name="Demo Wallet").click()
    picture(page, "connecting, behind the demo wallet")
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("button", name="Pay 12.50 USDC")).to_be_visible()
    picture(page, "review")
    panel.get_by_role("button", name="Pay 12.50 USDC").click()

    wallet = page.get_by_test_id("demo-wallet-window")
    expect(wallet.get_by_test_id("demo-wallet-amount")).to_contain_text("12.50")
    recipient = (page.locator("#recipient").text_content() or "").strip()
    expect(wallet.get_by_test_id("demo-wallet-recipient")).to_contain_text(recipient)
    picture(page, "confirming, behind the demo wallet")
    page.get_by_test_id("demo-wallet-confirm").click()

    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=180_000)
    page.wait_for_url(re.compile(re.escape(world.shop) + "/orders/"))
    order = page.get_by_test_id("order")
    expect(order).to_have_attribute("data-status", "paid", timeout=180_000)
    picture(page, "shop, paid")

    number = page.url.split("/orders/")[1].split("?")[0]
    assert "status=completed" in page.url
    assert requests.get(f"{world.shop}/orders/{number}/status", timeout=10).json()["status"] == "paid"
    request = _request_of(world, number)
    assert request["status"] == "completed"
    assert (
        request["amount_paid"]
        == request["amount"]
        == {"raw": "12500000", "formatted": "12.500000", "decimals": 6}
    )
    assert request["recipient_address"] == recipient
    (payment,) = request["payments"]
    assert (payment["status"], payment["bound_by"], payment["sponsored"]) == (
        "completed",
        "authorization",
        True,
    )
    assert not [trouble for trouble in troubles if "favicon" not in trouble], troubles


def _request_of(world: World, order: str) -> dict[str, Any]:
    """Return the order's payment request and its payments, with the shop's API key."""

    def get(path: str) -> Any:
        url, headers = f"{world.api}/api/payment-requests{path}", {"X-API-Key": world.key}
        response = requests.get(url, headers=headers, timeout=10)
        assert response.ok, response.text
        return response.json()

    (listed,) = get(f"?external_id={order}")["data"]
    return dict(get(f"/{listed['id']}"))
