"""An HTTP client for untrusted JSON APIs.

A response that is late, too large, a redirect, or not strict JSON raises ProviderDown. Integers become int
and fractions Decimal, never float. API keys are sent only in headers. Logs contain the path without the query,
because the query contains the customer's address.
"""

import decimal
import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from decimal import Decimal
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError, ReadTimeoutError

from config.api.limits.waiting import RETRY_AFTER_SECONDS, Busy, waiting_for
from config.api.nesting import is_deeper_than
from config.bounded_body import BodyTooLarge, BodyTooSlow, BoundedBody
from config.observe.outside_calls import Kind, Outcome, measured
from payments.providers.base import ProviderDown
from payments.providers.budget import Circuit

logger = logging.getLogger(__name__)
# Silence urllib3's warnings about malformed headers: they contain the full URL with the customer's address.
logging.getLogger("urllib3.connection").setLevel(logging.ERROR)

CONNECT_SECONDS = 3.05
WHOLE_ANSWER_SECONDS = 10.0
MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_NESTING = 40
AT_ONCE = 16
LONGEST_WAIT_SECONDS = 7200.0
_WAIT_WITHOUT_ADVICE_SECONDS = 30.0
_TOO_MANY_REQUESTS = 429
_FAILED_DEPENDENCY = 424
_SECONDS = re.compile(r"[0-9]{1,10}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Answer:
    """A response with a 2xx or 4xx status. `body` is the parsed JSON, or None if a 4xx response has no JSON."""

    status: int
    body: Any


class _DependencyFailed(ProviderDown):
    """The provider responds, but one of its dependencies failed (HTTP 424)."""


class _NotReached(ProviderDown):
    """The connection failed, or the response was late."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


@dataclass(frozen=True)
class _Received:
    status: int
    headers: Mapping[str, str]
    body: bytes


class JsonApi:
    """The API of one provider. Thread-safe. Pass a `parser` for bodies that are not JSON.

    Each path has a circuit breaker (`Circuit`), because otherwise every call would wait for the time-out of a dead
    provider. So paths must not contain ids.
    """

    def __init__(
        self,
        provider: str,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        request_id_header: str = "x-request-id",
        parser: Callable[[str, bytes], Any] | None = None,
        kind: Kind = Kind.PROVIDER,
    ) -> None:
        self._provider = provider
        self._kind = kind
        self._base_url = base_url.rstrip("/")
        self._request_id_header = request_id_header
        self._parser = parser or parse
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, HTTPAdapter(pool_maxsize=AT_ONCE))
        self._session.headers.update({"Accept": "application/json", "User-Agent": "Quittance/1"})
        self._session.headers.update(headers or {})
        # A DNS lookup or slow headers can't be interrupted. So each call runs in a thread that may continue after the
        # call has timed out.
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix=f"routing-{provider}")
        self._circuits: dict[str, Circuit] = {}

    def get(
        self,
        path: str,
        query: Mapping[str, str],
        *,
        seconds: float = WHOLE_ANSWER_SECONDS,
        most_bytes: int = MAX_ANSWER_BYTES,
    ) -> Answer:
        """Raises ProviderDown if there is no usable response within `seconds`."""
        return self._call("GET", path, {"params": dict(query)}, seconds, most_bytes)

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        seconds: float = WHOLE_ANSWER_SECONDS,
        most_bytes: int = MAX_ANSWER_BYTES,
    ) -> Answer:
        """POST `body` as JSON. Raises ProviderDown if there is no usable response within `seconds`."""
        return self._call("POST", path, {"json": dict(body)}, seconds, most_bytes)

    def require_available(self, path: str) -> None:
        """Raise ProviderDown if a call of this path would be refused without being made."""
        self._circuit(path).require_closed()

    def _circuit(self, path: str) -> Circuit:
        return self._circuits.setdefault(path, Circuit(f"{self._provider} {path}"))

    def _call(
        self, method: str, path: str, content: Mapping[str, Any], seconds: float, most_bytes: int
    ) -> Answer:
        try:
            with waiting_for(self._provider):
                return self._call_now(method, path, content, seconds, most_bytes)
        except Busy:
            message = f"too many calls wait for {self._provider}"
            raise ProviderDown(message, retry_after=RETRY_AFTER_SECONDS) from None

    def _call_now(
        self, method: str, path: str, content: Mapping[str, Any], seconds: float, most_bytes: int
    ) -> Answer:
        circuit = self._circuit(path)
        circuit.enter()
        try:
            response = self._answer(method, path, content, seconds, most_bytes)
        except ProviderDown as error:
            if isinstance(error, _DependencyFailed):
                circuit.answered()
            else:
                circuit.failed(retry_after=error.retry_after)
            logger.warning("%s gave no usable response: %s", self._provider, error)
            raise
        circuit.answered()
        return response

    def _answer(
        self, method: str, path: str, content: Mapping[str, Any], seconds: float, most_bytes: int
    ) -> Answer:
        began = time.monotonic()
        with measured(self._kind, self._provider) as call:
            job = self._threads.submit(self._exchange, method, path, content, began + seconds, most_bytes)
            try:
                received = job.result(timeout=seconds)
            except FutureTimeout:
                job.cancel()
                call.outcome = Outcome.TIMED_OUT
                raise ProviderDown(f"{path} took longer than {seconds:.0f} s") from None
            except _NotReached as error:
                call.outcome = error.outcome
                raise
            if not 200 <= received.status < 300:
                call.responded(received.status)
            self._note(path, received, began)
            return _checked_answer(path, received, self._parser)

    def _exchange(
        self, method: str, path: str, content: Mapping[str, Any], ends_at: float, most_bytes: int
    ) -> _Received:
        left = ends_at - time.monotonic()
        if left <= 0:
            raise ProviderDown(f"{path} was not called: too many concurrent calls")
        try:
            with self._session.request(
                method,
                self._base_url + path,
                timeout=(min(CONNECT_SECONDS, left), left),
                allow_redirects=False,
                stream=True,
                **content,
            ) as response:
                body = _read(path, response, ends_at, most_bytes)
                return _Received(response.status_code, response.headers, body)
        except (requests.RequestException, HTTPError, UnicodeError) as error:
            # Log only the exception's type: its text contains the full URL.
            is_late = isinstance(error, (requests.Timeout, ReadTimeoutError))
            outcome = Outcome.TIMED_OUT if is_late else Outcome.UNREACHABLE
            raise _NotReached(f"{path} could not be reached ({type(error).__name__})", outcome) from None

    def _note(self, path: str, received: _Received, began: float) -> None:
        """Log the request id, which the provider's support needs."""
        request_id = received.headers.get(self._request_id_header, "")
        logger.info(
            "%s returned %d for %s in %d ms, request %s",
            self._provider,
            received.status,
            path,
            (time.monotonic() - began) * 1000,
            request_id if _REQUEST_ID.fullmatch(request_id) else "unnamed",
        )


def _read(path: str, response: requests.Response, ends_at: float, most_bytes: int) -> bytes:
    """Raises ProviderDown if the body is too large or arrives too slowly."""
    try:
        return BoundedBody(response, most_bytes=most_bytes, ends_at=ends_at).read_all()
    except BodyTooLarge:
        raise ProviderDown(f"{path} returned more than {most_bytes:,} bytes") from None
    except BodyTooSlow:
        raise _NotReached(f"{path} took too long", Outcome.TIMED_OUT) from None


def _checked_answer(path: str, received: _Received, parser: Callable[[str, bytes], Any]) -> Answer:
    status = received.status
    if status == _TOO_MANY_REQUESTS:
        # Read `ratelimit-reset` only with status 429. With any other status, it says when the current window ends,
        # not that we must wait.
        wait = _advised_wait(received.headers, "retry-after", "ratelimit-reset")
        wait = _WAIT_WITHOUT_ADVICE_SECONDS if wait is None else wait
        raise ProviderDown(f"{path} is over its rate limit (HTTP 429)", retry_after=wait)
    if status == _FAILED_DEPENDENCY:
        raise _DependencyFailed(f"{path} returned HTTP {status}")
    if status >= 500:
        wait = _advised_wait(received.headers, "retry-after")
        raise ProviderDown(f"{path} returned HTTP {status}", retry_after=wait)
    if 200 <= status < 300:
        return Answer(status, parser(path, received.body))
    if 400 <= status < 500:
        try:
            return Answer(status, parser(path, received.body))
        except ProviderDown:
            return Answer(status, None)
    raise ProviderDown(f"{path} returned HTTP {status}")


def _advised_wait(headers: Mapping[str, str], *names: str) -> float | None:
    """Return the seconds to wait (1 to LONGEST_WAIT_SECONDS), from the first of these headers that is present."""
    for name in names:
        value = headers.get(name, "").strip()
        if _SECONDS.fullmatch(value):
            return min(max(float(value), 1.0), LONGEST_WAIT_SECONDS)
    return None


def parse(path: str, body: bytes) -> Any:
    """Parse strict JSON. Fractions become Decimal. Raises ProviderDown."""
    try:
        text = body.decode("utf-8")
        if is_deeper_than(MAX_NESTING, text):
            raise ProviderDown(f"{path} returned JSON that is nested too deep")
        return json.loads(
            text, parse_float=_fraction, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys
        )
    except ValueError:
        # The exception's text may contain a part of the response, so don't log it.
        raise ProviderDown(f"{path} did not return plain JSON") from None


def _fraction(text: str) -> Decimal:
    try:
        return Decimal(text)
    except decimal.InvalidOperation as error:
        raise ValueError("a number is out of range") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object has a duplicate key")
    return result
