"""A chosen route's transaction: bound by the provider's id, quoted again if the quote is old, or rejected with
a reason.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from eth_account import Account

from chains.families.evm.client import EvmClient
from chains.models import Chain, Token
from demo.aggregator.contracts import ROUTER
from payments.models import PaymentRequest, Quote, Route
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.paying import Customer, code, quotes_asked
from tests.support.swaps.world import SwapWorld


@pytest.fixture
def customer(new_customer: NewCustomer, swap_world: SwapWorld) -> Customer:
    """A customer who pays USDC on the second chain."""
    return new_customer(swap_world.token(swap_world.second_row, "USDC"))


@pytest.fixture
def route(customer: Customer, swap_world: SwapWorld) -> dict[str, Any]:
    """A route from the first chain's native coin, which needs no approval."""
    return customer.routes(swap_world.token(swap_world.first_row, "ETH"))[0]


def age_quotes(seconds: int = 46) -> None:
    Quote.objects.update(created_at=timezone.now() - timedelta(seconds=seconds))


def test_transaction_calls_pinned_router_with_the_quote_id(customer: Customer, route: dict[str, Any]) -> None:
    built = customer.built(route)
    quote = Quote.objects.get(route_id=route["id"])
    assert (built["binding"], built["payer_proof"], built["chain_type"]) == ("provider", None, "evm")
    assert built["transaction"]["to"] == ROUTER == route["steps"][0]["contract_address"]
    assert built["transaction"]["from"] == customer.wallet
    assert bytes(quote.bound_by).hex() in built["transaction"]["data"]
    assert int(built["transaction"]["value"], 16) >= int(route["from"]["amount"]["raw"])
    assert int(built["transaction"]["gas"], 16) > 21_000
    assert quote.built_at is not None
    assert Route.objects.get(pk=route["id"]).built_at is not None


@pytest.mark.parametrize("binding", ["reference", "payer"])
def test_a_swap_has_one_binding(customer: Customer, route: dict[str, Any], binding: str) -> None:
    answer = customer.build(route, binding=binding)
    assert code(answer, 400) == "parameter_invalid"
    assert answer.json()["error"]["param"] == "binding"
    assert Quote.objects.get(route_id=route["id"]).built_at is None


def test_within_45_seconds_the_quote_stands(
    customer: Customer, route: dict[str, Any], swap_world: SwapWorld
) -> None:
    asked = quotes_asked(swap_world)
    first, second = customer.built(route), customer.built(route)
    assert first["transaction"]["data"] == second["transaction"]["data"]
    assert quotes_asked(swap_world) == asked


def test_an_aged_quote_is_asked_for_anew_and_both_bind(
    customer: Customer, route: dict[str, Any], swap_world: SwapWorld
) -> None:
    customer.built(route)
    asked = quotes_asked(swap_world)
    age_quotes()
    built = customer.built(route)
    assert quotes_asked(swap_world) == asked + 1
    first, second = Quote.objects.filter(route_id=route["id"]).order_by("id")
    assert bytes(second.bound_by).hex() in built["transaction"]["data"]
    assert bytes(first.bound_by) != bytes(second.bound_by)
    assert first.built_at is not None
    assert second.built_at is not None


def test_price_above_the_reviewed_amount_is_not_built(customer: Customer, route: dict[str, Any]) -> None:
    age_quotes()
    Route.objects.filter(pk=route["id"]).update(amount=int(route["from"]["amount"]["raw"]) - 1)
    answer = customer.build(route)
    assert code(answer, 409) == "route_expired"
    assert "price has moved" in answer.json()["error"]["message"]
    quote = Quote.objects.get(route_id=route["id"])
    assert quote.built_at is None


def test_a_fee_on_top_that_grew_is_not_built(customer: Customer, route: dict[str, Any]) -> None:
    age_quotes()
    kept = Route.objects.get(pk=route["id"])
    assert int(kept.details["extra_native"]) > 0
    kept.details["extra_native"] = str(int(kept.details["extra_native"]) * 8 // 10)
    kept.save()
    assert code(customer.build(route), 409) == "route_expired"
    assert Quote.objects.filter(route_id=route["id"]).count() == 1


@pytest.mark.parametrize("switch", ["other_recipient", "unknown_router", "minimum_too_low", "no_quote"])
def test_a_new_quote_is_judged_like_the_first(
    customer: Customer, route: dict[str, Any], swap_world: SwapWorld, switch: str
) -> None:
    age_quotes()
    swap_world.aggregator.set(quote=switch)
    assert code(customer.build(route), 409) == "route_expired"
    assert Quote.objects.get(route_id=route["id"]).built_at is None


def test_aged_route_of_a_removed_provider_has_expired(customer: Customer, route: dict[str, Any]) -> None:
    age_quotes()
    Route.objects.filter(pk=route["id"]).update(provider="gone")
    assert code(customer.build(route), 409) == "route_expired"


def test_provider_outage_blocks_aged_routes_but_not_fresh_ones(
    customer: Customer, route: dict[str, Any], swap_world: SwapWorld
) -> None:
    swap_world.aggregator.set(quote="server_error")
    assert customer.built(route)["binding"] == "provider"
    age_quotes()
    answer = customer.build(route)
    assert code(answer, 503) == "routing_unavailable"
    assert int(answer["Retry-After"]) > 0


def test_request_paid_during_the_build_gets_no_transaction(
    customer: Customer, route: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = EvmClient.prepare

    def paid_meanwhile(*arguments: Any, **named: Any) -> Any:
        PaymentRequest.objects.filter(pk=customer.order["id"]).update(
            amount_paid=10_500_000, status="completed"
        )
        return prepare(*arguments, **named)

    monkeypatch.setattr(EvmClient, "prepare", paid_meanwhile)
    assert code(customer.build(route), 409) == "route_expired"
    assert Quote.objects.get(route_id=route["id"]).built_at is None


def test_a_route_that_no_longer_fits_what_remains(customer: Customer, route: dict[str, Any]) -> None:
    PaymentRequest.objects.filter(pk=customer.order["id"]).update(amount_paid=1_000_000)
    assert code(customer.build(route), 409) == "route_expired"
    assert Quote.objects.get(route_id=route["id"]).built_at is None


def test_a_route_past_its_time(customer: Customer, route: dict[str, Any]) -> None:
    Route.objects.update(expires_at=timezone.now())
    assert code(customer.build(route), 409) == "route_expired"


@pytest.mark.parametrize("status", ["cancelled", "expired"])
def test_an_ended_request_is_neither_offered_nor_built(
    customer: Customer, route: dict[str, Any], status: str, swap_world: SwapWorld
) -> None:
    PaymentRequest.objects.filter(pk=customer.order["id"]).update(status=status)
    assert code(customer.build(route), 409) == "payment_request_not_active"
    token = swap_world.token(swap_world.first_row, "DAI")
    assert code(customer.ask_routes(token), 409) == "payment_request_not_active"
    path = "/api/public/check-approval"
    assert code(customer.public.post(path, {"route_id": route["id"]}), 409) == "payment_request_not_active"


def test_without_the_token_it_says_how_much_of_it_is_missing(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    poor = Account.create().address
    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"), wallet=poor)
    route = customer.routes(swap_world.token(swap_world.first_row, "DAI"))[0]
    answer = customer.build(route)
    assert code(answer, 409) == "insufficient_funds"
    assert "DAI on Local Chain" in answer.json()["error"]["message"]
    swap_world.first.transfer(swap_world.first.dai, poor, int(route["from"]["amount"]["raw"]))
    answer = customer.build(route)
    assert code(answer, 409) == "insufficient_gas"
    assert "ETH for the network fee" in answer.json()["error"]["message"]


def test_without_the_coin_it_says_how_much_of_it_is_missing(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    poor = Account.create().address
    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"), wallet=poor)
    route = customer.routes(swap_world.token(swap_world.first_row, "ETH"))[0]
    answer = customer.build(route)
    assert code(answer, 409) == "insufficient_funds"
    assert "ETH on Local Chain" in answer.json()["error"]["message"]
    swap_world.first.transfer("", poor, int(route["from"]["amount"]["raw"]))
    assert code(customer.build(route), 409) == "insufficient_gas"


def test_without_the_approval_it_says_that_this_comes_first(
    customer: Customer, swap_world: SwapWorld
) -> None:
    dai = swap_world.token(swap_world.first_row, "DAI")
    swap_world.approve(swap_world.first, dai.contract_address, 0)
    answer = customer.build(customer.routes(dai)[0])
    assert code(answer, 409) == "transaction_would_fail"
    assert "Sign the approval first" in answer.json()["error"]["message"]


def test_a_call_that_would_fail_is_not_handed_out(customer: Customer, swap_world: SwapWorld) -> None:
    swap_world.aggregator.set(quote="reverts")
    route = customer.routes(swap_world.token(swap_world.first_row, "ETH"))[0]
    assert code(customer.build(route), 409) == "transaction_would_fail"
    assert Quote.objects.get(route_id=route["id"]).built_at is None


def test_a_dead_node_of_the_chain_that_it_starts_on_is_told(
    customer: Customer, route: dict[str, Any], swap_world: SwapWorld
) -> None:
    Chain.objects.filter(pk=swap_world.first_row.pk).update(rpc_urls=["http://127.0.0.1:9"])
    answer = customer.build(route)
    assert code(answer, 503) == "node_unavailable"
    assert "Local Chain can't be reached" in answer.json()["error"]["message"]
    assert Quote.objects.get(route_id=route["id"]).built_at is None


def test_the_fastest_is_asked_for_anew_as_the_fastest(customer: Customer, swap_world: SwapWorld) -> None:
    dai: Token = swap_world.token(swap_world.first_row, "DAI")
    _, fastest = customer.routes(dai)
    swap_world.approve(swap_world.first, dai.contract_address, int(fastest["from"]["amount"]["raw"]))
    age_quotes()
    swap_world.aggregator.calls.forget()
    customer.built(fastest)
    (call,) = [call for call in swap_world.aggregator.calls.made if "/quote" in call.path]
    assert call.arguments["order"] == "FASTEST"
