"""gunicorn's threaded worker with one change: a slow client doesn't block a thread.

gunicorn passes a connection to a thread at the first byte. The thread then waits until the request is complete, and
again until the client has read the response. So sixteen slow clients block sixteen threads. Here the worker's main loop
collects the bytes of all connections, and passes a request to a thread when it is complete. If the thread ends before
the client has read the response, the main loop sends the rest. The size of the waiting data and the time are limited.
"""

import errno
import selectors
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from socket import SHUT_WR
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from config.server import refusals
from config.server.arriving import Arriving, now
from config.server.outgoing import Outgoing

MAX_HELD_BYTES = 64 * 1024 * 1024
LINGER_SECONDS = 2.0
# A client must read the rest of its response within this time.
SEND_SECONDS = 60.0
MAX_KEPT_BYTES_IN_ALL = 32 * 1024 * 1024
_MAX_READ_AFTER = 4 * 1024 * 1024
_RECEIVE_BYTES = 64 * 1024


@dataclass(frozen=True)
class _Sending:
    """The unsent rest of a response.

    `future` is the thread's result, which is handled after the rest is sent. `ends_at` is in seconds of the monotonic
    clock.
    """

    ends_at: float
    outgoing: Outgoing
    future: Any


class WholeRequestWorker(ThreadWorker):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # The entries of each dictionary have the same time limit, so their order is also the order of their deadlines.
        self._arriving: dict[Any, Arriving] = {}
        self._leaving: dict[Any, tuple[float, int]] = {}
        self._sending: dict[Any, _Sending] = {}
        self._kept_bytes = 0
        self._held_bytes = 0
        self._stopped_at: float | None = None

    def enqueue_req(self, conn: Any) -> None:
        """Collect the connection's next request. gunicorn calls this method to pass the connection to a thread."""
        if conn.parser is None:
            conn.parser = Arriving(self.cfg, conn.sock, conn.client)
            conn.initialized = conn.data_ready = True
        conn.sock.setblocking(False)
        self._arriving[conn] = conn.parser
        if conn.parser.begin(now()):
            self._give_to_thread(conn)
            return
        self._held_bytes += conn.parser.held_bytes
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._receive, conn))

    def _receive(self, conn: Any, _socket: Any) -> None:
        try:
            data = conn.sock.recv(_RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._drop(conn)
            return
        before = conn.parser.held_bytes
        is_ready = conn.parser.receive(data)
        self._held_bytes += conn.parser.held_bytes - before
        if is_ready:
            self.poller.unregister(conn.sock)
            self._held_bytes -= conn.parser.held_bytes
            self._give_to_thread(conn)

    def _give_to_thread(self, conn: Any) -> None:
        del self._arriving[conn]
        super().enqueue_req(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Respond as gunicorn does. If the client is slow, leave the rest to the main loop."""
        conn.sock = outgoing = Outgoing(conn.sock)
        try:
            result = super().handle_request(req, conn)
            conn.outgoing = outgoing
            return result
        except TimeoutError as error:
            raise ConnectionResetError(errno.ECONNRESET, "the client did not read its response") from error
        finally:
            conn.sock = outgoing.sock

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Log the error as gunicorn does. Respond in the API's error format."""
        super().handle_error(req, refusals.ErrorSocket(client), addr, exc)

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Send the rest of the response. Then keep or close the connection."""
        outgoing, conn.outgoing = getattr(conn, "outgoing", None), None
        has_succeeded = not fs.cancelled() and fs.exception() is None
        if not has_succeeded or outgoing is None or not outgoing.rest:
            self._after_response(conn, fs)
            return
        self._sending[conn] = _Sending(now() + SEND_SECONDS, outgoing, fs)
        self._kept_bytes += len(outgoing.rest)
        conn.sock.setblocking(False)
        self.poller.register(conn.sock, selectors.EVENT_WRITE, partial(self._send_rest, conn))

    def _send_rest(self, conn: Any, _socket: Any) -> None:
        sending = self._sending[conn]
        try:
            self._kept_bytes -= sending.outgoing.send_rest()
        except OSError:
            self._give_up(conn)
            return
        if not sending.outgoing.rest:
            del self._sending[conn]
            self.poller.unregister(conn.sock)
            self._after_response(conn, sending.future)

    def _give_up(self, conn: Any) -> None:
        self._kept_bytes -= len(self._sending.pop(conn).outgoing.rest)
        self.poller.unregister(conn.sock)
        self._close(conn)

    def _after_response(self, conn: Any, fs: Any) -> None:
        """Keep the connection for its next request, or close it without waiting."""
        if fs.cancelled() or fs.exception() is not None or not fs.result():
            self._leave(conn)
        else:
            super().finish_request(conn, fs)

    def _leave(self, conn: Any) -> None:
        """Stop sending, and give the client time to read the whole response and close the connection."""
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(SHUT_WR)
        except OSError:
            self._close(conn)
            return
        self._leaving[conn] = (now() + LINGER_SECONDS, _MAX_READ_AFTER)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._read_after, conn))

    def _read_after(self, conn: Any, _socket: Any) -> None:
        try:
            count = len(conn.sock.recv(_RECEIVE_BYTES))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            count = 0
        ends_at, left = self._leaving[conn]
        if count and count < left:
            self._leaving[conn] = (ends_at, left - count)
        else:
            self._let_go(conn)

    def murder_pending(self) -> None:
        """Close connections past their deadline. gunicorn calls this method at least once a second, also while it
        stops.
        """
        super().murder_pending()
        if not self.alive and self._stopped_at is None:
            self._stopped_at = now()
        while self._sending:
            conn, sending = next(iter(self._sending.items()))
            is_full = self.nr_conns >= self.worker_connections or self._kept_bytes > MAX_KEPT_BYTES_IN_ALL
            if sending.ends_at > now() and not is_full:
                break
            self._give_up(conn)
        while self._arriving:
            conn, arriving = next(iter(self._arriving.items()))
            if arriving.deadline > now() and not self._is_over_limit():
                break
            self._cut_off(conn)
        while self.nr_conns >= self.worker_connections and self.keepalived_conns:
            self.keepalived_conns[0].timeout = 0.0
            self.murder_keepalived()
        while self._leaving:
            conn, (ends_at, _) = next(iter(self._leaving.items()))
            if ends_at > now():
                break
            self._let_go(conn)
        if self._stopped_at is not None and now() > self._stopped_at + LINGER_SECONDS:
            for conn in [conn for conn, arriving in self._arriving.items() if not arriving.has_begun]:
                self._cut_off(conn)

    def _is_over_limit(self) -> bool:
        """Return whether there is no room for new requests. The oldest unfinished requests are then dropped."""
        return bool(self.nr_conns >= self.worker_connections or self._held_bytes > MAX_HELD_BYTES)

    def _cut_off(self, conn: Any) -> None:
        arriving = self._arriving[conn]
        if arriving.has_begun:
            with suppress(OSError):
                conn.sock.send(refusals.timeout())
        self._drop(conn)

    def _drop(self, conn: Any) -> None:
        self._held_bytes -= self._arriving.pop(conn).held_bytes
        self.poller.unregister(conn.sock)
        self._close(conn)

    def _let_go(self, conn: Any) -> None:
        del self._leaving[conn]
        self.poller.unregister(conn.sock)
        self._close(conn)

    def _close(self, conn: Any) -> None:
        self.nr_conns -= 1
        conn.close()
