"""Local rate sources. Their responses have the formats that the real ones document."""

import contextlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

from payments.prices.target_days import is_current
from tests.loopback import Exchange, scripted

_KRAKENS_NAMES = {"EURUSD": "ZEURZUSD", "ETHUSD": "XETHZUSD", "XBTUSD": "XXBTZUSD", "USDJPY": "ZUSDZJPY"}


# Sources by the beginning of their path.
_SOURCES = {
    "/products/": "coinbase",
    "/v2/": "coinbase_rates",
    "/0/": "kraken",
    "/api/v3/": "coingecko",
    "/stats/": "ecb",
}
_ECB = """<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
\t<gesmes:subject>Reference rates</gesmes:subject>
\t<gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
\t<Cube><Cube time='{day}'>{cubes}</Cube></Cube>
</gesmes:Envelope>"""


def ecb_list(day: str, rates: dict[str, str]) -> bytes:
    """Return a day's reference rates in the European Central Bank's format."""
    cubes = "".join(f"<Cube currency='{code}' rate='{rate}'/>" for code, rate in rates.items())
    return _ECB.format(day=day, cubes=cubes).encode()


def kraken_trades(pair: str, *trades: tuple[Any, Any], **different: Any) -> dict[str, Any]:
    """Return a response of Kraken with these trades (price and time)."""
    entries = [[price, "0.1", time, "b", "l", "", 61044952 + n] for n, (price, time) in enumerate(trades)]
    return {"error": [], "result": {pair: entries, "last": "1688671969993150842"}, **different}


@dataclass
class Exchanges:
    """The sources' data: prices by product (`USDC-USD`) and by pair (`USDCUSD`), and rate lists."""

    coinbase: dict[str, str] = field(default_factory=lambda: {"USDC-USD": "1.0002", "EUR-USD": "1.0985"})
    kraken: dict[str, str] = field(default_factory=lambda: {"USDCUSD": "0.9999", "EURUSD": "1.0981"})
    coinbase_rates: dict[str, str] = field(
        default_factory=lambda: {"EUR": "0.9", "JPY": "150", "BTC": "0.00001"}
    )
    coingecko: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            "bitcoin": {"usd": 100000, "eur": 90000},
            "usd-coin": {"usd": Decimal("1.0001")},
        }
    )
    ecb: dict[str, str] = field(default_factory=lambda: {"USD": "1.1", "JPY": "165"})
    day: str = ""
    """The day of the European Central Bank's list; the newest one that is due if empty."""
    time: str = ""
    """The time of the last trades of Coinbase and Kraken; now if empty."""
    unknown_pair: str = "EQuery:Unknown asset pair"
    """Kraken's error for a pair that it doesn't list."""
    broken: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """What a source answers whatever is asked, by its name."""
    asked: list[str] = field(default_factory=list)
    hanging: set[str] = field(default_factory=set)
    """The sources that answer only once the test is over."""
    over: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def answer(self, path: str) -> tuple[int, bytes]:
        self.asked.append(path)
        name = next(source for beginning, source in _SOURCES.items() if path.startswith(beginning))
        if name in self.hanging:
            self.over.wait(60)
        if name in self.broken:
            return self.broken[name]
        status, body = getattr(self, f"_{name}")(path)
        return status, body if isinstance(body, bytes) else json.dumps(body, default=float).encode()

    def urls(self) -> dict[str, str]:
        return dict.fromkeys(_SOURCES.values(), self.url)

    def _coinbase(self, path: str) -> tuple[int, Any]:
        price = self.coinbase.get(path.removeprefix("/products/").removesuffix("/ticker"))
        if price is None:
            return 404, {"message": "NotFound"}
        time = self.time or datetime.now(UTC).isoformat().replace("+00:00", "Z")
        more = {"trade_id": 86326522, "size": "0.5", "bid": price, "ask": price, "volume": "1234.5"}
        return 200, {"price": price, "time": time, **more}

    def _kraken(self, path: str) -> tuple[int, Any]:
        query = parse_qs(urlsplit(path).query)
        assert urlsplit(path).path == "/0/public/Trades"
        assert query["count"] == ["1"]
        (pair,) = query["pair"]
        price = self.kraken.get(pair)
        if price is None:
            return 200, {"error": [self.unknown_pair]}
        traded_at: Any = self.time or datetime.now(UTC).isoformat()
        with contextlib.suppress(ValueError):
            traded_at = datetime.fromisoformat(traded_at).timestamp()
        return 200, kraken_trades(_KRAKENS_NAMES.get(pair, pair), (price, traded_at))

    def _coinbase_rates(self, _path: str) -> tuple[int, Any]:
        return 200, {"data": {"currency": "USD", "rates": self.coinbase_rates}}

    def _coingecko(self, _path: str) -> tuple[int, Any]:
        now = int(datetime.now(UTC).timestamp())
        return 200, {coin: {"last_updated_at": now, **prices} for coin, prices in self.coingecko.items()}

    def _ecb(self, _path: str) -> tuple[int, Any]:
        return 200, ecb_list(self.day or _newest_day(), self.ecb)


def _newest_day() -> str:
    now = datetime.now(UTC)
    days = (now.date() - timedelta(days=ago) for ago in range(10))
    return next(day for day in days if is_current(day, now)).isoformat()


@contextmanager
def running_exchanges() -> Iterator[Exchanges]:
    """Serve all sources at one URL."""
    exchanges = Exchanges()

    def behave(exchange: Exchange) -> None:
        exchange.send(*exchanges.answer(exchange.target), Content_Type="application/octet-stream")

    with scripted(behave) as server:
        exchanges.url = server.url
        try:
            yield exchanges
        finally:
            exchanges.over.set()
