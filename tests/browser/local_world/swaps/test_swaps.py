"""A customer pays with a token that was not requested, on real chains, through the local routing provider."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from demo.services import anvil
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import (
    COMPARE,
    chain_named,
    chain_of,
    choose_route,
    choose_token,
    connect_demo_wallet,
    create_request,
    read_request,
    token_row,
    turn_switches,
)
from tests.browser.windows import ON_PHONE
from tests.pictures import picture

HERE, THERE = "Local Chain", "Harbour Chain"
PAID_WITHIN_MS = 60_000


@pytest.fixture
def request_there(world: World) -> Iterator[dict[str, Any]]:
    """A request of 10.50 USDC on the second chain. All switches of the aggregator are off."""
    turn_switches(world)
    yield create_request(world, chain_named(world, THERE), anvil.MERCHANT_ADDRESS)
    turn_switches(world)


def _wallet(page: Page) -> Locator:
    return page.get_by_test_id("demo-wallet-window")


def _confirm(page: Page) -> None:
    page.get_by_test_id("demo-wallet-confirm").click()


def _pay(panel: Locator) -> None:
    panel.get_by_role("button", name=re.compile("^Pay [0-9]")).click()


@ON_PHONE
def test_token_on_one_chain_pays_for_one_on_another(
    world: World, page: Page, request_there: dict[str, Any], troubles: list[str]
) -> None:
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url.rsplit("/", 1)[1]))
    panel = connect_demo_wallet(page, request_there)
    panel.get_by_role("button", name="Pay with another token").click()
    dai = token_row(panel, "DAI", HERE)
    expect(dai).to_be_visible()
    picture(page, "tokens")
    before = calls.count("routes")
    dai.click()
    panel.get_by_role("button", name=COMPARE).click()
    expect(panel.get_by_role("button", name="Cheapest")).to_contain_text("Local Bridge")
    picture(page, "routes")
    panel.get_by_role("button", name="Fastest").click()

    expect(panel).to_contain_text("at least 10.50 USDC")
    picture(page, "review, another token")
    panel.get_by_text("Fees and details").click()
    picture(page, "review, another token, its fees and details")
    spender = panel.locator(".fact", has_text="Contract that your wallet calls").locator("code").inner_text()
    assert calls.count("routes") == before + 1
    _pay(panel)

    steps = panel.get_by_role("listitem")
    expect(steps).to_have_count(2)
    expect(steps.nth(0)).to_contain_text("Allow exactly 10.")
    expect(_wallet(page)).to_contain_text("Allow spending")
    picture(page, "approving, behind the demo wallet")
    expect(page.get_by_test_id("demo-wallet-recipient")).to_have_text(spender)
    _confirm(page)
    expect(steps.nth(1)).to_have_attribute("aria-current", "step", timeout=180_000)
    expect(_wallet(page)).to_contain_text(spender)
    picture(page, "confirming another token, behind the demo wallet")
    _confirm(page)

    expect(panel).to_contain_text("On its way to Harbour Chain")
    picture(page, "on its way, to another chain")
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=PAID_WITHIN_MS)
    expect(panel).to_contain_text("Delivery on Harbour Chain")
    picture(page, "complete, from another chain")
    paid = read_request(world, request_there)
    assert paid["status"] == "completed"
    [payment] = paid["payments"]
    assert (payment["type"], payment["bound_by"]) == ("swap", "provider")
    assert payment["chain_id"] == chain_named(world, HERE)["id"]
    assert payment["destination_chain_id"] == request_there["chain_id"]
    assert not troubles, troubles


def test_refunded_swap_leads_to_paying_again(world: World, page: Page, request_there: dict[str, Any]) -> None:
    turn_switches(world, delivery="refund")
    panel = connect_demo_wallet(page, request_there)
    choose_token(panel, "ETH", HERE)
    choose_route(panel)
    _pay(panel)
    _confirm(page)

    expect(panel.get_by_role("heading", name="did not go through")).to_be_visible(timeout=PAID_WITHIN_MS)
    expect(panel.get_by_test_id("notice")).to_contain_text("has refunded it on Local Chain")
    picture(page, "failed, sent back")
    panel.get_by_role("button", name="Pay again").click()
    expect(panel.get_by_role("button", name="Demo Wallet")).to_be_visible()
    request = read_request(world, request_there)
    assert request["status"] == "active"
    assert [payment["failure_code"] for payment in request["payments"]] == ["swap_refunded"]


def test_direct_payment_works_without_the_provider(
    world: World, page: Page, request_there: dict[str, Any]
) -> None:
    turn_switches(world, quote="server_error")
    panel = connect_demo_wallet(page, request_there)
    choose_token(panel, "DAI", HERE)

    expect(panel.get_by_test_id("notice")).to_contain_text("Other tokens can’t be offered at the moment")
    expect(token_row(panel, "DAI", HERE)).to_contain_text("Unavailable")
    picture(page, "tokens, one without a way")
    token_row(panel, "USDC", THERE).click()
    _pay(panel)
    # The wallet is connected to the other chain, so it must switch first.
    expect(_wallet(page)).to_contain_text("Switch network?")
    picture(page, "switching, behind the demo wallet")
    _confirm(page)
    expect(page.get_by_test_id("demo-wallet-amount")).to_contain_text("10.50")
    _confirm(page)
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=PAID_WITHIN_MS)
    assert [payment["type"] for payment in read_request(world, request_there)["payments"]] == ["direct"]


def test_wallet_pays_across_the_chain_families(
    world: World, page: Page, request_there: dict[str, Any]
) -> None:
    if chain_of(world, "solana") is None:
        pytest.skip("no Surfnet package for this machine")
    panel = connect_demo_wallet(page, request_there)
    panel.get_by_role("button", name="Pay with another token").click()
    panel.get_by_role("button", name="Pay from Solana instead").click()
    _confirm(page)
    expect(token_row(panel, "SOL", "Local Solana")).to_be_visible()
    picture(page, "tokens, on Solana")
    token_row(panel, "SOL", "Local Solana").click()
    choose_route(panel)
    _pay(panel)
    expect(_wallet(page)).to_contain_text("Local Solana")
    picture(page, "confirming a swap from Solana, behind the demo wallet")
    _confirm(page)

    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=PAID_WITHIN_MS)
    [payment] = read_request(world, request_there)["payments"]
    assert payment["chain_id"] == chain_named(world, "Local Solana")["id"]
    assert payment["bound_by"] == "provider"
