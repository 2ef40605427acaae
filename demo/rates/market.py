"""The prices of the local world in US dollars, and the switches that make the sources misbehave."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

HONEST = "honest"
SOURCES = ("feeds", "coinbase", "kraken")
FAULTS = {
    HONEST: "answers with the market's prices, as of now",
    "frozen": "answers with the time of two days ago",
    "away": "answers with prices 3 % above the market's",
    "zero": "answers with 0",
    "garbage": "answers without a price; a feed carries an earlier round over",
    "down": "HTTP 503; a feed reverts",
}
PRICES = {
    "BTC": "100000",
    "DAI": "0.9998",
    "ETH": "2500",
    "EUR": "1.08",
    "GBP": "1.27",
    "JPY": "0.0067",
    "SOL": "150",
    "USDC": "1",
    "USDT": "1.0002",
}
FROZEN_FOR = timedelta(days=2)
_AWAY = Decimal("1.03")


class UnknownSwitch(ValueError):
    """There is no such switch or position. The message lists the valid ones."""


@dataclass(frozen=True)
class Positions:
    """The state: the fault of each source, and the changed prices in dollars."""

    feeds: str = HONEST
    coinbase: str = HONEST
    kraken: str = HONEST
    prices: Mapping[str, str] = field(default_factory=dict)

    def price(self, source: str, code: str) -> Decimal | None:
        """Return the source's price of one unit, or None if the source doesn't list it."""
        price = self.prices.get(code) or PRICES.get(code)
        if price is None:
            return None
        fault = getattr(self, source)
        return Decimal(0) if fault == "zero" else Decimal(price) * (_AWAY if fault == "away" else 1)


class Market:
    """The positions of all switches. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._positions = Positions()

    def __call__(self) -> Positions:
        """Return the current state."""
        with self._lock:
            return self._positions

    def set(self, changed: Mapping[str, Any]) -> Positions:
        """Change some of the switches. If one of them is invalid, change none of them and raise UnknownSwitch."""
        _check(changed)
        with self._lock:
            prices = {**self._positions.prices, **changed.get("prices", {})}
            self._positions = replace(self._positions, **{**changed, "prices": prices})
            return self._positions

    def reset(self) -> Positions:
        """Reset all prices and sources."""
        with self._lock:
            self._positions = Positions()
            return self._positions


def _check(changed: Mapping[str, Any]) -> None:
    for name, position in changed.items():
        if name == "prices":
            _check_prices(position)
        elif name not in SOURCES:
            raise UnknownSwitch(f"There is no switch {name!r}; there are {', '.join(SOURCES)} and prices.")
        elif not isinstance(position, str) or position not in FAULTS:
            raise UnknownSwitch(f"{name!r} can be {', '.join(FAULTS)}; not {position!r}.")


def _check_prices(prices: Any) -> None:
    if not isinstance(prices, dict):
        raise UnknownSwitch('prices should be an object such as {"EUR": "1.20"}.')
    for code, price in prices.items():
        if code not in PRICES:
            raise UnknownSwitch(f"There is no price of {code!r}; there are {', '.join(PRICES)}.")
        if not _is_price(price):
            raise UnknownSwitch(f'A price should be a decimal string above 0, such as "1.20"; not {price!r}.')


def _is_price(price: Any) -> bool:
    try:
        return (
            isinstance(price, str) and len(price) < 20 and Decimal("1e-6") <= Decimal(price) < Decimal("1e9")
        )
    except InvalidOperation:
        return False
