"""Sources that return a whole list of rates: valid lists, hostile lists, and lists that get old."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

from payments.prices.sources import base, coinbase_rates, coingecko, ecb
from payments.prices.sources.coinbase_rates import CoinbaseRates
from payments.prices.sources.coingecko import CoinGecko
from payments.prices.sources.ecb import Ecb, daily_rates, parse_xml
from payments.providers.base import ProviderDown
from tests.support.rates.exchanges import Exchanges, ecb_list, running_exchanges

FRIDAY = date(2026, 11, 27)
NOON = datetime(2026, 11, 27, 11, tzinfo=UTC)


@pytest.fixture
def exchanges() -> Iterator[Exchanges]:
    with running_exchanges() as running:
        yield running


class Clock:
    """The wall clock and the monotonic clock, which advance together."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
        self.now = now
        self._began = now
        for module in (coinbase_rates, coingecko, ecb):
            monkeypatch.setattr(module.timezone, "now", lambda: self.now)
        monkeypatch.setattr(base.time, "monotonic", lambda: 1000 + (self.now - self._began).total_seconds())

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch, datetime.now(UTC))


def values(source: Any, *bases: str) -> dict[str, Fraction]:
    return {code: seen[0].value for code, seen in source.observe(bases).items()}


HOSTILE: dict[str, tuple[int, bytes]] = {
    "down": (503, b"{}"),
    "too many requests": (429, b"{}"),
    "a redirect": (302, b""),
    "forbidden": (403, b"{}"),
    "not found": (404, b"{}"),
    "nothing": (200, b""),
    "null": (200, b"null"),
    "a list": (200, b"[]"),
    "an empty object": (200, b"{}"),
    "a text": (200, b'"1.0002"'),
    "no JSON and no rates": (200, b"<html></html>"),
    "a key twice": (200, b'{"data": {}, "data": {}}'),
    "larger than 64 KiB": (200, b'"' + b"1" * 70_000 + b'"'),
}


@pytest.mark.parametrize("source", [CoinbaseRates, CoinGecko, Ecb])
@pytest.mark.parametrize("fault", HOSTILE)
def test_hostile_response_is_no_list(exchanges: Exchanges, source: Any, fault: str) -> None:
    exchanges.broken = dict.fromkeys(("coinbase_rates", "coingecko", "ecb"), HOSTILE[fault])
    with pytest.raises(ProviderDown):
        source(exchanges.url).observe(["EUR"])


@pytest.mark.parametrize("source", [CoinbaseRates, CoinGecko, Ecb])
def test_one_call_serves_all_currencies(exchanges: Exchanges, source: Any, clock: Clock) -> None:
    asked = source(exchanges.url)
    asked.observe(["EUR", "JPY"])
    asked.observe(["GBP"])
    assert len(exchanges.asked) == 1


@pytest.mark.parametrize("source", [CoinbaseRates, Ecb])
def test_sources_of_currencies_are_not_asked_for_coins(exchanges: Exchanges, source: Any) -> None:
    assert source(exchanges.url).observe(["USDC", "BTC"]) == {}
    assert exchanges.asked == []


# Coinbase's list


def test_coinbases_list_has_units_for_a_dollar(exchanges: Exchanges) -> None:
    asked = CoinbaseRates(exchanges.url)
    assert values(asked, "EUR", "JPY", "GBP") == {"EUR": Fraction(10, 9), "JPY": Fraction(1, 150)}
    assert {seen.operator for each in asked.observe(["EUR"]).values() for seen in each} == {"coinbase"}


@pytest.mark.parametrize("wrong", ["0", None, 0.5, {"a": 1}])
def test_wrong_entry_of_a_list_concerns_its_currency_alone(exchanges: Exchanges, wrong: Any) -> None:
    exchanges.coinbase_rates["EUR"] = wrong
    wanted = {"JPY": Fraction(1, 150)} | ({"EUR": Fraction(2)} if wrong == 0.5 else {})
    assert values(CoinbaseRates(exchanges.url), "EUR", "JPY") == wanted


@pytest.mark.parametrize(
    "data", [None, [], {}, {"currency": "EUR", "rates": {"EUR": "1"}}, {"currency": "USD"}]
)
def test_list_of_anything_but_the_dollar_is_refused(data: Any) -> None:
    with pytest.raises(ProviderDown):
        coinbase_rates.rates_of({"data": data})


def test_unchanged_list_is_stale_after_the_maximum_age(
    exchanges: Exchanges, clock: Clock, settings: Any
) -> None:
    settings.RATE_MAX_AGE = 120
    asked = CoinbaseRates(exchanges.url)
    assert values(asked, "EUR")
    clock.forward(seconds=121)
    assert values(asked, "EUR") == {}
    exchanges.coinbase_rates["BTC"] = "0.000011"
    clock.forward(seconds=31)
    assert values(asked, "EUR") == {"EUR": Fraction(10, 9)}


# CoinGecko


def test_coingecko_prices_coins_and_currencies(exchanges: Exchanges) -> None:
    assert values(CoinGecko(exchanges.url), "EUR", "USDC", "BTC", "JPY", "XPF") == {
        "EUR": Fraction(10, 9),
        "USDC": Fraction("1.0001"),
        "BTC": Fraction(100_000),
    }


NOW = int(NOON.timestamp())
GOOD = {"usd": 100_000, "eur": 90_000, "last_updated_at": NOW}


@pytest.mark.parametrize(
    "entry",
    [
        None, [], "1", {}, {**GOOD, "usd": 0}, {**GOOD, "usd": -1}, {**GOOD, "usd": None}, {**GOOD, "usd": True},
        {**GOOD, "eur": 0}, {**GOOD, "eur": "NaN"}, {**GOOD, "last_updated_at": None},
        {**GOOD, "last_updated_at": str(NOW)}, {**GOOD, "last_updated_at": -1}, {**GOOD, "last_updated_at": 10**300},
    ],
)  # fmt: skip
def test_malformed_price_of_coingecko_is_no_rate(entry: Any) -> None:
    prices = {"bitcoin": entry, "tether": {"usd": 1, "last_updated_at": NOW}}
    assert coingecko.in_usd(prices, "EUR") is None
    assert coingecko.in_usd(prices, "USDT") == (1, NOON)


@pytest.mark.parametrize(("age", "is_seen"), [(0, True), (119, True), (125, False), (-60, False)])
def test_price_of_coingecko_is_as_old_as_it_says(
    exchanges: Exchanges, settings: Any, age: int, is_seen: bool
) -> None:
    settings.RATE_MAX_AGE = 120
    at = int(datetime.now(UTC).timestamp()) - age
    exchanges.broken = {"coingecko": (200, json.dumps({"bitcoin": {**GOOD, "last_updated_at": at}}).encode())}
    assert (CoinGecko(exchanges.url).observe(["EUR"]) != {}) is is_seen


def test_coingecko_is_asked_about_twice_a_minute(exchanges: Exchanges, clock: Clock) -> None:
    asked = CoinGecko(exchanges.url)
    for _ in range(60):
        asked.observe(["EUR", "USDC"])
        clock.forward(seconds=1)
    assert len(exchanges.asked) == 2


def test_last_list_serves_while_the_source_is_down(exchanges: Exchanges, clock: Clock, settings: Any) -> None:
    settings.RATE_MAX_AGE = 120
    asked = CoinGecko(exchanges.url)
    assert values(asked, "EUR")
    exchanges.broken = {"coingecko": (429, b"{}")}
    clock.forward(seconds=31)
    assert values(asked, "EUR")
    clock.forward(seconds=100)
    assert values(asked, "EUR") == {}


# The European Central Bank


def read(body: bytes) -> Any:
    return daily_rates(parse_xml("/", body))


def test_reference_rates_are_crossed_over_the_euro(
    exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchanges.day = FRIDAY.isoformat()
    Clock(monkeypatch, NOON + timedelta(hours=6))
    seen = Ecb(exchanges.url).observe(["EUR", "JPY", "GBP", "USD"])
    assert {code: each.value for code, (each,) in seen.items()} == {
        "EUR": Fraction(11, 10),
        "JPY": Fraction(1, 150),
    }
    assert all(each.is_daily for (each,) in seen.values())
    assert {each.observed_at for (each,) in seen.values()} == {datetime(2026, 11, 27, 13, 15, tzinfo=UTC)}


SOUND = ecb_list("2026-11-27", {"USD": "1.1", "JPY": "165"})


@pytest.mark.parametrize(
    "body",
    [
        SOUND.replace(b"time='2026-11-27'", b"time='27.11.2026'"),
        SOUND.replace(b"time='2026-11-27'", b""),
        SOUND.replace(b"<Cube currency='USD'", b"<Cube time='2026-11-26'/><Cube currency='USD'"),
        SOUND.replace(b"rate='1.1'", b"rate='0'"),
        SOUND.replace(b"rate='1.1'", b""),
        SOUND.replace(b"'JPY'", b"'USD'"),
        SOUND.replace(b"'JPY'", b"'EUR'"),
        SOUND.replace(b"'USD'", b"'CHF'"),
        SOUND[:-20],
        SOUND.replace(b"?>", b'?><!DOCTYPE a [<!ENTITY b "c">]>'),
        SOUND.decode().encode("utf-16"),
        SOUND.replace(b"European", b"\xff"),
        b"",
        b"<a/>",
        b"{}",
    ],
)
def test_malformed_reference_rates_are_refused(body: bytes) -> None:
    assert read(SOUND).units["USD"] == Fraction(11, 10)
    with pytest.raises(ProviderDown):
        read(body)


@pytest.mark.parametrize(
    ("now", "is_seen"),
    [
        (datetime(2026, 11, 27, 17, 1, tzinfo=UTC), True),  # Friday evening
        (datetime(2026, 11, 30, 16, 59, tzinfo=UTC), True),  # Monday's list isn't due yet
        (datetime(2026, 11, 30, 17, 1, tzinfo=UTC), False),
        (datetime(2026, 11, 26, 12, tzinfo=UTC), False),  # the list of a future day
    ],
)
def test_reference_rates_are_good_until_the_next_are_due(
    exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch, now: datetime, is_seen: bool
) -> None:
    exchanges.day = FRIDAY.isoformat()
    Clock(monkeypatch, now)
    assert (Ecb(exchanges.url).observe(["EUR"]) != {}) is is_seen
