"""A partial refund: the customer signs for an address, the merchant sends, the service verifies."""

from typing import Any

import pytest
import requests
from playwright.sync_api import Page, expect
from solders.keypair import Keypair

from demo.services import anvil
from demo.solana.mint import MERCHANT
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import chain_of, connect_demo_wallet, create_request
from tests.browsing import DESKTOP, PHONE
from tests.pictures import picture
from tests.processes import eventually
from tests.support.accessibility.page_rules import assert_accessible

OPTED_IN = ["payment.succeeded", "payment.failed", "payment.expired", "refund.completed"]
PRICE = {"currency": "EUR", "amount": "25.00"}
RECIPIENTS = {"evm": anvil.MERCHANT_ADDRESS, "solana": str(MERCHANT.pubkey())}
CUSTOMERS = {
    "evm": "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
    "solana": str(Keypair.from_seed(b"where the customer gets it back.").pubkey()),
}


def call(world: World, path: str, method: str = "", **body: Any) -> dict[str, Any]:
    """Call the merchant's API. The default method is POST with a body, GET without one."""
    method = method or ("POST" if body else "GET")
    headers = {"X-API-Key": world.key}
    response = requests.request(method, f"{world.api}{path}", json=body or None, headers=headers, timeout=10)
    assert response.ok, response.text
    return dict(response.json())


@pytest.mark.parametrize(
    ("page", "family"),
    [(PHONE, "evm"), (DESKTOP, "solana")],
    ids=["evm on a phone", "solana on a desktop"],
    indirect=["page"],
)
def test_partial_refund_arrives_at_the_signed_address(
    world: World, page: Page, troubles: list[str], family: str
) -> None:
    chain = chain_of(world, family)
    if chain is None:
        pytest.skip("Surfnet has no build for this machine.")
    requests.delete(world.rates, timeout=30).raise_for_status()
    call(world, "/api/webhooks", "PUT", url=call(world, "/api/webhooks")["url"], enabled_events=OPTED_IN)
    request = create_request(world, chain, RECIPIENTS[family], amount=None, price=PRICE)
    panel = connect_demo_wallet(page, request)
    panel.get_by_role("button", name="Pay 2").click()
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=180_000)
    refund = call(world, f"/api/payment-requests/{request['id']}/refunds", amount="5.00")
    assert refund["status"] == "requires_address"

    sign_for_address(page, refund, CUSTOMERS[family])
    ready = call(world, f"/api/refunds/{refund['id']}")
    assert (ready["status"], ready["recipient_address"]) == ("ready", CUSTOMERS[family])

    page.goto(f"{ready['refund_url']}/by-hand")
    check(page, f"refund, by hand, {family}")
    page.goto(ready["refund_url"])
    expect(page.locator("#amount-label")).to_have_text("Amount to refund")
    # The merchant uses another wallet. The customer's has been connected since the payment.
    panel.get_by_role("button", name="Demo Merchant Wallet").click()
    expect(panel.get_by_role("heading", name="Review and refund")).to_be_visible()
    expect(panel.get_by_role("button", name="Pay with another token")).to_have_count(0)
    expect(page.locator("#countdown")).to_be_hidden()
    check(page, f"refund, review, {family}")
    panel.get_by_role("button", name="Refund 5.00 USDC").click()
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("heading", name="Refund complete")).to_be_visible(timeout=180_000)
    picture(page, f"refund, complete, {family}")

    done = call(world, f"/api/refunds/{refund['id']}")
    assert (done["status"], done["amount"]["formatted"]) == ("completed", "5.000000")
    paid = call(world, f"/api/payment-requests/{request['id']}")
    assert (paid["status"], paid["amount_refunded"]) == ("completed", done["amount"])
    events = call(world, "/api/events?type=refund.completed&limit=5")["data"]
    [event] = [event for event in events if event["data"]["object"]["id"] == refund["id"]]

    def arrived() -> bool:
        """Return whether the event was delivered to the shop."""
        deliveries = call(world, f"/api/webhooks/deliveries?event_id={event['id']}")["data"]
        return [each["status"] for each in deliveries] == ["delivered"]

    eventually(arrived, "the shop received the refund's webhook", 30)
    page.goto(refund["claim_url"])
    expect(page.locator("main.checkout")).to_contain_text("The refund has arrived")
    picture(page, f"claim, arrived, {family}")
    page.goto(f"{ready['refund_url']}/receipt")
    expect(page.get_by_role("heading", name="Refund receipt")).to_be_visible()
    check(page, f"refund, receipt, {family}")
    # The browser logs the 400 that rejects the wrong address.
    assert not [trouble for trouble in troubles if "favicon" not in trouble and "400" not in trouble], (
        troubles
    )


def sign_for_address(page: Page, refund: dict[str, Any], address: str) -> None:
    """As the customer, enter the address and sign for it with the wallet that paid."""
    kind = address[:2]
    page.goto(refund["claim_url"])
    check(page, f"claim, address, {kind}")
    expect(page.locator(".button--primary")).to_have_text(["Sign with Demo Wallet"])
    page.get_by_text("Another address, or sign in another way").click()
    field = page.get_by_label("that receives the refund")
    field.fill("0x12")
    page.get_by_role("button", name="Show the text to sign").click()
    expect(page.get_by_role("alert")).to_be_visible()
    check(page, f"claim, address rejected, {kind}")
    field.fill(address)
    # The next page shows the wallet's button after its script has found the wallet.
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Show the text to sign").click()
    expect(page.locator("#wallets")).to_be_visible()
    expect(page.locator(".button--primary")).to_have_text(["Sign with Demo Wallet"])
    check(page, f"claim, text to sign, {kind}")
    page.get_by_role("button", name="Sign with Demo Wallet").click()
    expect(page.get_by_test_id("demo-wallet-message")).to_contain_text(address, timeout=180_000)
    picture(page, f"claim, signing, {kind}")
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(page.locator("main.checkout")).to_contain_text("The refund goes to", timeout=180_000)


def check(page: Page, name: str) -> None:
    picture(page, name)
    window = page.viewport_size
    assert_accessible(page)
    if window:
        page.set_viewport_size(window)
