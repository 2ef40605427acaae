"""A part of a price in euros goes back: named and signed for by the customer, sent by the merchant, verified."""

from typing import Any

import pytest
import requests
from eth_account import Account
from playwright.sync_api import Page, expect
from solders.keypair import Keypair

from demo.services import anvil
from demo.solana.mint import MERCHANT
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import chain_of, connect_demo_wallet, create_request, read_request
from tests.browsing import DESKTOP, PHONE
from tests.processes import eventually

RECIPIENTS = {"evm": anvil.MERCHANT_ADDRESS, "solana": str(MERCHANT.pubkey())}
PRICE = {"currency": "EUR", "amount": "25.00"}


def call(world: World, method: str, path: str, **body: Any) -> dict[str, Any]:
    """Call the merchant's API."""
    headers = {"X-API-Key": world.key}
    answer = requests.request(
        method, f"{world.api}/api/{path}", json=body or None, headers=headers, timeout=30
    )
    assert answer.ok, answer.text
    return dict(answer.json())


def pay(page: Page, request: dict[str, Any]) -> None:
    """Pay a request, or the request that carries a refund, with the demo wallet."""
    panel = connect_demo_wallet(page, request)
    panel.get_by_role("button", name="Pay ", exact=False).first.click()
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=60_000)


@pytest.mark.parametrize(
    ("page", "family"),
    [(DESKTOP, "evm"), (PHONE, "evm"), (PHONE, "solana")],
    ids=["evm on a desktop", "evm on a phone", "solana on a phone"],
    indirect=["page"],
)
def test_a_part_of_a_price_goes_back_where_the_customer_says(
    world: World, page: Page, troubles: list[str], family: str
) -> None:
    chain = chain_of(world, family)
    if chain is None:
        pytest.skip("Surfnet has no build for this machine.")
    requests.delete(world.rates, timeout=30).raise_for_status()
    request = create_request(world, chain, RECIPIENTS[family], amount=None, price=PRICE)
    pay(page, request)

    # Not the demo wallet's own: it plays the merchant's, too, and what a wallet sends itself is no refund.
    customer = Account.create().address if family == "evm" else str(Keypair().pubkey())
    refund = call(world, "POST", f"payment-requests/{request['id']}/refunds", amount="10")
    assert refund["status"] == "requires_address"
    page.goto(refund["claim_url"])
    page.get_by_label("Address on").fill(customer)
    page.get_by_role("button", name="Show the text to sign").click()
    page.get_by_role("button", name="Sign with Demo Wallet").click()
    expect(page.get_by_test_id("demo-wallet-message")).to_contain_text(refund["id"])
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(page.get_by_text("still has to send it")).to_be_visible()

    refund = call(world, "GET", f"refunds/{refund['id']}")
    assert (refund["status"], refund["address_source"]) == ("ready", "customer")
    pay(page, {"payment_url": refund["refund_url"]})

    def is_completed() -> bool:
        return call(world, "GET", f"refunds/{refund['id']}")["status"] == "completed"

    eventually(is_completed, "the refund was verified", 60)
    assert read_request(world, request)["amount_refunded"]["formatted"] == "10.000000"
    events = call(world, "GET", "events?type=refund.completed&limit=100")["data"]
    assert refund["id"] in {event["data"]["object"]["id"] for event in events}
    page.goto(refund["claim_url"])
    expect(page.get_by_text("The refund has arrived")).to_be_visible()
    assert not troubles, troubles
