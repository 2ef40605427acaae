"""Shared steps of the browser tests: create a request, and go through the page to the wallet."""

import re
from typing import Any

import requests
from playwright.sync_api import Locator, Page

from tests.browser.local_world.conftest import World

COMPARE = "Compare two ways to pay"
# Turn off batches: like most wallets, the demo wallet then shows one prompt per transaction.
WITHOUT_BATCHES = "localStorage.setItem('demo-wallet:batches', 'off')"


def chain_of(world: World, family: str) -> dict[str, Any] | None:
    """Return the world's first chain of this family, or None."""
    chains = requests.get(f"{world.api}/api/public/chains", timeout=10).json()
    return next((chain for chain in chains if chain["chain_type"] == family), None)


def create_request(
    world: World, chain: dict[str, Any], recipient: str, *, symbol: str = "USDC", **different: Any
) -> dict[str, Any]:
    tokens = requests.get(f"{world.api}/api/public/chains/{chain['id']}/tokens", timeout=10).json()
    token = next(token for token in tokens if token["symbol"] == symbol)
    body = {
        "amount": "10.50",
        "token_id": token["id"],
        "chain_id": chain["id"],
        "recipient_address": recipient,
    }
    response = requests.post(
        f"{world.api}/api/payment-requests",
        json={**body, **different},
        headers={"X-API-Key": world.key},
        timeout=10,
    )
    assert response.status_code == 201, response.text
    return dict(response.json())


def read_request(world: World, request: dict[str, Any]) -> dict[str, Any]:
    """Return the request's current state from the merchant's API."""
    url = f"{world.api}/api/payment-requests/{request['id']}"
    return dict(requests.get(url, headers={"X-API-Key": world.key}, timeout=10).json())


def connect_demo_wallet(page: Page, request: dict[str, Any], *, has_batches: bool = False) -> Locator:
    """Open the request's page and connect the demo wallet; return the panel with the review.

    `has_batches`: the wallet may combine the approval and the payment in one prompt.
    """
    if not has_batches:
        page.add_init_script(WITHOUT_BATCHES)
    page.goto(request["payment_url"])
    panel = page.locator("#panel")
    panel.get_by_role("button", name="Demo Wallet").click()
    page.get_by_test_id("demo-wallet-confirm").click()
    return panel


def chain_named(world: World, name: str) -> dict[str, Any]:
    chains = requests.get(f"{world.api}/api/public/chains", timeout=10).json()
    return dict(next(chain for chain in chains if chain["name"] == name))


def token_row(panel: Locator, symbol: str, chain: str) -> Locator:
    """Return the token's row in the list of what the wallet can pay with."""
    rows = panel.locator(".token")
    return rows.filter(has_text=re.compile(rf"{symbol}.*on {chain}", re.DOTALL)).filter(
        has=panel.page.get_by_text(symbol, exact=True)
    )


def choose_token(panel: Locator, symbol: str, chain: str) -> None:
    """Open the list of tokens from the direct payment's review, and choose one."""
    panel.get_by_role("button", name="Pay with another token").click()
    token_row(panel, symbol, chain).click()


def choose_route(panel: Locator, tag: str = "Fastest") -> None:
    """Compare the two routes and choose one; ends at its review."""
    panel.get_by_role("button", name=COMPARE).click()
    panel.get_by_role("button", name=tag).click()


def turn_switches(world: World, **positions: Any) -> None:
    """Set the aggregator's switches; without arguments, reset them all."""
    url = world.aggregator.removesuffix("/v1") + "/switches"
    requests.delete(url, timeout=10).raise_for_status()
    if positions:
        requests.post(url, json=positions, timeout=10).raise_for_status()


def build_transaction(world: World, request: dict[str, Any], wallet: str) -> dict[str, Any]:
    """Return the transaction that the service builds for this wallet."""
    public = f"{world.api}/api/public"
    query = {
        "wallet_address": wallet,
        "chain_id": request["chain_id"],
        "token_id": request["token"]["id"],
    }
    routes = requests.post(f"{public}/payment-requests/{request['id']}/routes", json=query, timeout=10).json()
    body = {"route_id": routes["routes"][0]["id"]}
    response = requests.post(f"{public}/build-transaction", json=body, timeout=10)
    assert response.status_code == 200, response.text
    return dict(response.json())
