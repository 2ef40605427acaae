"""Forward events to a local server. The requests are like real deliveries."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import requests
from urllib3.exceptions import NewConnectionError

from quittance import webhooks
from quittance.objects import Event

TIMEOUT_SECONDS = 10
USER_AGENT = "Quittance-Webhooks/1"


class NobodyThere(Exception):
    """The connection failed, so the server has not seen the event."""


@dataclass(frozen=True)
class Forwarded:
    """The server's response: a status, or an error."""

    status_code: int | None
    duration_ms: int
    error: str | None

    def to_dict(self) -> dict[str, Any]:
        return {"status_code": self.status_code, "duration_ms": self.duration_ms, "error": self.error}


class Forwarder:
    """Posts events to one URL. Each request has a new signature."""

    def __init__(self, url: str, secret: str) -> None:
        self.url = url
        self._secret = secret

    def forward(self, event: Event) -> Forwarded:
        """Post `event` with the headers of a real delivery. Raises NobodyThere if no server listens."""
        body = body_of(event)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            "Accept-Encoding": "identity",
            "Service-Event-Id": event.id,
            "Service-Event-Type": event.type,
            "Service-Signature": webhooks.sign(body, self._secret, int(time.time())),
        }
        started = time.monotonic()
        status, error = None, None
        try:
            status = _post(self.url, body, headers)
        except requests.RequestException as problem:
            reason = getattr(problem.args[0], "reason", None) if problem.args else None
            if isinstance(problem, requests.ConnectTimeout) or isinstance(reason, NewConnectionError):
                raise NobodyThere(str(reason).rpartition("] ")[2]) from None
            error = _in_words(problem)
        return Forwarded(status, round((time.monotonic() - started) * 1000), error or _verdict(status))


def body_of(event: Event) -> bytes:
    """Return the body that the service would send and sign: compact JSON in UTF-8."""
    return json.dumps(event.to_dict(), ensure_ascii=False, separators=(",", ":")).encode()


def _post(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Return the response's status.

    Each event uses a new connection. If an old connection broke, it would be unknown whether the server has seen the
    event.
    """
    with requests.Session() as session:
        session.trust_env = False  # proxies and .netrc are not for a local server
        session.headers.clear()
        with session.post(
            url, body, headers=headers, timeout=TIMEOUT_SECONDS, allow_redirects=False, stream=True
        ) as response:
            return response.status_code


def _verdict(status: int | None) -> str | None:
    """Return a note that says how the service would treat this status if the delivery were real."""
    if status is None or 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return "redirects are not followed"
    return "a real delivery would be tried again"


def _in_words(problem: requests.RequestException) -> str:
    if isinstance(problem, requests.Timeout):
        return f"no answer within {TIMEOUT_SECONDS} s"
    return "the connection was closed before an answer"
