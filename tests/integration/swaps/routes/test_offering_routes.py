"""Routes for a customer who has another token: checked offers, few calls to providers, clear errors."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from chains.models import Chain, Token
from demo.aggregator.contracts import ROUTER
from demo.aggregator.switches import QUOTES
from payments.models import Quote, Route
from payments.providers.actions import from_json
from payments.providers.base import Offer
from payments.providers.quoting import Choice
from payments.routes.quotes import quote_request, store_route
from tests.conftest import Api
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.paying import code, quotes_asked
from tests.support.swaps.world import SwapWorld

# Errors in an offer. Each is just beyond the limit of its check.
REFUSED = (
    "other_recipient",
    "other_token",
    "minimum_too_low",
    "unknown_router",
    "unknown_spender",
    "no_id",
    "other_receiver_in_call",
    "too_much_value",
    "absurd_price",
)
UNUSABLE = (
    "other_chain",
    "other_sender",
    "malformed",
    "empty",
    "wrong_types",
    "several_transactions",
    "third_party",
    "server_error",
)


@pytest.fixture
def usdc_there(swap_world: SwapWorld) -> Token:
    return swap_world.token(swap_world.second_row, "USDC")


@pytest.fixture
def dai_here(swap_world: SwapWorld) -> Token:
    return swap_world.token(swap_world.first_row, "DAI")


def test_route_delivers_the_remainder_and_lists_its_costs(
    new_customer: NewCustomer, usdc_there: Token, dai_here: Token
) -> None:
    customer = new_customer(usdc_there)
    for route in customer.routes(dai_here):
        assert (route["type"], route["provider"]) == ("swap", "lifi")
        assert int(route["to"]["amount_min"]["raw"]) >= 10_500_000
        assert int(route["to"]["amount"]["raw"]) >= int(route["to"]["amount_min"]["raw"])
        assert route["to"]["token"]["id"] == usdc_there.pk
        assert route["to"]["chain"]["name"] == "Harbour Chain"
        assert route["from"]["token"]["symbol"] == "DAI"
        assert Decimal(route["from"]["amount"]["formatted"]) > Decimal("10.5")
        assert Decimal(route["from"]["usd"]) > Decimal("10.5")
        assert [step["type"] for step in route["steps"]] == ["approve", "bridge", "transfer"]
        assert route["steps"][0]["spender"] == route["steps"][1]["contract_address"] == ROUTER
        assert route["gas"]["token"] == {"symbol": "ETH"}
        assert all(Decimal(fee["usd"]) >= 0 for fee in route["fees"])
        assert any(not fee["included"] for fee in route["fees"]), "the bridge takes a fee on top"
        assert route["duration_seconds"] > 0


def test_cheapest_then_fastest_are_offered_for_two_quotes(
    new_customer: NewCustomer, usdc_there: Token, dai_here: Token, swap_world: SwapWorld
) -> None:
    cheapest, fastest = new_customer(usdc_there).routes(dai_here)
    assert cheapest["tags"] == ["recommended", "cheapest"]
    assert fastest["tags"] == ["fastest"]
    assert int(cheapest["from"]["amount"]["raw"]) < int(fastest["from"]["amount"]["raw"])
    assert cheapest["duration_seconds"] > fastest["duration_seconds"]
    assert quotes_asked(swap_world) == 2


def test_what_is_the_same_both_ways_is_shown_once(
    new_customer: NewCustomer, dai_here: Token, usdc: Token, swap_world: SwapWorld
) -> None:
    (route,) = new_customer(usdc).routes(dai_here)
    assert route["tags"] == ["recommended", "cheapest", "fastest"]
    assert [step["type"] for step in route["steps"]] == ["approve", "swap", "transfer"]
    assert quotes_asked(swap_world) == 2


def test_each_route_has_a_quote_of_its_own_and_five_minutes(
    new_customer: NewCustomer, usdc_there: Token, dai_here: Token
) -> None:
    customer = new_customer(usdc_there)
    before = timezone.now()
    first, second = customer.routes(dai_here), customer.routes(dai_here)
    routes = list(Route.objects.all())
    assert len(routes) == len(first) + len(second) == Quote.objects.count()
    assert len({bytes(quote.bound_by) for quote in Quote.objects.all()}) == len(routes)
    for route in routes:
        assert 290 <= (route.expires_at - before).total_seconds() <= 310
        assert route.quotes.get().amount_in == route.amount
        assert route.amount_due == 10_500_000
        assert route.quotes.get().built_at is None


def test_an_id_that_was_there_before_makes_no_route(
    new_customer: NewCustomer, usdc_there: Token, dai_here: Token
) -> None:
    customer = new_customer(usdc_there)
    customer.routes(dai_here)
    quote = Quote.objects.all()[0]
    request = quote.route.request
    wanted = quote_request(request, customer.wallet, dai_here)
    again = Offer(
        provider="lifi",
        quote_id="another",
        bound_by=bytes(quote.bound_by),
        source=wanted.source,
        target=wanted.target,
        amount_in=1,
        amount_out=1,
        amount_out_min=1,
        action=from_json(quote.action),
        action_chain_id=dai_here.chain_id,
        spender=None,
    )
    routes, quotes = Route.objects.count(), Quote.objects.count()
    assert store_route(request, dai_here, Choice(again, wanted), timezone.now()) is None
    assert (Route.objects.count(), Quote.objects.count()) == (routes, quotes)


def test_nobody_is_asked_for_a_quote_before_a_token_is_chosen(
    new_customer: NewCustomer, public: Api, usdc_there: Token, swap_world: SwapWorld
) -> None:
    customer = new_customer(usdc_there)
    customer.state()
    public.get(f"/pay/{customer.order['shortcode']}")
    question = {"wallet_address": customer.wallet}
    assert public.post(f"{customer.page}/balances/essential", question).status_code == 200
    assert public.post("/api/public/discover-wallet-tokens", question).status_code == 200
    customer.routes(usdc_there)
    assert quotes_asked(swap_world) == 0


def test_nothing_of_the_provider_is_shown_but_what_people_need(
    new_customer: NewCustomer, usdc_there: Token, dai_here: Token, settings: Any
) -> None:
    settings.LIFI_API_KEY = "key-that-nobody-may-see"
    settings.LIFI_INTEGRATOR = "not-for-customers"
    customer = new_customer(usdc_there)
    routes = customer.routes(dai_here)
    shown = json.dumps([routes, customer.approval(routes[0])])
    for quote in Quote.objects.all():
        assert bytes(quote.bound_by).hex() not in shown
        assert quote.provider_quote_id not in shown
        assert quote.action["data"][:64] not in shown
    for secret in (settings.LIFI_API_KEY, settings.LIFI_INTEGRATOR, "transactionRequest", "tracking"):
        assert secret not in shown


@pytest.mark.parametrize("switch", REFUSED)
def test_an_offer_that_is_not_what_was_asked_for_is_not_shown(
    new_customer: NewCustomer, usdc_there: Token, dai_here: Token, swap_world: SwapWorld, switch: str
) -> None:
    assert switch in QUOTES
    customer = new_customer(usdc_there)
    swap_world.aggregator.set(quote=switch)
    answer = customer.ask_routes(dai_here)
    assert answer.status_code == 200, answer.content
    assert answer.json()["routes"] == []
    assert answer.json()["reason"]["code"] == "route_refused"
    assert not Route.objects.exists()
    assert not Quote.objects.exists()
    assert quotes_asked(swap_world) <= 2


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        ({"quote": "no_quote", "tool_error": "AMOUNT_TOO_LOW"}, "amount_too_low"),
        ({"quote": "no_quote", "tool_error": "INSUFFICIENT_LIQUIDITY"}, "no_liquidity"),
        ({"quote": "no_quote"}, "no_route"),
        ({"quote": "filtered_out"}, "no_route"),
    ],
)
def test_no_way_is_an_answer_that_says_why_and_what_to_do(
    new_customer: NewCustomer,
    usdc_there: Token,
    dai_here: Token,
    swap_world: SwapWorld,
    switches: dict[str, str],
    expected: str,
) -> None:
    customer = new_customer(usdc_there)
    swap_world.aggregator.set(**switches)
    answer = customer.ask_routes(dai_here).json()
    assert (answer["routes"], answer["reason"]["code"]) == ([], expected)
    assert answer["reason"]["message"].endswith("Choose another token, or pay in USDC on Harbour Chain.")


@pytest.mark.parametrize("switch", UNUSABLE)
def test_provider_outage_leaves_direct_route_and_page_working(
    new_customer: NewCustomer,
    public: Api,
    usdc_there: Token,
    dai_here: Token,
    swap_world: SwapWorld,
    switch: str,
) -> None:
    customer = new_customer(usdc_there)
    swap_world.aggregator.set(quote=switch)
    answer = customer.ask_routes(dai_here)
    assert code(answer, 503) == "routing_unavailable"
    assert int(answer["Retry-After"]) > 0
    assert "Pay in USDC on Harbour Chain" in answer.json()["error"]["message"]
    (direct,) = customer.routes(usdc_there)
    assert direct["type"] == "direct"
    assert public.get(f"/pay/{customer.order['shortcode']}").status_code == 200
    assert customer.state()["status"] == "active"


def test_a_quota_that_is_spent_says_when_to_come_back(
    new_customer: NewCustomer, usdc_there: Token, dai_here: Token, swap_world: SwapWorld
) -> None:
    customer = new_customer(usdc_there)
    swap_world.aggregator.set(quote="rate_limited", retry_after=77)
    answer = customer.ask_routes(dai_here)
    assert code(answer, 503) == "routing_unavailable"
    assert 1 <= int(answer["Retry-After"]) <= 77


def test_a_dead_aggregator_leaves_direct_payments(
    new_customer: NewCustomer, usdc_there: Token, dai_here: Token, settings: Any
) -> None:
    settings.LIFI_API_URL = "http://127.0.0.1:9/v1"
    customer = new_customer(usdc_there)
    assert code(customer.ask_routes(dai_here), 503) == "routing_unavailable"
    (direct,) = customer.routes(usdc_there)
    assert direct["type"] == "direct"
    assert customer.built(direct)["binding"] == "reference"


def test_without_providers_only_the_requested_token_is_offered(
    new_customer: NewCustomer, usdc_there: Token, dai_here: Token, settings: Any
) -> None:
    customer = new_customer(usdc_there)
    assert customer.state()["pay_with"] == {"is_routed": True}
    settings.ROUTING_PROVIDERS = []
    assert customer.state()["pay_with"] == {"is_routed": False}
    answer = customer.ask_routes(dai_here).json()
    assert answer["reason"] == {
        "code": "no_route",
        "message": "This can be paid in USDC on Harbour Chain only.",
    }


def test_a_chain_without_pinned_routers_costs_no_quote(
    new_customer: NewCustomer, usdc_there: Token, dai_here: Token, swap_world: SwapWorld
) -> None:
    Chain.objects.filter(pk=dai_here.chain_id).update(routers={"relay": [ROUTER]})
    answer = new_customer(usdc_there).ask_routes(dai_here).json()
    assert answer["reason"]["code"] == "no_route"
    assert quotes_asked(swap_world) == 0


def test_native_coin_that_nobody_could_prove_is_not_offered(
    new_customer: NewCustomer, dai_here: Token, swap_world: SwapWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chains.families.evm.client import EvmClient

    customer = new_customer(swap_world.token(swap_world.second_row, "ETH"), amount="0.01")
    assert customer.routes(dai_here)
    swap_world.aggregator.calls.forget()
    monkeypatch.setattr(EvmClient, "can_prove_internal_transfers", lambda _: False)
    assert customer.ask_routes(dai_here).json()["reason"]["code"] == "no_route"
    assert quotes_asked(swap_world) == 0


def test_wallet_of_another_family_is_rejected_without_quotes(
    new_customer: NewCustomer, usdc_there: Token, dai_here: Token, swap_world: SwapWorld
) -> None:
    wallet = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
    customer = new_customer(usdc_there, wallet=wallet)
    assert code(customer.ask_routes(dai_here), 400) == "address_invalid"
    assert quotes_asked(swap_world) == 0
