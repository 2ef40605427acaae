"""An HTTP proxy in front of a real node. It can fail, lag or lie, for all methods or for some."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Any

import requests

from tests import loopback

Json = dict[str, Any]
MEGABYTE = 1024 * 1024


class FaultProxy:
    """The proxy's URL, its recorded requests and its current fault."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.url = ""
        self.asked: list[list[str]] = []
        self.bodies: list[Any] = []
        self._session = requests.Session()
        self._fault: Fault | None = None
        self._methods: frozenset[str] = frozenset()
        self.released = threading.Event()

    @property
    def round_trips(self) -> int:
        """The number of HTTP requests that arrived."""
        return len(self.asked)

    def break_with(self, fault: "Fault", *methods: str) -> None:
        """Respond with this fault from now on: to all requests, or to those that call one of these methods."""
        self.heal()
        self._fault, self._methods = fault, frozenset(methods)

    def heal(self) -> None:
        """Respond like the node again, and release the requests that hang."""
        self._fault, self._methods = None, frozenset()
        self.released.set()
        self.released = threading.Event()

    def answer(self, exchange: "Exchange") -> None:
        self.asked.append(exchange.methods)
        self.bodies.append(exchange.body)
        fault = self._fault
        if fault is None or (self._methods and self._methods.isdisjoint(exchange.methods)):
            exchange.reply(exchange.truth())
        else:
            fault(exchange)

    def ask_node(self, body: Any) -> list[Json]:
        """Return the real node's responses."""
        answers = self._session.post(self.upstream, json=body, timeout=30).json()
        return answers if isinstance(answers, list) else [answers]


class Exchange(loopback.Exchange):
    """One request to the proxy, and the ways to respond to it."""

    def __init__(self, proxy: FaultProxy, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        super().__init__(handler, body)
        self.proxy = proxy
        self.body = json.loads(body)

    @property
    def questions(self) -> list[Json]:
        return self.body if isinstance(self.body, list) else [self.body]

    @property
    def methods(self) -> list[str]:
        return [question["method"] for question in self.questions]

    def truth(self) -> list[Json]:
        """Return the real node's responses in the order of the requests."""
        return self.proxy.ask_node(self.body)

    def reply(self, answers: list[Json]) -> None:
        super().reply(answers if isinstance(self.body, list) else answers[0])


Fault = Callable[[Exchange], None]


def truth(exchange: Exchange) -> None:
    """Forward the node's responses."""
    exchange.reply(exchange.truth())


def null(exchange: Exchange) -> None:
    """Set every result to null."""
    exchange.reply([{**answer, "result": None} for answer in _sound(exchange)])


def forgetful(exchange: Exchange) -> None:
    """Return no transaction and no receipt; forward everything else."""
    forgotten = ("eth_getTransactionByHash", "eth_getTransactionReceipt")
    exchange.reply(
        [
            {**answer, "result": None} if question["method"] in forgotten else answer
            for question, answer in zip(exchange.questions, exchange.truth(), strict=True)
        ]
    )


def limiting(seconds: int) -> Fault:
    """Return 429 with this Retry-After."""
    return lambda exchange: exchange.send(429, b'{"error": "slow down"}', Retry_After=str(seconds))


def server_error(exchange: Exchange) -> None:
    """500."""
    exchange.send(500, b"Internal Server Error", Content_Type="text/plain")


def hang(exchange: Exchange) -> None:
    """Send no response until the proxy is healed."""
    exchange.proxy.released.wait(30)
    exchange.handler.close_connection = True


def truncated(exchange: Exchange) -> None:
    """Send only the first half of a valid response."""
    body = json.dumps(exchange.truth()).encode()
    exchange.send(200, body[: len(body) // 2])


def wrong_id(exchange: Exchange) -> None:
    """Return valid responses with wrong ids."""
    exchange.reply([{**answer, "id": answer["id"] + 1000} for answer in exchange.truth()])


def html(exchange: Exchange) -> None:
    """Return an HTML page with status 200."""
    exchange.send(200, b"<!doctype html><title>Just a moment...</title>", Content_Type="text/html")


def reset(exchange: Exchange) -> None:
    connection = exchange.handler.connection
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.handler.close_connection = True
    connection.close()


def huge(exchange: Exchange) -> None:
    """100 MB, streamed."""
    exchange.send(200, b"[", length=100 * MEGABYTE)
    blank = b" " * MEGABYTE
    for _ in range(99):
        exchange.handler.wfile.write(blank)


def other_chain(url: str) -> Fault:
    """Return the responses of another chain's node."""

    def answer(exchange: Exchange) -> None:
        answers = requests.post(url, json=exchange.body, timeout=30).json()
        exchange.reply(answers if isinstance(answers, list) else [answers])

    return answer


def old_head(height: int) -> Fault:
    """Return the responses that the node gave when `height` was its newest block."""

    def answer(exchange: Exchange) -> None:
        tags = {"latest": hex(height), "pending": hex(height)}
        body = [
            {**question, "params": [tags.get(p, p) if isinstance(p, str) else p for p in question["params"]]}
            for question in exchange.questions
        ]
        answers = exchange.proxy.ask_node(body)
        exchange.reply([_as_of(height, q, a) for q, a in zip(exchange.questions, answers, strict=True)])

    return answer


def _as_of(height: int, question: Json, answer: Json) -> Json:
    result = answer.get("result")
    if question["method"] == "eth_blockNumber":
        return {**answer, "result": hex(height)}
    if isinstance(result, dict):
        number = result.get("number") or result.get("blockNumber")
        if number is None or int(number, 16) > height:
            return {**answer, "result": None}
    return answer


def forged_receipts(change: Callable[[Json], Json]) -> Fault:
    """Forward everything, but change each receipt that exists with `change`."""
    return forged("eth_getTransactionReceipt", change)


def forged(method: str, change: Callable[[Json], Json]) -> Fault:
    """Forward everything, but change the results of one method, if there are any."""

    def answer(exchange: Exchange) -> None:
        exchange.reply(
            [
                {**a, "result": change(a["result"])} if q["method"] == method and a.get("result") else a
                for q, a in zip(exchange.questions, exchange.truth(), strict=True)
            ]
        )

    return answer


def lacking(
    *methods: str, code: int = -32601, message: str = "the method does not exist/is not available"
) -> Fault:
    """Forward everything except these methods, which return an error."""
    error = {"code": code, "message": message}

    def answer(exchange: Exchange) -> None:
        exchange.reply(
            [
                {"jsonrpc": "2.0", "id": q["id"], "error": error} if q["method"] in methods else a
                for q, a in zip(exchange.questions, exchange.truth(), strict=True)
            ]
        )

    return answer


def refuse_creation(exchange: Exchange) -> None:
    """Forward everything except calls that run code which is not on the chain."""
    error = {"code": -32602, "message": "missing field `to`"}
    exchange.reply(
        [
            {"jsonrpc": "2.0", "id": q["id"], "error": error}
            if q["method"] == "eth_call" and "to" not in q["params"][0]
            else a
            for q, a in zip(exchange.questions, exchange.truth(), strict=True)
        ]
    )


def _sound(exchange: Exchange) -> list[Json]:
    return [{"jsonrpc": "2.0", "id": question["id"]} for question in exchange.questions]


@contextmanager
def proxying(upstream: str) -> Iterator[FaultProxy]:
    """Run a proxy in front of the node at `upstream`."""
    proxy = FaultProxy(upstream)
    with loopback.scripted(proxy.answer, exchange=partial(Exchange, proxy)) as server:
        proxy.url = server.url
        try:
            yield proxy
        finally:
            proxy.heal()
