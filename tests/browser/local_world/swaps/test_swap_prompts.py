"""The wallet's prompts, in order, when the customer pays with another token."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from playwright.sync_api import Page, expect

from demo.aggregator import contracts
from demo.services import anvil
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import (
    chain_named,
    choose_route,
    choose_token,
    connect_demo_wallet,
    create_request,
    read_request,
    turn_switches,
)
from tests.pictures import picture
from tests.processes import eventually


@pytest.fixture
def request_there(world: World) -> dict[str, Any]:
    """A request of 10.50 USDC on the second chain."""
    turn_switches(world)
    return create_request(world, chain_named(world, "Harbour Chain"), anvil.MERCHANT_ADDRESS)


def test_old_permission_is_revoked_before_a_new_one(
    world: World, page: Page, request_there: dict[str, Any]
) -> None:
    _allow_a_little(world)
    panel = connect_demo_wallet(page, request_there)
    choose_token(panel, "USDT", "Local Chain")
    choose_route(panel)
    panel.get_by_role("button", name=re.compile("^Pay [0-9]")).click()

    steps = panel.get_by_role("listitem")
    expect(steps).to_have_count(3, timeout=180_000)
    for number, name in enumerate(("Revoke the old permission", "Allow exactly 10.", "Pay 10.")):
        expect(steps.nth(number)).to_contain_text(name)
        expect(steps.nth(number)).to_have_attribute("aria-current", "step", timeout=180_000)
        picture(page, f"three questions, the {number + 1}. of them")
        page.get_by_test_id("demo-wallet-confirm").click()

    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=180_000)
    assert read_request(world, request_there)["status"] == "completed"


@pytest.fixture
def upgraded(world: World) -> Iterator[None]:
    """Remove the demo wallet's delegation to its contract after the test."""
    yield
    _call_chain(world, "anvil_setCode", anvil.WALLET_ADDRESS, "0x")


@pytest.mark.usefixtures("upgraded")
def test_wallet_with_batches_shows_one_prompt_for_both(
    world: World, page: Page, request_there: dict[str, Any]
) -> None:
    """The transaction that pays also turns the demo wallet's account into a smart account (EIP-7702)."""
    _allow_a_little(world)
    panel = connect_demo_wallet(page, request_there, has_batches=True)
    choose_token(panel, "USDT", "Local Chain")
    choose_route(panel)
    expect(panel).to_contain_text("Demo Wallet asks once")
    panel.get_by_role("button", name=re.compile("^Pay [0-9]")).click()

    wallet = page.get_by_test_id("demo-wallet-window")
    expect(wallet).to_have_attribute("data-kind", "batch")
    expect(wallet.get_by_test_id("demo-wallet-call")).to_have_count(3)
    expect(wallet.get_by_role("heading")).to_have_text("3 steps, all or none")
    picture(page, "permission and payment in one prompt")
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=180_000)
    paid = read_request(world, request_there)
    assert paid["status"] == "completed"
    [payment] = paid["payments"]
    assert (payment["type"], payment["bound_by"]) == ("swap", "provider")
    sent = _call_chain(world, "eth_getTransactionByHash", payment["transaction_hash"])
    assert (sent["type"], sent["from"]) == ("0x4", sent["to"])
    assert _call_chain(world, "eth_getCode", anvil.WALLET_ADDRESS, "latest") != "0x"


def _allow_a_little(world: World) -> None:
    """Give the router a small USDT allowance, as an abandoned payment leaves one. The node signs for the wallet."""
    spender = contracts.ROUTER.removeprefix("0x").lower().rjust(64, "0")
    approval = {"from": anvil.WALLET_ADDRESS, "to": contracts.USDT}
    for amount in (0, 1):
        approval["data"] = f"0x095ea7b3{spender}{amount:064x}"
        sent = _call_chain(world, "eth_sendTransaction", approval)
    # Wait for the block. Before it, the page would see the old allowance, but the node would simulate with
    # the new one.
    eventually(lambda: _call_chain(world, "eth_getTransactionReceipt", sent) is not None, "it was mined")


def _call_chain(world: World, method: str, *params: Any) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    response = requests.post(world.chain, json=call, timeout=60).json()
    assert "result" in response, response
    return response["result"]
