"""A routing provider on the loopback interface that answers as a test asks it to, slowly or badly if need be."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.loopback import listening


class Exchange:
    """One HTTP request, and the ways to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        self._handler = handler
        parts = urlsplit(handler.path)
        self.method = handler.command
        self.path = parts.path
        self.query = dict(parse_qsl(parts.query))
        self.target = handler.path
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body = body

    def send(self, status: int, body: bytes, *, length: int | None = None, **headers: str) -> None:
        """Send these bytes, under a Content-Length that may be a lie."""
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.send_header("Content-Length", str(len(body) if length is None else length))
        self._handler.end_headers()
        self.write(body)

    def write(self, piece: bytes) -> None:
        self._handler.wfile.write(piece)
        self._handler.wfile.flush()

    def hang_up(self) -> None:
        """End the connection, whether or not all was said."""
        self._handler.close_connection = True

    def reply(self, answer: Any, status: int = 200, **headers: str) -> None:
        self.send(status, json.dumps(answer).encode(), Content_Type="application/json", **headers)


Behaviour = Callable[[Exchange], None]


@dataclass
class Provider:
    """Where it listens, and what it was asked. `released` is set when the test is over."""

    url: str
    heard: list[Exchange] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def paths(self) -> list[str]:
        return [exchange.path for exchange in self.heard]


@contextmanager
def serving(behave: Behaviour) -> Iterator[Provider]:
    """Run a provider that answers everything as `behave` does."""
    provider = Provider("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            exchange = Exchange(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))
            provider.heard.append(exchange)
            try:
                behave(exchange)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with listening(Handler) as address:
        provider.url = f"{address}/v1"
        try:
            yield provider
        finally:
            provider.released.set()
