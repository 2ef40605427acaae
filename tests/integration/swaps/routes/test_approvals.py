"""The approval before a swap: the exact amount, for a pinned router, after a reset to zero if the token requires it."""

from typing import Any

import pytest
from django.utils import timezone

from chains.models import Token
from demo.aggregator.contracts import ROUTER
from payments.models import Quote, Route
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.paying import Customer, code
from tests.support.swaps.world import SwapWorld


@pytest.fixture
def customer(new_customer: NewCustomer, swap_world: SwapWorld) -> Customer:
    """A customer who pays USDC on the second chain."""
    return new_customer(swap_world.token(swap_world.second_row, "USDC"))


@pytest.fixture
def usdt(swap_world: SwapWorld) -> Token:
    """USDT on the first chain. Like Tether, it changes an allowance only to or from zero."""
    token = swap_world.token(swap_world.first_row, "USDT")
    swap_world.approve(swap_world.first, token.contract_address, 0)
    return token


def allowed(swap_world: SwapWorld, token: Token) -> int:
    data = (
        "0xdd62ed3e" + swap_world.first.payer[2:].lower().rjust(64, "0") + ROUTER[2:].lower().rjust(64, "0")
    )
    return int(swap_world.first.rpc("eth_call", {"to": token.contract_address, "data": data}, "latest"), 16)


def test_the_requested_token_and_native_coin_need_none(customer: Customer, swap_world: SwapWorld) -> None:
    for token in (
        swap_world.token(swap_world.second_row, "USDC"),
        swap_world.token(swap_world.first_row, "ETH"),
    ):
        approval = customer.approval(customer.routes(token)[0])
        assert approval["approval_required"] is False
        assert (approval["spender"], approval["transactions"]) == (None, [])
        assert approval["required"]["raw"] == "0"


def test_the_approval_is_exact_and_to_the_pinned_router(
    customer: Customer, swap_world: SwapWorld, usdt: Token
) -> None:
    route = customer.routes(usdt)[0]
    approval = customer.approval(route)
    amount = int(route["from"]["amount"]["raw"])
    assert approval["approval_required"] is True
    assert approval["spender"] == ROUTER
    assert approval["token"]["symbol"] == "USDT"
    assert (approval["allowance"]["raw"], approval["required"]["raw"]) == ("0", str(amount))
    (unsigned,) = approval["transactions"]
    assert unsigned["to"] == usdt.contract_address
    assert unsigned["from"] == customer.wallet
    assert unsigned["data"] == f"0x095ea7b3{ROUTER[2:].lower().rjust(64, '0')}{amount:064x}"
    assert unsigned["value"] == "0x0"
    swap_world.first.send(unsigned)
    assert allowed(swap_world, usdt) == amount
    again = customer.approval(route)
    assert (again["approval_required"], again["transactions"]) == (False, [])
    assert again["allowance"]["raw"] == str(amount)


@pytest.mark.parametrize("is_told", [True, False])
def test_small_allowance_is_reset_regardless_of_provider_hint(
    customer: Customer, swap_world: SwapWorld, usdt: Token, is_told: bool
) -> None:
    swap_world.approve(swap_world.first, usdt.contract_address, 5)
    route = customer.routes(usdt)[0]
    Quote.objects.update(must_reset_approval=is_told)
    approval = customer.approval(route)
    assert approval["allowance"]["raw"] == "5"
    reset, exact = approval["transactions"]
    assert int(reset["data"][-64:], 16) == 0
    assert int(exact["data"][-64:], 16) == int(route["from"]["amount"]["raw"])
    for unsigned in (reset, exact):
        swap_world.first.send(unsigned)
    assert allowed(swap_world, usdt) == int(route["from"]["amount"]["raw"])


def test_a_token_that_needs_no_reset_gets_one_approval(customer: Customer, swap_world: SwapWorld) -> None:
    dai = swap_world.token(swap_world.first_row, "DAI")
    swap_world.approve(swap_world.first, dai.contract_address, 5)
    route = customer.routes(dai)[0]
    Quote.objects.update(must_reset_approval=False)
    assert len(customer.approval(route)["transactions"]) == 1


def test_provider_with_unknown_spender_gets_no_approval(
    customer: Customer, swap_world: SwapWorld, usdt: Token
) -> None:
    swap_world.aggregator.set(quote="unknown_spender")
    assert customer.ask_routes(usdt).json()["routes"] == []
    assert not Route.objects.exists()


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ({}, 400, "parameter_missing"),
        ({"route_id": 12}, 400, "parameter_invalid"),
        ({"route_id": "rt_" + "1" * 24}, 404, "resource_missing"),
        ({"route_id": "rt_" + "1" * 24, "spender": ROUTER}, 400, "parameter_unknown"),
    ],
)
def test_bad_questions(customer: Customer, body: dict[str, Any], status: int, expected: str) -> None:
    assert code(customer.public.post("/api/public/check-approval", body), status) == expected


def test_a_route_past_its_time_is_not_approved_for(customer: Customer, usdt: Token) -> None:
    route = customer.routes(usdt)[0]
    Route.objects.update(expires_at=timezone.now())
    path = "/api/public/check-approval"
    assert code(customer.public.post(path, {"route_id": route["id"]}), 409) == "route_expired"
