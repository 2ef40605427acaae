"""Buffer a client's requests until they are complete.

gunicorn's parser reads the head of a request. The parser gets only a complete head, so it never waits for the network.
The parser rejects an ambiguous head: Content-Length with Transfer-Encoding, one of these headers twice, or bare line
feeds.
"""

import io
import time
from contextlib import suppress
from typing import Any

from gunicorn.http.body import Body
from gunicorn.http.errors import (
    InvalidChunkSize,
    LimitRequestHeaders,
    NoMoreData,
    UnsupportedTransferCoding,
)
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader

from config.server.chunks import BadChunk, ChunkedBody

REQUEST_SECONDS = 10.0
RESPONSE_SECONDS = 10.0
MAX_HEAD_BYTES = 32 * 1024
MAX_BODY_BYTES = 256 * 1024

_END_OF_HEAD = b"\r\n\r\n"


class Arriving:
    """The request that is arriving on a connection.

    To the thread that serves the request, this object is gunicorn's parser.

    `deadline` is in seconds of the monotonic clock.
    """

    _request: Any  # gunicorn's request, once the head is complete
    _chunks: ChunkedBody | None
    _error: Exception | None

    def __init__(self, settings: Any, sock: Any, peer: Any) -> None:
        self.unreader = IterUnreader([])  # after a request, gunicorn reads the remaining bytes from it
        self.deadline = 0.0
        self._settings, self._socket, self._peer = settings, sock, peer
        self._number = 0
        self._start()

    def begin(self, now: float) -> bool:
        """Start the next request with the bytes received so far. Return whether it is complete."""
        self.deadline = now + REQUEST_SECONDS
        rest = self.unreader.take_buffered()
        self._start()
        return self.receive(rest) if rest else False

    def receive(self, data: bytes) -> bool:
        """Add bytes from the client. Return whether a thread can respond now: the request is complete or invalid."""
        self._count += len(data)
        try:
            if self._request is None:
                self._head += data
                data = self._read_head()
            if self._request is not None:
                self._read_body(data)
        except Exception as error:  # the thread responds with this error
            self._error = error
        return self._is_ready or self._error is not None

    @property
    def has_begun(self) -> bool:
        return self._count > 0

    @property
    def held_bytes(self) -> int:
        """The memory that the unfinished request needs, approximately."""
        return len(self._head) + len(self._content) + (len(self._chunks.content) if self._chunks else 0)

    def __next__(self) -> Any:
        """Return the request, or raise its error. Called by the thread that responds."""
        self._socket.settimeout(RESPONSE_SECONDS)
        if self._error is not None:
            raise self._error
        return self._request

    def finish_body(self, deadline: float | None = None) -> bool:  # noqa: ARG002 - gunicorn's interface
        """Return whether the connection can be used again. After an incomplete body, it can't."""
        return not self._is_cut

    def _start(self) -> None:
        self._head, self._content = bytearray(), bytearray()
        self._searched = self._count = self._length = 0
        self._request = self._chunks = self._error = None
        self._is_ready = self._is_cut = False

    def _read_head(self) -> bytes:
        """Parse the head if it is complete. Return the bytes after it."""
        # Ignore one empty line before a request (RFC 9112, section 2.2).
        if not self._searched and self._head.startswith(b"\r\n"):
            del self._head[:2]
        end = self._head.find(_END_OF_HEAD, max(0, self._searched - len(_END_OF_HEAD)))
        self._searched = len(self._head)
        if (len(self._head) if end < 0 else end) > MAX_HEAD_BYTES:
            raise LimitRequestHeaders(f"the request's head is larger than {MAX_HEAD_BYTES} bytes")
        if end < 0:
            return b""
        head, rest = bytes(self._head[: end + 4]), bytes(self._head[end + 4 :])
        self._head.clear()
        self._number += 1
        try:
            self._request = Request(self._settings, IterUnreader([head]), self._peer, self._number)
        except StopIteration as stop:
            raise NoMoreData() from stop
        self._read_headers()
        self._request_body(bool(rest))
        return rest

    def _read_headers(self) -> None:
        for name, value in self._request.headers:
            if name == "CONTENT-LENGTH":
                self._length = int(value)
            elif name == "TRANSFER-ENCODING":
                if self._chunks is not None or value.strip(" \t").lower() != "chunked":
                    raise UnsupportedTransferCoding("the only supported transfer coding is chunked")
                self._chunks = ChunkedBody()

    def _request_body(self, has_begun: bool) -> None:
        """Respond to `Expect: 100-continue`, unless the body is too large."""
        is_expected = self._request._expected_100_continue
        self._request._expected_100_continue = False
        if is_expected and not has_begun and (self._chunks or 0 < self._length <= MAX_BODY_BYTES):
            with suppress(
                OSError
            ):  # the socket does not block; a client that misses this line sends its body later
                self._socket.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _read_body(self, data: bytes) -> None:
        if self._chunks is not None:
            try:
                self._chunks.feed(data, MAX_BODY_BYTES)
            except BadChunk as error:
                raise InvalidChunkSize(str(error).encode()) from error
            if self._chunks.is_complete or len(self._chunks.content) > MAX_BODY_BYTES:
                self._hand_over(self._chunks.content, self._chunks.rest, is_cut=not self._chunks.is_complete)
            return
        self._content += data
        if self._length > MAX_BODY_BYTES:  # the view rejects it, because the declared length is too large
            self._hand_over(self._content[:MAX_BODY_BYTES], b"", is_cut=True)
        elif len(self._content) >= self._length:
            rest = bytes(self._content[self._length :])
            self._hand_over(self._content[: self._length], rest, is_cut=False)

    def _hand_over(self, content: bytearray, rest: bytes, *, is_cut: bool) -> None:
        request = self._request
        if self._chunks is not None:
            # A WSGI application reads as many bytes as Content-Length says.
            request.headers = [pair for pair in request.headers if pair[0] != "TRANSFER-ENCODING"]
            request.headers.append(("CONTENT-LENGTH", str(len(content))))
        request.body = Body(io.BytesIO(content))
        self._content, self._chunks = bytearray(), None
        if is_cut:
            request.force_close()
        else:
            self.unreader.unread(rest)
        self._is_ready, self._is_cut = True, is_cut


def now() -> float:
    return time.monotonic()
