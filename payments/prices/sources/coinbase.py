"""Coinbase Exchange: the last trade of a pair (https://docs.cdp.coinbase.com, "Get product ticker").

Coinbase trades coins for USD and other currencies, but no currency for USD. So the value of EUR is computed
from two trades of one coin: in EUR and in USD. Coinbase trades dollars and USDC in one order book, so it has no rate
of USDC.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from fractions import Fraction
from typing import Any

from django.utils import timezone

from chains.currencies import is_currency
from payments.prices.rules import Observation
from payments.prices.sources.base import Listing, Ticker, is_fresh, max_age, number, observe_each, time_of
from payments.providers.base import ProviderDown

NAME = "coinbase"
OPERATOR = "coinbase"
URL = "https://api.exchange.coinbase.com"
CURRENCIES = frozenset(("EUR", "GBP"))
_BRIDGE = "BTC"

_Trade = tuple[Fraction, datetime]


class Coinbase:
    def __init__(self, url: str = "") -> None:
        self._ticker = Ticker(NAME, url or URL)

    def listings(self) -> Iterable[Listing]:
        """The currencies in which Coinbase trades BTC, which links them to USD."""
        return [Listing(NAME, CURRENCIES, OPERATOR)]

    def observe(self, bases: Collection[str]) -> dict[str, list[Observation]]:
        """Return each base's last trade in USD, if it is not older than `RATE_MAX_AGE`."""
        return observe_each(bases, self._in_usd)

    def _in_usd(self, base: str) -> Observation | None:
        listed = self._last_trade(f"{base}-USD")
        if listed is None and is_currency(base):
            listed = self._by_bridge(base)
        return listed and Observation(NAME, *listed, OPERATOR)

    def _by_bridge(self, currency: str) -> _Trade | None:
        in_currency = self._last_trade(f"{_BRIDGE}-{currency}")
        in_usd = in_currency and self._last_trade(f"{_BRIDGE}-USD")
        if in_usd is None or in_currency is None:
            return None
        return in_usd[0] / in_currency[0], min(in_usd[1], in_currency[1])

    def _last_trade(self, product: str) -> _Trade | None:
        if self._ticker.is_unlisted(product):
            return None
        ticker: Any = self._ticker.get(f"/products/{product}/ticker")
        if ticker is None:
            self._ticker.note_unlisted(product)
            return None
        if not isinstance(ticker, dict):
            raise ProviderDown("coinbase returned something other than a ticker")
        price = number(ticker.get("price"))
        traded_at = time_of(ticker.get("time"))
        if price is None or traded_at is None:
            raise ProviderDown("coinbase returned a ticker without a price or a time")
        return (price, traded_at) if is_fresh(traded_at, timezone.now(), max_age()) else None


make = Coinbase
