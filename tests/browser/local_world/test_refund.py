"""Part of what was paid goes back: the customer names an address, the merchant signs, the service verifies."""

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

OPTED_IN = ["payment.succeeded", "payment.failed", "payment.expired", "refund.completed"]
PRICE = {"currency": "EUR", "amount": "25.00"}
RECIPIENTS = {"evm": anvil.MERCHANT_ADDRESS, "solana": str(MERCHANT.pubkey())}
CUSTOMERS = {
    "evm": "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
    "solana": str(Keypair.from_seed(b"where the customer gets it back.").pubkey()),
}


def ask(world: World, path: str, method: str = "", **body: Any) -> dict[str, Any]:
    """Call the merchant's API: POST with a body, else GET, unless a method is given."""
    method = method or ("POST" if body else "GET")
    headers = {"X-API-Key": world.key}
    answer = requests.request(method, f"{world.api}{path}", json=body or None, headers=headers, timeout=10)
    assert answer.ok, answer.text
    return dict(answer.json())


@pytest.mark.parametrize(
    ("page", "family"),
    [(DESKTOP, "evm"), (PHONE, "evm"), (DESKTOP, "solana"), (PHONE, "solana")],
    ids=["evm on a desktop", "evm on a phone", "solana on a desktop", "solana on a phone"],
    indirect=["page"],
)
def test_part_of_a_price_in_euros_goes_back_to_the_address_that_the_customer_signed_for(
    world: World, page: Page, troubles: list[str], family: str
) -> None:
    chain = chain_of(world, family)
    if chain is None:
        pytest.skip("Surfnet has no build for this machine.")
    requests.delete(world.rates, timeout=30).raise_for_status()
    ask(world, "/api/webhooks", "PUT", url=ask(world, "/api/webhooks")["url"], enabled_events=OPTED_IN)
    request = create_request(world, chain, RECIPIENTS[family], amount=None, price=PRICE)
    panel = connect_demo_wallet(page, request)
    panel.get_by_role("button", name="Pay 2").click()
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=60_000)
    refund = ask(world, f"/api/payment-requests/{request['id']}/refunds", amount="5.00")
    assert refund["status"] == "requires_address"

    name_the_address(page, refund, CUSTOMERS[family])
    ready = ask(world, f"/api/refunds/{refund['id']}")
    assert (ready["status"], ready["recipient_address"]) == ("ready", CUSTOMERS[family])

    page.goto(ready["refund_url"])
    expect(page.locator("#amount-label")).to_have_text("Amount to refund")
    panel.get_by_role("button", name="Demo Wallet").click()  # which is connected since the payment
    expect(panel.get_by_role("heading", name="Review and refund")).to_be_visible()
    expect(panel.get_by_role("button", name="Pay with another token")).to_have_count(0)
    expect(page.locator("#countdown")).to_be_hidden()
    picture(page, f"refund, review, {family}")
    panel.get_by_role("button", name="Refund 5.00 USDC").click()
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("heading", name="Refund complete")).to_be_visible(timeout=60_000)
    picture(page, f"refund, complete, {family}")

    done = ask(world, f"/api/refunds/{refund['id']}")
    assert (done["status"], done["amount"]["formatted"]) == ("completed", "5.000000")
    paid = ask(world, f"/api/payment-requests/{request['id']}")
    assert (paid["status"], paid["amount_refunded"]) == ("completed", done["amount"])
    events = ask(world, "/api/events?type=refund.completed&limit=5")["data"]
    [event] = [event for event in events if event["data"]["object"]["id"] == refund["id"]]

    def arrived() -> bool:
        """Whether the shop has taken the event."""
        deliveries = ask(world, f"/api/webhooks/deliveries?event_id={event['id']}")["data"]
        return [each["status"] for each in deliveries] == ["delivered"]

    eventually(arrived, "the shop received the refund's webhook", 30)
    page.goto(refund["claim_url"])
    expect(page.locator("main.checkout")).to_contain_text("The refund has arrived")
    picture(page, f"claim, arrived, {family}")
    assert not [trouble for trouble in troubles if "favicon" not in trouble], troubles


def name_the_address(page: Page, refund: dict[str, Any], address: str) -> None:
    """Enter the address, as the customer does, and sign for it with the wallet that paid."""
    page.goto(refund["claim_url"])
    picture(page, f"claim, address, {address[:2]}")
    page.get_by_label("that receives the refund").fill(address)
    page.get_by_role("button", name="Show the text to sign").click()
    page.get_by_role("button", name="Sign with Demo Wallet").click()
    expect(page.get_by_test_id("demo-wallet-message")).to_contain_text(address, timeout=60_000)
    picture(page, f"claim, signing, {address[:2]}")
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(page.locator("main.checkout")).to_contain_text("The refund goes to", timeout=60_000)
