"""The HTTP client for URLs that merchants choose.

A merchant must not be able to reach the operator's private network. So the host name is resolved once, every address is
checked, and the connection goes to a checked address. The certificate must be for the host name
(`webhooks.dispatch.connections`). There is no code for redirects, proxies, cookies, credentials or decompression.

One deadline covers everything from name resolution to the last byte.
"""

import http
import http.client
import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import certifi
from django.conf import settings

from config.api.errors import ApiError, ErrorCode
from config.api.limits.waiting import Busy, waiting_for
from merchants.web_addresses import WebAddress, split_web_address
from webhooks.dispatch.connections import Connection, Kept, Key, connect
from webhooks.dispatch.public_addresses import is_public

DEADLINE_SECONDS = 10.0
LOOK_UP_AT_SAVE_SECONDS = 3.0
MAX_ANSWER_BYTES = 16 * 1024
EXCERPT_BYTES = 1024
_MAX_INTERIM_ANSWERS = 100
_MAX_ADDRESSES = 8
_HEADER = re.compile(r"[A-Za-z0-9-]+: [\x20-\x7e]*")
# Merchants choose these servers and can make them slow. With these limits, they can block only a few threads of a web
# process.
_MAX_TESTS_AT_ONCE = 3
_MAX_NAMES_AT_ONCE = 4
_kept = Kept()
# getaddrinfo can't be interrupted. In these threads, a slow lookup may continue after its caller has timed out.
_lookups = ThreadPoolExecutor(max_workers=64, thread_name_prefix="lookup")

Resolve = Callable[[str], list[str]]


@dataclass(frozen=True)
class Answer:
    """The result of a request. `error` is a sentence, or empty on success. `excerpt` is the first 1 KiB of the body."""

    status_code: int | None
    error: str
    excerpt: str
    duration_ms: int

    @property
    def is_success(self) -> bool:
        """Whether a 2xx status line arrived in time."""
        return self.status_code is not None and 200 <= self.status_code < 300


@dataclass(frozen=True)
class Rules:
    """Whether URLs may have plain http and private addresses."""

    allow_http: bool
    allow_private: bool

    @classmethod
    def of_this_deployment(cls) -> "Rules":
        return cls(allow_http=settings.ALLOW_HTTP_URLS, allow_private=settings.WEBHOOK_ALLOW_PRIVATE)


class NotCalled(Exception):
    """The request failed before there was a response. The message is a sentence."""


class NotAllowed(NotCalled):
    """The URL resolves to an address that is not allowed."""


class NotResolved(NotCalled):
    """The host name does not resolve."""


def check_url(url: str, *, param: str = "url") -> None:
    """Raise ApiError `url_invalid` or `url_not_allowed` if `url` can't be a webhook URL.

    If the host name does not resolve within 3 seconds, it is accepted, because each delivery resolves it again.
    """
    rules = Rules.of_this_deployment()
    try:
        address = split_web_address(url, allow_http=rules.allow_http)
    except ValueError as error:
        raise ApiError(ErrorCode.URL_INVALID, str(error), param) from error
    try:
        _look_up(address, rules, time.monotonic() + LOOK_UP_AT_SAVE_SECONDS, system_resolver)
    except NotResolved:
        return
    except NotAllowed as error:
        raise ApiError(ErrorCode.URL_NOT_ALLOWED, str(error), param) from error


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    rules: Rules,
    deadline: float = DEADLINE_SECONDS,
    tls: ssl.SSLContext | None = None,
    resolve: Resolve | None = None,
) -> Answer:
    """POST `body`. Return the result within `deadline` seconds, even if the receiver hangs.

    `tls` has the trusted certificates (default: those of the public authorities). `resolve` returns the addresses of a
    host name (default: the system's resolver). Raises Busy if too many threads of a web process are sending.
    """
    with waiting_for("receivers", at_once=_MAX_TESTS_AT_ONCE, queues=False):
        return _post(url, body, headers, rules=rules, deadline=deadline, tls=tls, resolve=resolve)


def _post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    rules: Rules,
    deadline: float,
    tls: ssl.SSLContext | None,
    resolve: Resolve | None,
) -> Answer:
    started = time.monotonic()
    call = _Call("POST", ends_at=started + deadline, rules=rules, tls=tls, resolve=resolve)
    error = call.attempt(url, body, headers, deadline)
    duration_ms = round((time.monotonic() - started) * 1000)
    excerpt = bytes(call.kept[:EXCERPT_BYTES]).decode("utf-8", "replace").replace("\x00", "\ufffd")
    if call.status is None:
        return Answer(None, error or "The response was not HTTP.", "", duration_ms)
    return Answer(call.status, _verdict(call.status), excerpt, duration_ms)


def get(
    url: str,
    *,
    rules: Rules,
    deadline: float,
    most: int,
    tls: ssl.SSLContext | None = None,
    resolve: Resolve | None = None,
) -> bytes | None:
    """GET `url` by the same rules as `post`.

    Return the body if the status is 200 and the body has at most `most` bytes. In all other cases, return None.
    """
    call = _Call("GET", ends_at=time.monotonic() + deadline, rules=rules, tls=tls, resolve=resolve, most=most)
    error = call.attempt(url, b"", {"Accept-Encoding": "identity"}, deadline)
    return bytes(call.kept) if call.status == http.HTTPStatus.OK and call.is_whole and not error else None


def try_connecting(url: str, *, rules: Rules, ends_at: float, resolve: Resolve | None = None) -> str:
    """Connect as for a delivery, and close the connection. Return the error as a sentence, or ""."""
    try:
        address = split_web_address(url, allow_http=rules.allow_http)
        tls = _public_authorities() if address.scheme == "https" else None
        checked = _look_up(address, rules, ends_at, resolve or system_resolver)
        connect(address, checked, ends_at, tls).close()
    except (NotCalled, OSError, ValueError) as problem:
        return _in_words(problem)
    return ""


def _verdict(status: int) -> str:
    """Return the error message for this status, or "" for 2xx."""
    if 200 <= status < 300:
        return ""
    if 300 <= status < 400:
        return f"Answered {status}: redirects are not followed."
    return f"Answered {status} instead of a 2xx status."


def _in_words(problem: Exception) -> str:
    match problem:
        case NotCalled():
            return str(problem)
        case ValueError() if not isinstance(problem, OSError):
            return str(problem)[:255]
        case ssl.SSLCertVerificationError():
            return f"The TLS certificate was not accepted: {problem.verify_message}."[:255]
        case ssl.SSLError():
            return "The TLS connection failed."
        case ConnectionRefusedError():
            return "The connection was refused."
        case ConnectionError() | http.client.IncompleteRead():
            return "The connection was closed before a response."
        case http.client.HTTPException():
            return "The response was not HTTP."
        case TimeoutError():
            return "The connection timed out."
    return "The connection failed."


class _Call:
    """One request under one deadline.

    `status` is the received status. `kept` has the first bytes of the body, up to `most`. `is_whole` is True if `kept`
    has the complete body.
    """

    def __init__(
        self,
        method: str,
        *,
        ends_at: float,
        rules: Rules,
        tls: ssl.SSLContext | None,
        resolve: Resolve | None,
        most: int = MAX_ANSWER_BYTES,
    ) -> None:
        self.method = method
        self.ends_at = ends_at
        self.rules = rules
        self.tls = tls
        self.resolve = resolve or system_resolver
        self.most = most
        self.status: int | None = None
        self.kept = bytearray()
        self.is_whole = False

    def attempt(self, url: str, body: bytes, headers: Mapping[str, str], deadline: float) -> str:
        """Make the request. Return the error as a sentence, or ""."""
        try:
            self.run(url, body, headers)
        except (NotCalled, OSError, http.client.HTTPException, ValueError) as problem:
            late = time.monotonic() >= self.ends_at
            return f"No response within {deadline:g} seconds." if late else _in_words(problem)
        return ""

    def run(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Make the request over an idle connection. If there is none, open a new connection.

        A receiver may close an idle connection at the moment of its reuse. So if an idle connection breaks before a
        response arrives, the request is sent again over a new connection.
        """
        address = split_web_address(url, allow_http=self.rules.allow_http)
        tls = (self.tls or _public_authorities()) if address.scheme == "https" else None
        key = (address.scheme, address.host, address.port, self.rules, tls)
        request = _request(self.method, address, body, headers)
        kept = _kept.take(key)
        if kept is not None:
            try:
                return self._exchange(kept, key, request)
            except (ConnectionError, ssl.SSLError):
                if self.status is not None or time.monotonic() >= self.ends_at:
                    raise
        checked = _look_up(address, self.rules, self.ends_at, self.resolve)
        return self._exchange(connect(address, checked, self.ends_at, tls), key, request)

    def _exchange(self, connection: Connection, key: Key, request: bytes) -> None:
        """Send the request and read the response. Store the connection for reuse if the response was complete."""
        connection.sock.ends_at = self.ends_at
        can_be_kept = False
        try:
            # A receiver may respond and close the connection before it has read the whole request. The response still
            # counts.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sock.sendall(request)
            response = _Response(connection.sock, call=self)
            response.begin()
            self._read(response)
            # After status 101, the connection no longer uses HTTP.
            has_gone_over = response.status == http.HTTPStatus.SWITCHING_PROTOCOLS
            can_be_kept = self.is_whole and not response.will_close and not has_gone_over
        finally:
            if can_be_kept:
                _kept.keep(key, connection)
            else:
                connection.close()

    def _read(self, response: http.client.HTTPResponse) -> None:
        """Read the body, up to the limit."""
        while len(self.kept) < self.most:
            chunk = response.read1(min(self.most - len(self.kept), 4096))
            self.kept += chunk
            if not chunk:
                break
        # Reading also ends if the connection breaks. Then the remaining length isn't 0.
        self.is_whole = response.length == 0 or (response.length is None and response.isclosed())


def _request(method: str, address: WebAddress, body: bytes, headers: Mapping[str, str]) -> bytes:
    host = f"[{address.host}]" if ":" in address.host else address.host
    if address.port != (443 if address.scheme == "https" else 80):
        host = f"{host}:{address.port}"
    lines = [f"{method} {address.target} HTTP/1.1", f"Host: {host}"]
    if method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    for name, value in headers.items():
        if not _HEADER.fullmatch(f"{name}: {value}"):
            raise ValueError(f"{name} cannot be sent as a header.")
        lines.append(f"{name}: {value}")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


class _Response(http.client.HTTPResponse):
    """A response. Responses with a status below 200 are skipped. The call gets the status as soon as it is read."""

    def __init__(self, sock: socket.socket, *, call: _Call) -> None:
        super().__init__(sock, method=call.method)
        self._call = call

    def _read_status(self) -> tuple[str, int, str]:
        for _ in range(_MAX_INTERIM_ANSWERS):
            line: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
            status = line[1]
            if status >= 200 or status == http.HTTPStatus.SWITCHING_PROTOCOLS:
                self._call.status = status
                return line
            http.client.parse_headers(self.fp)
        raise http.client.HTTPException("too many interim responses")


def _look_up(address: WebAddress, rules: Rules, ends_at: float, resolve: Resolve) -> list[str]:
    """Resolve the host name, check all of its addresses, and return them. Raises NotCalled."""
    if address.port not in (80, 443) and address.port < 1024:
        raise NotAllowed("The URL's port should be 80, 443 or one from 1024 up.")
    addresses = [*dict.fromkeys(_resolve(address.host, ends_at, resolve))]
    if not rules.allow_private and not all(is_public(ipaddress.ip_address(ip)) for ip in addresses):
        raise NotAllowed("The URL leads to an address that is not on the public Internet.")
    return addresses[:_MAX_ADDRESSES]


def _resolve(host: str, ends_at: float, resolve: Resolve) -> list[str]:
    with suppress(ValueError):
        return [str(ipaddress.ip_address(host))]
    try:
        with waiting_for("name servers", at_once=_MAX_NAMES_AT_ONCE):
            return _resolve_in_time(host, ends_at, resolve)
    except Busy:
        raise NotResolved("Too many host names are being resolved.") from None


def _resolve_in_time(host: str, ends_at: float, resolve: Resolve) -> list[str]:
    lookup = _lookups.submit(resolve, host)
    try:
        return lookup.result(timeout=max(ends_at - time.monotonic(), 0))
    except FutureTimeout:
        lookup.cancel()
        raise NotResolved("The host name did not resolve in time.") from None
    except (OSError, UnicodeError):
        raise NotResolved("The host name does not resolve.") from None


def system_resolver(host: str) -> list[str]:
    """Raises OSError."""
    return [str(answer[4][0]) for answer in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


@cache
def _public_authorities() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certifi.where())
