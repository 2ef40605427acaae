"""A node on the loopback interface that misbehaves as a test asks it to, or passes on what a real one says."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import requests

from tests.loopback import listening

CHAIN_ID = 31337


class Exchange:
    """One HTTP request to the node, and the ways to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        self._handler = handler
        self.body = body
        self.asked = json.loads(body)

    @property
    def questions(self) -> list[dict[str, Any]]:
        return self.asked if isinstance(self.asked, list) else [self.asked]

    @property
    def is_identity(self) -> bool:
        return [question["method"] for question in self.questions] == ["eth_chainId"]

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

    def reply(self, answers: Any) -> None:
        self.send(200, json.dumps(answers).encode(), Content_Type="application/json")

    def results(self, *results: Any) -> None:
        """Answer each question with a result, in order."""
        answers = [
            {"jsonrpc": "2.0", "id": question["id"], "result": result}
            for question, result in zip(self.questions, results, strict=True)
        ]
        self.reply(answers if isinstance(self.asked, list) else answers[0])

    def forward(self, url: str) -> None:
        """Answer what a real node answers."""
        answer = requests.post(url, data=self.body, headers={"Content-Type": "application/json"}, timeout=30)
        self.send(answer.status_code, answer.content, Content_Type="application/json")


Behaviour = Callable[[Exchange], None]


@dataclass
class Node:
    """Where the node listens, and what it was asked."""

    url: str
    heard: list[Exchange] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def payment_questions(self) -> list[Exchange]:
        """What was asked beyond the identity of the chain."""
        return [exchange for exchange in self.heard if not exchange.is_identity]


@contextmanager
def serving(behave: Behaviour, *, chain_id: int = CHAIN_ID, path: str = "") -> Iterator[Node]:
    """Run a node that tells its chain id truthfully and answers everything else as `behave` does."""
    node = Node("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            exchange = Exchange(self, self.rfile.read(int(self.headers["Content-Length"])))
            node.heard.append(exchange)
            try:
                if exchange.is_identity:
                    exchange.results(hex(chain_id))
                else:
                    behave(exchange)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with listening(Handler) as address:
        node.url = f"{address}{path}"
        try:
            yield node
        finally:
            node.released.set()
