"""Invalid responses of Relay are not quotes. Each of its rejections has its own code."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import responses

from chains.client import EvmCall
from payments.providers.base import NoOffer, NoOfferCode, ProviderDown
from payments.providers.offer_checks import OfferRefused, accept
from payments.providers.relay.quotes import offer_from
from tests.support.routing.offers import (
    WANTED,
)
from tests.support.routing.relay_asking import ask_relay, rules_of
from tests.support.routing.relay_world import (
    NOW,
    quote,
)


def _each_place(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _each_place(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _each_place(item, (*path, index))


PLACES = [path for path in _each_place(quote()) if path]
JUNK: list[Any] = [
    None,
    "",
    "x",
    "0x",
    -1,
    2**70,
    1.5,
    True,
    [],
    {},
    [{}],
    {"a": []},
    "9" * 90,
    "\u202eUSD",
    [],
]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_junk_in_any_place_never_becomes_another_deposit(junk: Any) -> None:
    honest = quote()
    with responses.RequestsMock() as answers:
        expected = ask_relay(answers, honest)
    for path in PLACES:
        body = copy.deepcopy(honest)
        inner: Any = body
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = junk
        try:
            offer = offer_from(body, now=NOW)
            accept(offer, WANTED, rules_of(WANTED))
        except (NoOffer, ProviderDown, OfferRefused):
            continue
        assert isinstance(offer.action, EvmCall)
        assert isinstance(expected.action, EvmCall)
        assert (offer.action.to, offer.action.data, offer.action.value, offer.spender, offer.bound_by) == (
            expected.action.to,
            expected.action.data,
            expected.action.value,
            expected.spender,
            expected.bound_by,
        )


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_response_that_is_no_quote_is_invalid(answers: responses.RequestsMock, junk: Any) -> None:
    with pytest.raises((ProviderDown, NoOffer)):
        ask_relay(answers, junk)


def test_reasons_useful_to_the_customer_are_distinguished(answers: responses.RequestsMock) -> None:
    expected_codes = {
        "AMOUNT_TOO_LOW": NoOfferCode.AMOUNT_TOO_LOW,
        "INSUFFICIENT_LIQUIDITY": NoOfferCode.NO_LIQUIDITY,
        "SWAP_IMPACT_TOO_HIGH": NoOfferCode.FEES_TOO_HIGH,
        "NO_SWAP_ROUTES_FOUND": NoOfferCode.NO_ROUTE,
        "UNSUPPORTED_ROUTE": NoOfferCode.NO_ROUTE,
    }
    for code, expected in expected_codes.items():
        with pytest.raises(NoOffer) as none:
            ask_relay(answers, {"message": "No.", "errorCode": code}, status=400)
        assert none.value.code == expected


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"message": "Please provide an api key", "errorCode": "UNAUTHORIZED_QUOTE"}),
        (403, {"errorCode": "FORBIDDEN"}),
        (400, {"errorCode": "UNKNOWN_ERROR"}),
        (400, {"errorCode": "SWAP_QUOTE_FAILED"}),
        (400, {"errorCode": ["AMOUNT_TOO_LOW"]}),
        (400, {}),
        (400, []),
        (404, None),
        (424, {"errorCode": "AMOUNT_TOO_LOW"}),
        (429, {"errorCode": "AMOUNT_TOO_LOW"}),
        (500, {"errorCode": "AMOUNT_TOO_LOW"}),
        (503, {}),
        (302, {}),
    ],
    ids=str,
)
def test_response_that_is_not_relays_is_invalid(
    answers: responses.RequestsMock, status: int, body: Any
) -> None:
    with pytest.raises(ProviderDown):
        ask_relay(answers, body, status=status)
