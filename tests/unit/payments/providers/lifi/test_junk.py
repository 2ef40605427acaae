"""Junk anywhere in LI.FI's responses is rejected or has no effect.

It never causes an error and never counts as valid.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from payments.providers.base import Offer, ProviderDown, SwapState
from payments.providers.http import parse
from payments.providers.lifi.lists import tokens_from
from payments.providers.lifi.quotes import no_offer_from, offer_from
from payments.providers.lifi.status import status_from
from tests.support.routing.lifi_world import (
    ARBITRUM,
    SOURCE_HASH,
    TRACKING,
    USDT,
    changed,
    quote,
    refusal,
    status,
    token,
    tool_error,
)

# These are JSON texts, because Python can't write all of them.
JUNK = [
    "null",
    "true",
    "-1",
    "0",
    "1e400",
    "-1e-400",
    "1.5",
    "9" * 4000,
    '""',
    '" "',
    '"\\u0000"',
    '"\\ud800"',
    '"\\u202e0x"',
    '"0x"',
    '"-0x1"',
    '"1e9"',
    '"٣"',
    json.dumps("A" * 100_000),
    "[]",
    "[[[]]]",
    "{}",
    '{"address": {}}',
]
MARK = "here stands the junk"


def places(value: Any, way: str = "") -> Iterator[str]:
    """Yield the dotted path of each value in a response."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        path = f"{way}.{key}" if way else str(key)
        yield path
        yield from places(item, path)


def spoiled(answer: Any, path: str, junk: str) -> Any:
    """Replace one value of the response by junk; return it as the client parses it."""
    text = json.dumps(changed(answer, path, MARK)).replace(json.dumps(MARK), junk)
    return parse("/", text.encode())


def essence(offer: Offer) -> Any:
    """Return the offer's fields that affect the payment, without those that are only for display."""
    return (offer.bound_by, offer.source, offer.target, offer.action_chain_id, offer.action.to)  # type: ignore[union-attr]


@pytest.mark.parametrize("path", list(places(quote())))
def test_a_quote(path: str) -> None:
    honest = offer_from(parse("/", json.dumps(quote()).encode()))
    for junk in JUNK:
        try:
            offer = offer_from(spoiled(quote(), path, junk))
        except ProviderDown:
            continue
        assert essence(offer) == essence(honest), junk
        assert 0 <= offer.amount_in < 2**256
        assert 0 <= offer.action.value < 2**256  # type: ignore[union-attr]
        assert all(0 <= fee.amount < 2**256 and 0 <= fee.decimals <= 36 for fee in offer.fees + offer.gas)
        assert offer.duration_seconds is None or 0 <= offer.duration_seconds <= 30 * 24 * 3600
        assert all(0 < len(tool.name) <= 64 for tool in offer.tools)
        json.dumps(dict(offer.tracking), allow_nan=False)


@pytest.mark.parametrize("path", list(places(status("DONE", "COMPLETED"))))
def test_a_status(path: str) -> None:
    for junk in JUNK:
        try:
            found = status_from(spoiled(status("DONE", "COMPLETED"), path, junk), TRACKING, SOURCE_HASH)
        except ProviderDown:
            continue
        assert found.state in (SwapState.DELIVERED, SwapState.UNKNOWN, SwapState.BRIDGING), junk
        if found.state == SwapState.DELIVERED:
            assert found.destination_hash is not None
            assert found.destination_amount is not None
            assert 0 <= found.destination_amount < 2**256
        assert len(found.raw) <= 64


@pytest.mark.parametrize("path", list(places(refusal(1002, "None", errors=[tool_error("AMOUNT_TOO_LOW")]))))
def test_a_refusal(path: str) -> None:
    answer = refusal(1002, "None", errors=[tool_error("AMOUNT_TOO_LOW")])
    for junk in JUNK:
        no_offer_from(spoiled(answer, path, junk))


@pytest.mark.parametrize("path", list(places({"tokens": {str(ARBITRUM): [token(ARBITRUM, USDT)]}})))
def test_a_list(path: str) -> None:
    answer = {"tokens": {str(ARBITRUM): [token(ARBITRUM, USDT)]}}
    for junk in JUNK:
        try:
            found = tokens_from(spoiled(answer, path, junk), frozenset({ARBITRUM}))
        except ProviderDown:
            continue
        for each in found:
            assert (each.chain_id, each.token) in ((ARBITRUM, USDT), (ARBITRUM, ""))
            assert 0 < len(each.symbol) <= 32
            assert 0 < len(each.name) <= 100
            assert 0 <= each.decimals <= 36
            assert each.usd is None or each.usd > 0
