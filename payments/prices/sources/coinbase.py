"""Coinbase Exchange: the last trade of a pair (https://docs.cdp.coinbase.com, "Get product ticker").

It lists coins against USD and other currencies, but no currency against USD. What a currency is worth follows from the
trades of one coin in both. It has no rate of USDC either: it trades dollars and USDC in one order book.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils import timezone

from chains.currencies import is_currency
from payments.prices.rules import Observation
from payments.prices.sources.base import Ticker, is_fresh, number, time_of
from payments.providers.base import ProviderDown

NAME = "coinbase"
URL = "https://api.exchange.coinbase.com"
_BRIDGE = "BTC"


class Coinbase:
    """The source; `url` replaces the exchange's own."""

    def __init__(self, url: str = "") -> None:
        self._ticker = Ticker(NAME, url or URL)

    def observe(self, bases: Collection[str]) -> dict[str, list[Observation]]:
        """Return each base's last trade in USD, at most `RATE_MAX_AGE` old."""
        found = {base: self._in_usd(base) for base in bases}
        return {base: [each] for base, each in found.items() if each is not None}

    def _in_usd(self, base: str) -> Observation | None:
        listed = self._last_trade(f"{base}-USD")
        if listed is None and is_currency(base):
            listed = self._by_bridge(base)
        return listed and Observation(NAME, *listed)

    def _by_bridge(self, currency: str) -> tuple[Decimal, datetime] | None:
        in_usd, in_currency = self._last_trade(f"{_BRIDGE}-USD"), self._last_trade(f"{_BRIDGE}-{currency}")
        if in_usd is None or in_currency is None:
            return None
        return in_usd[0] / in_currency[0], min(in_usd[1], in_currency[1])

    def _last_trade(self, product: str) -> tuple[Decimal, datetime] | None:
        if self._ticker.is_unlisted(product):
            return None
        answer: Any = self._ticker.get(f"/products/{product}/ticker")
        if answer is None:
            self._ticker.note_unlisted(product)
            return None
        if not isinstance(answer, dict):
            raise ProviderDown("coinbase answered with something else than a ticker")
        now = timezone.now()
        price = number(answer.get("price"))
        traded_at = time_of(answer.get("time"))
        if price is None or traded_at is None:
            raise ProviderDown("coinbase answered with a ticker without a price or a time")
        return (price, traded_at) if is_fresh(traded_at, now, _most()) else None


def _most() -> timedelta:
    return timedelta(seconds=settings.RATE_MAX_AGE)


make = Coinbase
