"""Exchanges on this machine whose public tickers have the documented form of Coinbase's and Kraken's."""

import contextlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.loopback import listening

_KRAKENS_NAMES = {"EURUSD": "ZEURZUSD", "ETHUSD": "XETHZUSD", "XBTUSD": "XXBTZUSD", "USDJPY": "ZUSDZJPY"}


@dataclass
class Exchanges:
    """What the exchanges say: prices by product (`USDC-USD`) and by pair (`USDCUSD`)."""

    coinbase: dict[str, str] = field(default_factory=lambda: {"USDC-USD": "1.0002", "EUR-USD": "1.0985"})
    kraken: dict[str, str] = field(default_factory=lambda: {"USDCUSD": "0.9999", "EURUSD": "1.0981"})
    time: str = ""
    """The time of Coinbase's last trades; now if empty."""
    broken: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """What an exchange answers whatever is asked, by its name."""
    asked: list[str] = field(default_factory=list)
    hanging: set[str] = field(default_factory=set)
    """The exchanges that answer only once the test is over."""
    over: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def answer(self, path: str) -> tuple[int, bytes]:
        self.asked.append(path)
        name = "kraken" if path.startswith("/0/") else "coinbase"
        if name in self.hanging:
            self.over.wait(60)
        if name in self.broken:
            return self.broken[name]
        status, body = getattr(self, f"_{name}")(path)
        return status, json.dumps(body).encode()

    def _coinbase(self, path: str) -> tuple[int, Any]:
        price = self.coinbase.get(path.removeprefix("/products/").removesuffix("/ticker"))
        if price is None:
            return 404, {"message": "NotFound"}
        time = self.time or datetime.now(UTC).isoformat().replace("+00:00", "Z")
        more = {"trade_id": 86326522, "size": "0.5", "bid": price, "ask": price, "volume": "1234.5"}
        return 200, {"price": price, "time": time, **more}

    def _kraken(self, path: str) -> tuple[int, Any]:
        (pair,) = parse_qs(urlsplit(path).query)["pair"]
        price = self.kraken.get(pair)
        if price is None:
            return 200, {"error": ["EQuery:Unknown asset pair"]}
        level, day = [price, "1", "1.000"], ["10.5", "99.1"]
        ticker = {"a": level, "b": level, "c": [price, "0.1"], "v": day, "p": day, "t": [9, 12], "o": price}
        return 200, {"error": [], "result": {_KRAKENS_NAMES.get(pair, pair): ticker}}


@contextmanager
def running_exchanges() -> Iterator[Exchanges]:
    """Serve both exchanges."""
    exchanges = Exchanges()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, body = exchanges.answer(self.path)
            with contextlib.suppress(OSError):  # the client may have given up
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    with listening(Handler) as url:
        exchanges.url = url
        try:
            yield exchanges
        finally:
            exchanges.over.set()
