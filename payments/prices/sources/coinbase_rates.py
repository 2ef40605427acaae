"""Coinbase's list of exchange rates (https://docs.cdp.coinbase.com, "Get exchange rates"). One call returns all.

The list has no time. Its age is the time since a response first had exactly these rates. Coin prices change all the
time, so a list that stays the same is stale. Only the list's currencies are used, not its coins. Other sources price
coins, and this list's rate of USDC is always 1.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from chains.currencies import is_currency
from payments.prices.rules import Observation
from payments.prices.sources import coinbase
from payments.prices.sources.base import Listing, Ticker, WholeList, is_fresh, max_age, number
from payments.providers.base import ProviderDown

NAME = "coinbase_rates"
URL = "https://api.coinbase.com"
_LISTED = """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY
    COP CRC CVE CZK DJF DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD
    ISK JMD JOD JPY KES KGS KHR KMF KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MUR MVR MWK MXN
    MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SEK SGD SHP SOS SRD
    SVC SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW
"""
CURRENCIES = frozenset(_LISTED.split())

_Rates = Mapping[str, Any]


class CoinbaseRates:
    def __init__(self, url: str = "") -> None:
        self._ticker = Ticker(NAME, url or URL)
        self._rates: WholeList[_Rates] = WholeList(self._fetch)
        self._first_seen: tuple[_Rates, datetime] | None = None

    def listings(self) -> Iterable[Listing]:
        """The operator is the same as that of `coinbase`, so both sources together have one vote."""
        return [Listing(NAME, CURRENCIES, coinbase.OPERATOR, prices_coins=False)]

    def observe(self, bases: Collection[str]) -> dict[str, list[Observation]]:
        """Return each currency's value in USD, if the list has changed within `RATE_MAX_AGE`."""
        currencies = [base for base in bases if is_currency(base)]
        if not currencies:
            return {}
        rates = self._rates.get()
        values = {base: number(rates.get(base)) for base in currencies}
        first_seen = self._first_seen
        if first_seen is None or not is_fresh(first_seen[1], timezone.now(), max_age()):
            return {}
        return {
            base: [Observation(NAME, 1 / units, first_seen[1], coinbase.OPERATOR)]
            for base, units in values.items()
            if units is not None
        }

    def _fetch(self) -> _Rates:
        rates = rates_of(self._ticker.get("/v2/exchange-rates", currency="USD"))
        if self._first_seen is None or self._first_seen[0] != rates:
            self._first_seen = rates, timezone.now()
        return rates


def rates_of(body: Any) -> _Rates:
    """Return how many units of each currency one dollar is worth, as sent. Raises ProviderDown if malformed."""
    data = body.get("data") if isinstance(body, dict) else None
    rates = data.get("rates") if isinstance(data, dict) and data.get("currency") == "USD" else None
    if not isinstance(rates, dict) or not rates:
        raise ProviderDown("coinbase returned something other than rates of the dollar")
    return rates


make = CoinbaseRates
