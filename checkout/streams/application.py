"""`GET /api/public/payment-requests/{id}/events`: server-sent events. A stream needs an asyncio task, but no thread.

The number of streams is limited, in total (`EVENT_STREAMS_MAX`) and by client address. A new stream is a public call,
which counts toward `RATE_LIMIT_PUBLIC`. A client that does not read is disconnected.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from django.conf import settings
from django.db import Error as DatabaseError

from checkout.streams.feed import Feed, Shown
from config.api.errors import ApiError, ErrorCode
from config.api.handler import error_body
from config.api.limits.client_address import forwarded_address, identity_of
from config.api.limits.public_limits import hit_public
from config.api.objects import ObjectMissing
from config.api.request_id import current_request_id, request_id_from

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_PATH = re.compile(r"/api/public/payment-requests/([A-Za-z0-9-]{1,64})/events")
# One client address may use a tenth of all streams, or 20 streams if that is more.
_ONE_IN = 10
_FEWEST_OF_ONE_ADDRESS = 20
_COMMENT_SECONDS = 15.0
_SEND_SECONDS = 10.0
# A stream ends after this time. Browsers reconnect by themselves, but closed laptops and dead proxies don't.
_LONGEST_SECONDS = 3600.0
_RETRY_AFTER_SECONDS = 30
_OPEN_HEADERS = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"Retry-After, X-Request-Id"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]
_PREFLIGHT = [
    (b"access-control-allow-methods", b"GET, OPTIONS"),
    (b"access-control-allow-headers", b"Last-Event-ID, X-Request-Id"),
    (b"access-control-max-age", b"86400"),
]


class EventStreams:
    """The ASGI application."""

    def __init__(self) -> None:
        self._feed = Feed()
        self._by_address: Counter[str] = Counter()
        self._count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a connection, or the start and stop of the process."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            with request_id_from(_header(scope, b"x-request-id")):
                await self._answer(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await self._feed.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._feed.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = str(scope["path"]), str(scope["method"])
        match = _PATH.fullmatch(path)
        if path == "/healthz":
            await _respond(send, 200, b'{"status": "ok"}')
        elif match is None:
            await _reject(send, ApiError(ErrorCode.RESOURCE_MISSING, "There is nothing at this address."))
        elif method == "OPTIONS":
            await _respond(send, 204, b"", _PREFLIGHT)
        elif method != "GET":
            rejection = ApiError(ErrorCode.METHOD_NOT_ALLOWED, "This path accepts only GET.")
            await _reject(send, rejection, [(b"allow", b"GET, OPTIONS")])
        else:
            await self._bounded(match[1], scope, receive, send)

    async def _bounded(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Start the stream if there aren't too many."""
        address = _address(scope)
        most_of_one = max(settings.EVENT_STREAMS_MAX // _ONE_IN, _FEWEST_OF_ONE_ADDRESS)
        if self._count >= settings.EVENT_STREAMS_MAX or self._by_address[address] >= most_of_one:
            message = "Too many checkouts are open at once. Poll the payment request instead."
            await _reject(
                send, ApiError(ErrorCode.SERVICE_UNAVAILABLE, message, retry_after=_RETRY_AFTER_SECONDS)
            )
            return
        self._count += 1
        self._by_address[address] += 1
        try:
            await self._begin(name, address, scope, receive, send)
        finally:
            self._count -= 1
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    async def _begin(self, name: str, address: str, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            rejection = await self._feed.in_thread(partial(hit_public, name, address))
            if rejection is not None:
                await _reject(send, rejection.as_error())
                return
            first = await self._feed.find(name)
        except ObjectMissing as error:
            await _reject(send, ApiError(ErrorCode.RESOURCE_MISSING, str(error)))
            return
        except DatabaseError:
            message = "Service temporarily unavailable. Try again in a few seconds."
            await _reject(send, ApiError(ErrorCode.SERVICE_UNAVAILABLE, message, retry_after=5))
            return
        last_etag = _header(scope, b"last-event-id")
        if first.is_final and first.etag == last_etag:
            await _respond(send, 204, b"")  # After a 204, browsers don't reconnect.
            return
        changed = self._feed.watch(first.request_id)
        changed.set()  # Send changes since the details were read.
        left = asyncio.create_task(_until_left(receive))
        try:
            await _start(send, 200, b"text/event-stream")
            await self._stream(first.request_id, changed, left, send, last_etag=last_etag)
            await _write(send, b"", more=False)
        except (TimeoutError, OSError):
            pass  # The client doesn't read, or has disconnected.
        finally:
            left.cancel()
            self._feed.leave(first.request_id, changed)

    async def _stream(
        self, request_id: str, changed: asyncio.Event, left: asyncio.Task[None], send: Send, *, last_etag: str
    ) -> None:
        """Send each change. Stop when the client disconnects, when the request is final, or after an hour."""
        ends_at = asyncio.get_running_loop().time() + _LONGEST_SECONDS
        while not left.done() and asyncio.get_running_loop().time() < ends_at:
            waiting = asyncio.create_task(changed.wait())
            await asyncio.wait({waiting, left}, timeout=_COMMENT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if left.done():
                return
            if not changed.is_set():
                await _write(send, b": still here\n\n")
                continue
            changed.clear()
            with suppress(DatabaseError):  # tried again at the next notification or comparison
                shown = await self._feed.shown(request_id)
                if shown.etag != last_etag:
                    last_etag = shown.etag
                    await _write(send, _event(shown))
                if shown.is_final:
                    return  # If there is a later payment, the client sees it when it polls or reconnects.


def _event(shown: Shown) -> bytes:
    event = b"event: update\nid: %s\ndata: %s\n\n" % (shown.etag.encode(), shown.body())
    return b"retry: %d\n" % shown.poll_in_ms + event if shown.is_final else event


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _write(send: Send, data: bytes, *, more: bool = True) -> None:
    await asyncio.wait_for(
        send({"type": "http.response.body", "body": data, "more_body": more}), _SEND_SECONDS
    )


async def _start(
    send: Send, status: int, content_type: bytes, more: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    headers = [
        (b"content-type", content_type),
        (b"x-request-id", current_request_id().encode()),
        (b"x-accel-buffering", b"no"),  # Keep proxies from buffering events.
        *_OPEN_HEADERS,
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _respond(send: Send, status: int, body: bytes, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
    length = (b"content-length", b"%d" % len(body))
    await _start(send, status, b"application/json", [*more, length])
    await send({"type": "http.response.body", "body": body})


async def _reject(send: Send, error: ApiError, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
    if error.retry_after is not None:
        more = [*more, (b"retry-after", b"%d" % error.retry_after)]
    await _respond(send, error.status_code, msgspec.json.encode(error_body(error)), more)


def _header_lines(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _header(scope: Scope, name: bytes) -> str:
    """Join repeated headers with commas, as gunicorn does in the `web` process."""
    return ",".join(_header_lines(scope, name))


def _address(scope: Scope) -> str:
    """Return the client's address as the rate limits count it."""
    peer, _ = scope.get("client") or ("", 0)
    return identity_of(forwarded_address(peer, _header_lines(scope, b"x-forwarded-for")))
