"""What the wallet is asked for on the way to a payment by another token, one step after the other."""

import re
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
from tests.browser.windows import ON_DESKTOP
from tests.pictures import picture
from tests.processes import eventually


@pytest.fixture
def request_there(world: World) -> dict[str, Any]:
    """10.50 USDC, asked for on the second chain."""
    turn_switches(world)
    return create_request(world, chain_named(world, "Harbour Chain"), anvil.MERCHANT_ADDRESS)


@ON_DESKTOP
def test_an_old_permission_is_taken_back_before_a_new_one_is_given(
    world: World, page: Page, request_there: dict[str, Any]
) -> None:
    _allow_a_little(world)
    panel = connect_demo_wallet(page, request_there)
    choose_token(panel, "USDT", "Local Chain")
    choose_route(panel)
    panel.get_by_role("button", name=re.compile("^Pay [0-9]")).click()

    steps = panel.get_by_role("listitem")
    expect(steps).to_have_count(3, timeout=60_000)
    for number, name in enumerate(("Revoke the old permission", "Allow exactly 10.", "Pay 10.")):
        expect(steps.nth(number)).to_contain_text(name)
        expect(steps.nth(number)).to_have_attribute("aria-current", "step", timeout=60_000)
        picture(page, f"three questions, the {number + 1}. of them")
        page.get_by_test_id("demo-wallet-confirm").click()

    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=60_000)
    assert read_request(world, request_there)["status"] == "completed"


@ON_DESKTOP
def test_a_declined_change_of_network_leads_back_to_the_review(
    world: World, page: Page, request_there: dict[str, Any]
) -> None:
    panel = connect_demo_wallet(page, request_there)
    pay = panel.get_by_role("button", name="Pay 10.50 USDC")
    pay.click()
    expect(page.get_by_test_id("demo-wallet-window")).to_contain_text("Switch network?")
    page.get_by_test_id("demo-wallet-reject").click()

    expect(panel.get_by_test_id("notice")).to_have_text(
        "This payment needs your wallet to be on Harbour Chain."
    )
    expect(pay).to_be_visible()
    assert read_request(world, request_there)["payments"] == []


def _allow_a_little(world: World) -> None:
    """Leave the router a permission over USDT, as a payment that was given up does; its node signs for the wallet."""
    spender = contracts.ROUTER.removeprefix("0x").lower().rjust(64, "0")
    approval = {"from": anvil.WALLET_ADDRESS, "to": contracts.USDT}
    for amount in (0, 1):
        approval["data"] = f"0x095ea7b3{spender}{amount:064x}"
        sent = _ask_chain(world, "eth_sendTransaction", approval)
    # Until it is mined the page sees the permission of before, and the node simulates the next one after it.
    eventually(lambda: _ask_chain(world, "eth_getTransactionReceipt", sent) is not None, "it was mined")


def _ask_chain(world: World, method: str, *params: Any) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = requests.post(world.chain, json=call, timeout=60).json()
    assert "result" in answer, answer
    return answer["result"]
