"""The European Central Bank's daily euro reference rates (https://www.ecb.europa.eu/stats/eurofxref).

A daily rate can only confirm a source that isn't daily. A list is valid until the next one is due by the bank's
calendar. So it stays valid over weekends and holidays.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree as ET

from django.utils import timezone

from payments.prices.rules import Observation
from payments.prices.sources.base import Listing, Ticker, WholeList, number
from payments.prices.target_days import AGREED_AT, FRANKFURT, is_current
from payments.providers.base import ProviderDown

NAME = "ecb"
URL = "https://www.ecb.europa.eu"
_LISTED = """
    AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR ISK JPY KRW MXN MYR NOK NZD PHP PLN RON SEK SGD THB TRY ZAR
"""
CURRENCIES = frozenset(_LISTED.split())
_PATH = "/stats/eurofxref/eurofxref-daily.xml"
_KEPT_SECONDS = 600.0
_MALFORMED = "ecb returned something other than a day's reference rates"


@dataclass(frozen=True)
class DailyRates:
    """One day's list. `units` has how many units of each currency one euro is worth."""

    day: date
    units: dict[str, Fraction]

    def in_usd(self, currency: str) -> Fraction | None:
        """Return the value of one unit of the currency in USD, or None if it isn't listed."""
        units = self.units.get(currency)
        return None if units is None else self.units["USD"] / units


class Ecb:
    def __init__(self, url: str = "") -> None:
        self._ticker = Ticker(NAME, url or URL, accept="application/xml", parser=parse_xml)
        self._rates: WholeList[DailyRates] = WholeList(
            lambda: daily_rates(self._ticker.get(_PATH)), _KEPT_SECONDS
        )

    def listings(self) -> Iterable[Listing]:
        return [Listing(NAME, CURRENCIES, is_daily=True, prices_coins=False)]

    def observe(self, bases: Collection[str]) -> dict[str, list[Observation]]:
        """Return each currency's reference rate in USD. Return nothing once the next list is due."""
        currencies = [base for base in bases if base in CURRENCIES]
        if not currencies:
            return {}
        rates = self._rates.get()
        if not is_current(rates.day, timezone.now()):
            return {}
        observed_at = datetime.combine(rates.day, AGREED_AT, FRANKFURT)
        values = {base: rates.in_usd(base) for base in currencies}
        return {
            base: [Observation(NAME, value, observed_at, is_daily=True)]
            for base, value in values.items()
            if value is not None
        }


def parse_xml(path: str, body: bytes) -> ET.Element:
    """Parse UTF-8 XML. A document type is rejected, because it could define entities. Raises ProviderDown."""
    try:
        text = body.decode("utf-8")
        if "<!DOCTYPE" in text:
            raise ProviderDown(f"{path} returned XML with a document type")
        return ET.fromstring(text)  # noqa: S314 - bounded in size, and nothing defines entities
    except (ET.ParseError, ValueError):
        raise ProviderDown(f"{path} did not return plain XML") from None


def daily_rates(body: Any) -> DailyRates:
    """Parse a response.

    Raises ProviderDown if the response doesn't have exactly one day, or if a currency has no rate or several.
    """
    cubes = body.findall(".//{*}Cube") if isinstance(body, ET.Element) else []
    try:
        (day,) = [date.fromisoformat(cube.attrib["time"]) for cube in cubes if "time" in cube.attrib]
    except ValueError:
        raise ProviderDown(_MALFORMED) from None
    units = {"EUR": Fraction(1)}
    for cube in cubes:
        if "currency" in cube.attrib:
            code, rate = cube.attrib["currency"], number(cube.attrib.get("rate"))
            if code in units or rate is None:
                raise ProviderDown(_MALFORMED)
            units[code] = rate
    if "USD" not in units:
        raise ProviderDown(_MALFORMED)
    return DailyRates(day, units)


make = Ecb
