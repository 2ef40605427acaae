"""Kraken: the last trade of a pair (https://docs.kraken.com/api, "Get Recent Trades").

A trade has a time, and a price that was really paid. Kraken's ticker has no time. Kraken's order book has only
offers, which cost nothing to place. Each pair needs one call of a few hundred bytes.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from fractions import Fraction
from typing import Any

from django.utils import timezone

from payments.prices.rules import Observation
from payments.prices.sources.base import (
    Listing,
    Ticker,
    is_fresh,
    max_age,
    names_pair,
    number,
    observe_each,
    unix_time_of,
)
from payments.providers.base import ProviderDown

NAME = "kraken"
URL = "https://api.kraken.com"
CURRENCIES = frozenset(("AUD", "CAD", "CHF", "EUR", "GBP", "JPY"))
# Kraken uses other codes for these coins.
_CODES = {"BTC": "XBT", "DOGE": "XDG"}
# Errors that begin like this are about the exchange, unless they name the pair. All other errors are about the pair.
_OF_THE_EXCHANGE = ("EService:", "EAPI:", "EGeneral:Internal", "EGeneral:Temporary", "EGeneral:Too many")
_NO_SUCH_PAIR = ("EQuery:", "EGeneral:Invalid")

_Trade = tuple[Fraction, datetime]


class Kraken:
    def __init__(self, url: str = "") -> None:
        self._ticker = Ticker(NAME, url or URL)

    def listings(self) -> Iterable[Listing]:
        return [Listing(NAME, CURRENCIES)]

    def observe(self, bases: Collection[str]) -> dict[str, list[Observation]]:
        """Return each base's last trade in USD, if it is not older than `RATE_MAX_AGE`.

        A pair such as USD/CHF is inverted.
        """
        return observe_each(bases, self._in_usd)

    def _in_usd(self, base: str) -> Observation | None:
        code = _CODES.get(base, base)
        listed = self._last_trade(f"{code}USD")
        if listed is None:
            inverse = self._last_trade(f"USD{code}")
            listed = inverse and (1 / inverse[0], inverse[1])
        if listed is None or not is_fresh(listed[1], timezone.now(), max_age()):
            return None
        return Observation(NAME, *listed)

    def _last_trade(self, pair: str) -> _Trade | None:
        if self._ticker.is_unlisted(pair):
            return None
        body = self._ticker.get("/0/public/Trades", pair=pair, count="1")
        if body is None or _is_about_pair(body):
            if body is None or _has_unknown_pair(body):
                self._ticker.note_unlisted(pair)
            return None
        return last_trade(body)


def _is_about_pair(body: Any) -> bool:
    """Whether the response has an error about the pair. Raises ProviderDown for an error of the exchange itself."""
    errors = body.get("error") if isinstance(body, dict) else None
    if not isinstance(errors, list) or not all(isinstance(each, str) for each in errors):
        raise ProviderDown("kraken returned something other than trades")
    if any(each.startswith(_OF_THE_EXCHANGE) and not names_pair(each) for each in errors):
        raise ProviderDown("kraken returned an internal error")
    return any(not each.startswith("W") for each in errors)  # Messages that begin with "W" are only warnings.


def _has_unknown_pair(body: Any) -> bool:
    return any(error.startswith(_NO_SUCH_PAIR) for error in body["error"])


def last_trade(body: Any) -> _Trade | None:
    """Return price and time of the newest trade, or None if there was no trade yet.

    Raises ProviderDown for a malformed response.
    """
    result = body.get("result") if isinstance(body, dict) else None
    pairs = [value for name, value in result.items() if name != "last"] if isinstance(result, dict) else []
    if len(pairs) != 1 or not isinstance(pairs[0], list):
        raise ProviderDown("kraken returned another number of pairs")
    trades = [_trade(each) for each in pairs[0]]
    return max(trades, key=lambda trade: trade[1], default=None)


def _trade(entry: Any) -> _Trade:
    if isinstance(entry, list) and len(entry) >= 3:
        price, traded_at = number(entry[0]), unix_time_of(entry[2])
        if price is not None and traded_at is not None:
            return price, traded_at
    raise ProviderDown("kraken returned a trade without a price or a time")


make = Kraken
