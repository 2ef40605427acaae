"""Servers on the loopback interface. `scripted` responds as a test says, even slowly or wrongly."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: Any) -> None:
        """Ignore clients that hang up."""


class Exchange:
    """One HTTP request, and the ways to respond to it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        parts = urlsplit(handler.path)
        self.handler = handler
        self.method = handler.command
        self.target = handler.path
        self.path = parts.path
        self.query = dict(parse_qsl(parts.query))
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body: Any = body

    def send(self, status: int, body: bytes = b"", *, length: int | None = None, **headers: str) -> None:
        """Send these bytes. `length` is a wrong Content-Length. In header names, write `_` for `-`."""
        self.handler.send_response(status)
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.send_header("Content-Length", str(len(body) if length is None else length))
        self.handler.end_headers()
        self.write(body)

    def write(self, piece: bytes) -> None:
        self.handler.wfile.write(piece)
        self.handler.wfile.flush()

    def hang_up(self) -> None:
        """Close the connection after this response, complete or not."""
        self.handler.close_connection = True

    def reply(self, answer: Any, status: int = 200, **headers: str) -> None:
        self.send(status, json.dumps(answer).encode(), Content_Type="application/json", **headers)


Behaviour = Callable[[Any], None]


@dataclass
class Scripted:
    """The server's address and the requests it received. `released` is set at the end of the test."""

    url: str = ""
    heard: list[Any] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def paths(self) -> list[str]:
        return [exchange.path for exchange in self.heard]


@contextmanager
def scripted(
    behave: Behaviour, *, path: str = "", exchange: Callable[[BaseHTTPRequestHandler, bytes], Any] = Exchange
) -> Iterator[Scripted]:
    """Run a server that passes each request to `behave` as an `exchange`. The server's URL ends with `path`."""
    server = Scripted()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self) -> None:
            arrived = exchange(self, self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            server.heard.append(arrived)
            try:
                behave(arrived)
                if not self.wfile.closed:
                    self.wfile.flush()
            except (OSError, ValueError):  # the client or the behaviour hung up
                self.close_connection = True

        do_POST = do_PUT = do_PATCH = do_GET

        def finish(self) -> None:
            with suppress(OSError, ValueError):
                super().finish()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with listening(Handler) as address:
        server.url = f"{address}{path}"
        try:
            yield server
        finally:
            server.released.set()


def listening(handler: type[BaseHTTPRequestHandler], port: int = 0) -> AbstractContextManager[str]:
    """Serve with `handler` on the loopback interface. The default port is a free one."""
    return serving(_Server(("127.0.0.1", port), handler))


@contextmanager
def serving(server: HTTPServer) -> Iterator[str]:
    """Run the server in a thread; yield its URL, without a slash at the end."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
