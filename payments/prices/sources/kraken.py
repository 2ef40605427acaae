"""Kraken: the last trade of a pair (https://docs.kraken.com/api, "Get Ticker Information").

Its ticker has no time, so an observation is as old as the response.
"""

from collections.abc import Collection
from typing import Any

from django.utils import timezone

from payments.prices.rules import Observation
from payments.prices.sources.base import Ticker, number
from payments.providers.base import ProviderDown

NAME = "kraken"
URL = "https://api.kraken.com"
# Kraken's own codes, where they differ.
_CODES = {"BTC": "XBT", "DOGE": "XDG"}
_UNKNOWN = "Unknown asset pair"


class Kraken:
    """The source; `url` replaces the exchange's own."""

    def __init__(self, url: str = "") -> None:
        self._ticker = Ticker(NAME, url or URL)

    def observe(self, bases: Collection[str]) -> dict[str, list[Observation]]:
        """Return each base's last trade in USD; for a currency listed the other way round, its inverse."""
        found = {base: self._in_usd(base) for base in bases}
        return {base: [each] for base, each in found.items() if each is not None}

    def _in_usd(self, base: str) -> Observation | None:
        code = _CODES.get(base, base)
        listed = self._last_trade(f"{code}USD")
        if listed is not None:
            return Observation(NAME, listed, timezone.now())
        inverse = self._last_trade(f"USD{code}")
        return None if inverse is None else Observation(NAME, 1 / inverse, timezone.now())

    def _last_trade(self, pair: str) -> Any:
        if self._ticker.is_unlisted(pair):
            return None
        answer = self._ticker.get("/0/public/Ticker", pair=pair)
        if not isinstance(answer, dict):
            raise ProviderDown("kraken answered with something else than a ticker")
        errors = answer.get("error")
        if errors:
            if isinstance(errors, list) and any(_UNKNOWN in str(error) for error in errors):
                self._ticker.note_unlisted(pair)
                return None
            raise ProviderDown("kraken answered with an error")
        result = answer.get("result")
        if not isinstance(result, dict) or len(result) != 1:
            raise ProviderDown("kraken answered for another number of pairs")
        (ticker,) = result.values()
        last = ticker.get("c") if isinstance(ticker, dict) else None
        price = number(last[0]) if isinstance(last, list) and last else None
        if price is None:
            raise ProviderDown("kraken answered with a ticker without a price")
        return price


make = Kraken
