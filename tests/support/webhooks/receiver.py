"""A merchant's server on the loopback interface. It records requests and returns scripted responses."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from queue import Queue

from tests.loopback import listening

Answering = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def signature(self) -> str:
        return self.headers["Service-Signature"]

    @property
    def timestamp(self) -> int:
        return int(self.signature.split(",")[0].removeprefix("t="))


def answer(status: int, body: bytes = b"", **headers: str) -> Answering:
    """Return a function that responds with `status`. In header names, write `_` for `-`."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return send


@dataclass
class Receiver:
    """`answers` has one entry for each coming request. After the last one, the receiver returns 200."""

    url: str = ""
    answers: list[Answering] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    arrivals: "Queue[Received]" = field(default_factory=Queue)

    def take(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        received = Received(handler.path, dict(handler.headers.items()), body)
        self.received.append(received)
        self.arrivals.put(received)
        (self.answers.pop(0) if self.answers else answer(200))(handler)


@contextmanager
def running_receiver(port: int = 0) -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.take(self)

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            pass

    with listening(Handler, port) as address:
        receiver.url = f"{address}/hook"
        yield receiver
