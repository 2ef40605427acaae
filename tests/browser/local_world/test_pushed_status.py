"""The event stream alone, without polling, shows an open checkout the payment from another device."""

from typing import Any

import requests
from playwright.sync_api import Page, expect

from demo.services import anvil
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import build_transaction, chain_named, create_request


def test_payment_from_elsewhere_is_pushed_to_the_page(world: World, page: Page) -> None:
    request = create_request(world, chain_named(world, "Local Chain"), anvil.MERCHANT_ADDRESS)
    page.route(f"**/api/public/payment-requests/{request['id']}", lambda poll: poll.abort())
    page.goto(request["payment_url"])
    panel = page.locator("#panel")
    expect(panel.get_by_role("button", name="Demo Wallet")).to_be_visible()

    built = build_transaction(world, request, anvil.WALLET_ADDRESS)["transaction"]
    transaction = {"from": anvil.WALLET_ADDRESS, "to": built["to"], "data": built["data"]}
    transaction_hash = _call(world.chain, "eth_sendTransaction", transaction)
    path = f"{world.api}/api/public/payment-requests/{request['id']}/payments"
    body = {"chain_id": request["chain_id"], "transaction_hash": transaction_hash}
    assert requests.post(path, json=body, timeout=10).status_code == 201

    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=180_000)


def _call(node: str, method: str, *parameters: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    response = requests.post(node, json=body, timeout=10).json()
    assert "error" not in response, response
    return response["result"]
