"""What stands between a customer and a wrong payment by another token: the page's own checks, and what it says."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from demo.services import anvil
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import (
    COMPARE,
    chain_named,
    choose_route,
    choose_token,
    connect_demo_wallet,
    create_request,
    read_request,
    token_row,
    turn_switches,
)
from tests.browser.windows import ON_DESKTOP, ON_PHONE
from tests.pictures import picture

HERE, THERE = "Local Chain", "Harbour Chain"
STRANGER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"

Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def request_there(world: World) -> dict[str, Any]:
    """10.50 USDC, asked for on the second chain."""
    turn_switches(world)
    return create_request(world, chain_named(world, THERE), anvil.MERCHANT_ADDRESS)


def _change_answers(page: Page, path: str, change: Change) -> None:
    """Change what the server answers there before the page sees it."""

    def handle(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        change(body)
        route.fulfill(response=answer, json=body)

    page.route(f"**{path}", handle)


def _pay(panel: Locator) -> None:
    panel.get_by_role("button", name=re.compile("^Pay [0-9]")).click()


def _expect_refused(page: Page, panel: Locator) -> None:
    expect(panel.get_by_test_id("notice")).to_contain_text("doesn’t match what you reviewed")
    expect(page.get_by_test_id("demo-wallet-window")).to_have_count(0)


def _other_contract(built: dict[str, Any]) -> None:
    built["transaction"]["to"] = STRANGER


def _other_chain(built: dict[str, Any]) -> None:
    built["transaction"]["chainId"] = "0x1"


def _other_payer(built: dict[str, Any]) -> None:
    built["transaction"]["from"] = STRANGER


def _more_coins(built: dict[str, Any]) -> None:
    built["transaction"]["value"] = hex(int(built["transaction"]["value"], 16) * 2)


@ON_DESKTOP
@pytest.mark.parametrize("change", [_other_contract, _other_chain, _other_payer, _more_coins])
def test_a_transaction_other_than_the_reviewed_one_never_reaches_the_wallet(
    world: World, page: Page, request_there: dict[str, Any], change: Change
) -> None:
    _change_answers(page, "/build-transaction", change)
    panel = connect_demo_wallet(page, request_there)
    choose_token(panel, "ETH", HERE)
    choose_route(panel)
    _pay(panel)
    _expect_refused(page, panel)
    assert read_request(world, request_there)["payments"] == []


def _other_spender(approval: dict[str, Any]) -> None:
    data = approval["transactions"][0]["data"]
    approval["spender"] = STRANGER
    approval["transactions"][0]["data"] = data[:34] + STRANGER[2:].lower() + data[74:]


def _unlimited(approval: dict[str, Any]) -> None:
    approval["transactions"][0]["data"] = approval["transactions"][0]["data"][:74] + "f" * 64


@ON_DESKTOP
@pytest.mark.parametrize("change", [_other_spender, _unlimited])
def test_no_permission_but_the_shown_one_is_asked_for(
    page: Page, request_there: dict[str, Any], change: Change
) -> None:
    _change_answers(page, "/check-approval", change)
    panel = connect_demo_wallet(page, request_there)
    choose_token(panel, "DAI", HERE)
    choose_route(panel)
    _pay(panel)
    _expect_refused(page, panel)


@ON_DESKTOP
def test_an_offer_that_no_longer_holds_is_shown_anew_before_anything_is_signed(
    page: Page, request_there: dict[str, Any]
) -> None:
    error = {
        "type": "conflict_error",
        "code": "route_expired",
        "message": "The price has moved.",
        "param": None,
    }
    page.route(
        "**/build-transaction", lambda route: route.fulfill(status=409, json={"error": error}), times=1
    )
    panel = connect_demo_wallet(page, request_there)
    choose_token(panel, "ETH", HERE)
    choose_route(panel)
    _pay(panel)
    expect(panel.get_by_test_id("notice")).to_contain_text(
        "The last offer has expired. This is a new one: please review it."
    )
    picture(page, "review, price changed")
    expect(page.get_by_test_id("demo-wallet-window")).to_have_count(0)
    _pay(panel)
    expect(page.get_by_test_id("demo-wallet-window")).to_be_visible()


@ON_DESKTOP
def test_who_is_too_fast_is_told_so_in_words_for_people(page: Page, request_there: dict[str, Any]) -> None:
    error = {"code": "rate_limited", "message": "Too many calls. Try again in 30 s."}
    refused = {"status": 429, "headers": {"Retry-After": "30"}, "json": {"error": error}}
    page.route("**/build-transaction", lambda route: route.fulfill(**refused), times=1)
    panel = connect_demo_wallet(page, request_there)
    choose_token(panel, "ETH", HERE)
    choose_route(panel)
    _pay(panel)
    expect(panel.get_by_test_id("notice")).to_have_text(
        "Too many attempts. Please wait a moment. You can try again in 30 s."
    )
    picture(page, "blocked, asked too often")
    panel.get_by_role("button", name="Try again").click()
    expect(panel.get_by_role("button", name=COMPARE)).to_be_visible()


@ON_PHONE
def test_nobody_is_led_to_pay_again_after_a_delivery_to_somebody_else(
    world: World, page: Page, request_there: dict[str, Any]
) -> None:
    def misdeliver(route: Route) -> None:
        headers = {name: value for name, value in route.request.headers.items() if name != "if-none-match"}
        answer = route.fetch(headers=headers)
        body = answer.json()
        for payment in body["payments"]:
            if payment["status"] == "failed":
                payment.update(failure_code="wrong_recipient", destination_transaction_hash="0x" + "7" * 64)
        route.fulfill(response=answer, json=body)

    page.route(f"**/api/public/payment-requests/{request_there['id']}", misdeliver)
    turn_switches(world, delivery="refund")
    panel = connect_demo_wallet(page, request_there)
    choose_token(panel, "ETH", HERE)
    choose_route(panel)
    _pay(panel)
    page.get_by_test_id("demo-wallet-confirm").click()

    again = panel.get_by_role("button", name="Show ways to pay")
    expect(again).to_be_visible(timeout=60_000)
    expect(panel).to_contain_text("If money left your wallet, contact the merchant")
    picture(page, "failed, delivered to somebody else")
    expect(again).not_to_have_class(re.compile("button--primary"))
    turn_switches(world)


@ON_DESKTOP
def test_a_token_is_asked_about_once_while_its_routes_last(
    world: World, page: Page, request_there: dict[str, Any]
) -> None:
    asked: list[dict[str, Any]] = []
    page.on(
        "request",
        lambda sent: asked.append(json.loads(sent.post_data or "")) if sent.url.endswith("/routes") else None,
    )
    page.goto(request_there["payment_url"])
    expect(page.get_by_role("button", name="Demo Wallet")).to_be_visible()
    assert asked == []
    panel = connect_demo_wallet(page, request_there)
    for _ in range(2):
        panel.get_by_role("button", name=re.compile("another token$")).click()
        token_row(panel, "DAI", HERE).click()
        expect(panel.get_by_role("button", name=COMPARE)).to_be_visible()
    direct, swapped = (chain_named(world, name)["id"] for name in (THERE, HERE))
    assert [body["chain_id"] for body in asked] == [direct, swapped]


@ON_PHONE
def test_what_is_not_enough_says_so_and_can_not_be_chosen(world: World, page: Page) -> None:
    turn_switches(world)
    request = create_request(world, chain_named(world, THERE), anvil.MERCHANT_ADDRESS, amount="26000")
    panel = connect_demo_wallet(page, request)

    requested = panel.locator(".token").first
    expect(requested).to_contain_text("No conversion")
    expect(requested).to_contain_text("26,000.00 needed")
    picture(page, "tokens, not enough")
    expect(token_row(panel, "DAI", HERE)).to_contain_text("Not enough")
    expect(panel.get_by_role("button", name=re.compile("DAI"))).to_have_count(0)
    expect(panel.get_by_role("button", name=re.compile("ETH.*Local Chain"))).to_be_enabled()


@ON_PHONE
def test_many_tokens_can_be_searched_and_one_that_is_not_known_shows_its_address(
    page: Page, request_there: dict[str, Any]
) -> None:
    panel = connect_demo_wallet(page, request_there)
    panel.get_by_role("button", name="Pay with another token").click()
    euros = token_row(panel, "EURC", HERE)
    expect(euros).to_contain_text(re.compile("Check its address: 0x[0-9a-fA-F]{40}"))
    picture(page, "tokens, many")
    search = panel.get_by_label("Find a token or network")
    search.fill("harbour usd")
    expect(panel.locator(".token:visible")).to_have_count(2)
    picture(page, "tokens, searched")
    search.fill("nothing like it")
    expect(panel.get_by_text("No tokens match your search.")).to_be_visible()
    picture(page, "tokens, none found")


@ON_PHONE
def test_a_network_that_can_not_be_asked_is_named(
    world: World, page: Page, request_there: dict[str, Any]
) -> None:
    here = chain_named(world, HERE)["id"]

    def lose(answer: dict[str, Any]) -> None:
        for name in ("balances", "tokens"):
            if name in answer:
                answer[name] = [held for held in answer[name] if held["chain_id"] != here]
        answer["unavailable"] = [{"chain_id": here, "code": "node_unavailable"}]

    panel = connect_demo_wallet(page, request_there)
    expect(panel.get_by_role("button", name="Pay with another token")).to_be_visible()
    _change_answers(page, "/balances/essential", lose)
    _change_answers(page, "/discover-wallet-tokens", lose)
    panel.get_by_role("button", name="Pay with another token").click()
    expect(panel.get_by_text("Local Chain can’t be reached at the moment")).to_be_visible()
    picture(page, "tokens, a network that can't be reached")
    expect(token_row(panel, "USDC", THERE)).to_be_visible()
