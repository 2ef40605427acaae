"""No customer can use up the deployment's quotes.

Excess calls return 429, other customers and direct routes continue.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from limits import parse

from chains.models import Token
from payments.models import Quote, Route
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.paying import Customer, quotes_asked
from tests.support.swaps.world import SwapWorld

From = Callable[[str], Customer]


class Visitor:
    """A caller of the public endpoints with its own IP address."""

    def __init__(self, ip: str) -> None:
        self._client = Client(REMOTE_ADDR=ip)

    def post(self, path: str, body: Any) -> Any:
        return self._client.post(path, body, content_type="application/json")


@pytest.fixture
def visit(swap_world: SwapWorld, new_customer: NewCustomer, settings: Any) -> From:
    """Return a function that opens a new request's page from an address.

    A request gets two of twenty quotes an hour: one click.
    """
    settings.ROUTING_QUOTE_LIMITS = {"lifi": parse("20/hour")}
    usdc = swap_world.token(swap_world.second_row, "USDC")
    return lambda ip: replace(new_customer(usdc), public=Visitor(ip))


@pytest.fixture
def dai_here(swap_world: SwapWorld) -> Token:
    return swap_world.token(swap_world.first_row, "DAI")


def test_request_beyond_its_share_says_when_to_retry(
    visit: From, dai_here: Token, swap_world: SwapWorld
) -> None:
    attacker = visit("192.0.2.1")
    assert attacker.ask_routes(dai_here).status_code == 200
    asked, routes, quotes = quotes_asked(swap_world), Route.objects.count(), Quote.objects.count()
    for _ in range(30):
        refused = attacker.ask_routes(dai_here)
        assert refused.status_code == 429
        assert refused.json()["error"]["code"] == "rate_limited"
        assert 1 <= int(refused["Retry-After"]) <= 3600
    assert quotes_asked(swap_world) == asked, "the provider was not asked"
    assert (Route.objects.count(), Quote.objects.count()) == (routes, quotes)
    assert visit("192.0.2.2").ask_routes(dai_here).status_code == 200, "another customer still gets quotes"


def test_addresses_of_one_64_have_one_share(visit: From, dai_here: Token) -> None:
    """The addresses share a fifth of twenty quotes.

    The first request uses two, the others one each, a tenth of the rest.
    """
    addresses = [f"2001:db8:1:2::{number}" for number in range(1, 5)]
    assert [visit(ip).ask_routes(dai_here).status_code for ip in addresses] == [200, 200, 200, 429]
    assert visit("2001:db8:1:3::1").ask_routes(dai_here).status_code == 200


def test_direct_route_stays_and_costs_no_share(visit: From, dai_here: Token, swap_world: SwapWorld) -> None:
    attacker = visit("192.0.2.1")
    assert [attacker.ask_routes(dai_here).status_code for _ in range(2)] == [200, 429]
    usdc = swap_world.token(swap_world.second_row, "USDC")
    for _ in range(5):
        assert [route["type"] for route in attacker.routes(usdc)] == ["direct"]


def test_new_quote_for_an_aged_one_uses_the_same_share(visit: From, dai_here: Token) -> None:
    customer = visit("192.0.2.1")
    (route, *_) = customer.routes(dai_here)
    Quote.objects.update(created_at="2026-01-01T00:00:00Z")
    assert customer.build(route).status_code == 429
    assert visit("192.0.2.2").ask_routes(dai_here).status_code == 200
