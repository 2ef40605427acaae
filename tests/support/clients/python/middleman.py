"""A server between a client and the real service. It forwards calls, and can lose, cut or replace the responses."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import requests

from tests.loopback import Exchange, scripted


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Middleman:
    """`faults` has one entry for each coming call. If there is none, or it is None, the call is forwarded."""

    upstream: str
    url: str = ""
    faults: list["Fault | None"] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, exchange: Exchange) -> None:
        headers = dict(exchange.handler.headers.items())
        asked = Asked(exchange.method, exchange.target, headers, exchange.body)
        with self._lock:
            self.asked.append(asked)
            fault = self.faults.pop(0) if self.faults else None
        (fault or hand_on)(self, asked, exchange.handler)

    def ask_upstream(self, asked: Asked) -> requests.Response:
        headers = {
            name: value for name, value in asked.headers.items() if name.lower() not in ("host", "connection")
        }
        with requests.Session() as session:
            session.trust_env = False
            return session.request(
                asked.method, self.upstream + asked.path, data=asked.body, headers=headers, timeout=20
            )

    @property
    def idempotency_keys(self) -> list[str | None]:
        return [asked.headers.get("Idempotency-Key") for asked in self.asked]


Fault = Callable[[Middleman, Asked, BaseHTTPRequestHandler], None]


def hand_on(middleman: Middleman, asked: Asked, handler: BaseHTTPRequestHandler) -> None:
    answer = middleman.ask_upstream(asked)
    kept = ("Content-Type", "X-Request-Id", "Retry-After", "Idempotent-Replayed")
    _send(handler, answer.status_code, answer.content, {n: v for n, v in answer.headers.items() if n in kept})


def cut(middleman: Middleman, asked: Asked, handler: BaseHTTPRequestHandler) -> None:
    """Close the connection before the service gets the call."""
    handler.close_connection = True
    handler.connection.close()


def cut_after_it_was_handled(middleman: Middleman, asked: Asked, handler: BaseHTTPRequestHandler) -> None:
    """Have the service handle the call, but don't return its response."""
    assert middleman.ask_upstream(asked).ok
    cut(middleman, asked, handler)


def answering(status: int, body: Any = None, **headers: str) -> Fault:
    """Return another response than the service's. In header names, write `_` for `-`."""

    def send(middleman: Middleman, asked: Asked, handler: BaseHTTPRequestHandler) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        _send(handler, status, content, {name.replace("_", "-"): value for name, value in headers.items()})

    return send


def problem(code: str, type_: str) -> dict[str, Any]:
    """Return an error in the service's format."""
    return {
        "error": {"type": type_, "code": code, "message": "Not now.", "param": None, "request_id": "req_1"}
    }


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def standing_before(upstream: str) -> Iterator[Middleman]:
    middleman = Middleman(upstream)
    with scripted(middleman.take) as server:
        middleman.url = server.url
        yield middleman
