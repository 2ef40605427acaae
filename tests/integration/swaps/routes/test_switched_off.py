"""Tokens and chains that the catalogue switches off accept no new payments.

Payments in progress are still verified.
"""

import re
from typing import Any

import pytest

from chains.models import Chain, Token
from payments.models import Payment, PaymentRequest, Quote, Route
from tests.conftest import Api
from tests.integration.swaps.routes.test_building_swaps import age_quotes
from tests.support.payments.world import Clock, look_until_decided, pay, submit
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.paying import Customer, code, quotes_asked
from tests.support.swaps.world import SwapWorld

WAYS = ("chain", "token")


def switch_off(token: Token, what: str) -> None:
    if what == "chain":
        Chain.objects.filter(pk=token.chain_id).update(is_active=False)
    else:
        Token.objects.filter(pk=token.pk).update(is_active=False)


@pytest.fixture
def wanted(swap_world: SwapWorld) -> Token:
    """USDC on the second chain, the requested token."""
    return swap_world.token(swap_world.second_row, "USDC")


@pytest.fixture
def ether_here(swap_world: SwapWorld) -> Token:
    return swap_world.token(swap_world.first_row, "ETH")


@pytest.fixture
def customer(new_customer: NewCustomer, wanted: Token) -> Customer:
    return new_customer(wanted)


def stored() -> list[Any]:
    return [[*model.objects.order_by("pk").values()] for model in (Route, Quote, Payment, PaymentRequest)]


@pytest.mark.parametrize("what", WAYS)
def test_no_route_leads_into_it_and_no_provider_is_asked(
    customer: Customer, wanted: Token, ether_here: Token, swap_world: SwapWorld, what: str
) -> None:
    switch_off(wanted, what)
    before = stored()
    answer = customer.ask_routes(ether_here)
    assert answer.status_code == 200
    assert answer.json()["routes"] == []
    assert answer.json()["reason"]["code"] == "no_route"
    assert (
        "Payments in USDC on Harbour Chain are unavailable at the moment"
        in answer.json()["reason"]["message"]
    )
    assert quotes_asked(swap_world) == 0
    assert stored() == before


@pytest.mark.parametrize(("what", "refusal"), [("chain", "chain_unknown"), ("token", "token_unknown")])
def test_nor_is_the_direct_way_offered(customer: Customer, wanted: Token, what: str, refusal: str) -> None:
    switch_off(wanted, what)
    before = stored()
    answer = customer.ask_routes(wanted)
    assert code(answer, 400) == refusal
    assert stored() == before


@pytest.mark.parametrize("what", WAYS)
@pytest.mark.parametrize("is_aged", [False, True])
def test_route_offered_before_is_neither_built_nor_requoted(
    customer: Customer, wanted: Token, ether_here: Token, swap_world: SwapWorld, what: str, is_aged: bool
) -> None:
    route = customer.routes(ether_here)[0]
    if is_aged:
        age_quotes()
    switch_off(wanted, what)
    before, asked = stored(), quotes_asked(swap_world)
    answer = customer.build(route)
    assert code(answer, 409) == "route_expired"
    assert "send anything now" in answer.json()["error"]["message"]
    assert quotes_asked(swap_world) == asked
    assert stored() == before


@pytest.mark.parametrize("what", WAYS)
def test_a_direct_route_that_was_offered_before_is_not_built(
    customer: Customer, wanted: Token, what: str
) -> None:
    route = customer.routes(wanted)[0]
    switch_off(wanted, what)
    before = stored()
    answer = customer.build(route)
    assert code(answer, 409) == "route_expired"
    assert stored() == before


@pytest.mark.parametrize("what", WAYS)
def test_nothing_is_approved_for_it(
    customer: Customer, wanted: Token, public: Api, swap_world: SwapWorld, what: str
) -> None:
    route = customer.routes(swap_world.token(swap_world.first_row, "DAI"))[0]
    switch_off(wanted, what)
    answer = public.post("/api/public/check-approval", {"route_id": route["id"]})
    assert code(answer, 409) == "route_expired"


@pytest.mark.parametrize("what", WAYS)
def test_nor_is_a_route_built_that_starts_from_it(
    customer: Customer, ether_here: Token, public: Api, what: str
) -> None:
    route = customer.routes(ether_here)[0]
    switch_off(ether_here, what)
    before = stored()
    checked = public.post("/api/public/check-approval", {"route_id": route["id"]})
    assert code(customer.build(route), 409) == code(checked, 409) == "route_expired"
    assert stored() == before


@pytest.mark.parametrize("what", WAYS)
def test_once_it_is_on_again_the_route_is_built(
    customer: Customer, wanted: Token, ether_here: Token, what: str
) -> None:
    route = customer.routes(ether_here)[0]
    switch_off(wanted, what)
    assert customer.build(route).status_code == 409
    Chain.objects.update(is_active=True)
    Token.objects.update(is_active=True)
    assert customer.built(route)["route_id"] == route["id"]


@pytest.mark.parametrize("what", WAYS)
def test_the_checkout_says_so(customer: Customer, wanted: Token, public: Api, what: str) -> None:
    assert customer.state()["is_available"] is True
    switch_off(wanted, what)
    assert customer.state()["is_available"] is False
    page = public.get(f"/pay/{customer.order['shortcode']}").content.decode()
    said = re.sub(r"<[^>]+>", "", page)
    assert "Payments in USDC on Harbour Chain are unavailable at the moment" in said
    assert 'data-screen="unavailable"' in page
    assert "Pay with your wallet" not in page.split("messages-data")[0]


@pytest.mark.parametrize("what", WAYS)
def test_what_was_sent_before_is_credited(
    customer: Customer, wanted: Token, swap_world: SwapWorld, what: str
) -> None:
    request = PaymentRequest.objects.get(pk=customer.order["id"])
    switch_off(wanted, what)
    look_until_decided(submit(request, pay(swap_world.second, request)), Clock())
    request.refresh_from_db()
    assert request.status == "completed"
