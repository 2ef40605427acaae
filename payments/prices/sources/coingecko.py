"""CoinGecko: averages over many exchanges (https://docs.coingecko.com, "Coin Price by IDs"). One call returns all.

CoinGecko prices coins in many currencies. The value of a currency is computed from two prices of Bitcoin: in that
currency and in dollars. Without an API key, CoinGecko allows few calls a minute and updates once a minute.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any

from django.utils import timezone

from payments.prices.rules import Observation
from payments.prices.sources.base import (
    Listing,
    Ticker,
    WholeList,
    is_fresh,
    max_age,
    number,
    unix_time_of,
)
from payments.providers.base import ProviderDown

NAME = "coingecko"
URL = "https://api.coingecko.com"
_LISTED = """
    AED ARS AUD BDT BHD BMD BRL CAD CHF CLP CNY CZK DKK EUR GBP GEL HKD HUF IDR ILS INR JPY KRW KWD LKR MMK MXN MYR NGN
    NOK NZD PHP PKR PLN RUB SAR SEK SGD THB TRY TWD UAH VND ZAR
"""
CURRENCIES = frozenset(_LISTED.split())
COINS = {
    "AVAX": "avalanche-2",
    "BNB": "binancecoin",
    "BTC": "bitcoin",
    "DAI": "dai",
    "ETH": "ethereum",
    "EURC": "euro-coin",
    "POL": "polygon-ecosystem-token",
    "PYUSD": "paypal-usd",
    "SOL": "solana",
    "USDC": "usd-coin",
    "USDT": "tether",
}
_BRIDGE = COINS["BTC"]

_Prices = Mapping[str, Any]


class CoinGecko:
    def __init__(self, url: str = "") -> None:
        self._ticker = Ticker(NAME, url or URL)
        self._prices: WholeList[_Prices] = WholeList(self._fetch)

    def listings(self) -> Iterable[Listing]:
        return [Listing(NAME, CURRENCIES)]

    def observe(self, bases: Collection[str]) -> dict[str, list[Observation]]:
        """Return each base's value in USD, if it is not older than `RATE_MAX_AGE`."""
        known_bases = [base for base in bases if base in COINS or base in CURRENCIES]
        if not known_bases:
            return {}
        prices = self._prices.get()
        now = timezone.now()
        values = {base: in_usd(prices, base) for base in known_bases}
        return {
            base: [Observation(NAME, *each)]
            for base, each in values.items()
            if each is not None and is_fresh(each[1], now, max_age())
        }

    def _fetch(self) -> _Prices:
        prices = self._ticker.get(
            "/api/v3/simple/price",
            ids=",".join(sorted(COINS.values())),
            vs_currencies=",".join(code.lower() for code in sorted({"USD", *CURRENCIES})),
            include_last_updated_at="true",
            precision="full",
        )
        if not isinstance(prices, dict) or not any(coin in prices for coin in COINS.values()):
            raise ProviderDown("coingecko returned something other than prices")
        return prices


def in_usd(prices: _Prices, base: str) -> tuple[Fraction, datetime] | None:
    """Return a coin's or currency's value in USD and its time, or None."""
    coin = prices.get(COINS.get(base, _BRIDGE))
    if not isinstance(coin, dict):
        return None
    dollars, updated_at = number(coin.get("usd")), unix_time_of(coin.get("last_updated_at"))
    units = Fraction(1) if base in COINS else number(coin.get(base.lower()))
    if dollars is None or updated_at is None or units is None:
        return None
    return dollars / units, updated_at


make = CoinGecko
