"""Read the body of an HTTP response from an untrusted server, up to a maximum size and a deadline."""

import time

import requests

CHUNK_BYTES = 64 * 1024


class BodyTooLarge(Exception):
    """The body is larger than the limit."""


class BodyTooSlow(Exception):
    """The body was not complete at its deadline."""


class BoundedBody:
    """The body of a streamed response.

    Each read waits for one packet at most. So the size and the time are checked often.

    `ends_at` is a time of `time.monotonic`. A read raises BodyTooLarge, BodyTooSlow, or urllib3's errors.
    """

    def __init__(self, response: requests.Response, *, most_bytes: int, ends_at: float) -> None:
        self._response = response
        self._most_bytes = most_bytes
        self._ends_at = ends_at
        self.received = 0

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """Return up to `size` bytes, or none at the end of the body."""
        if size == 0:
            return b""
        chunk = self._response.raw.read1(size, decode_content=True)
        self.received += len(chunk)
        if self.received > self._most_bytes:
            raise BodyTooLarge
        if chunk and time.monotonic() > self._ends_at:
            raise BodyTooSlow
        return bytes(chunk)

    def read_all(self) -> bytes:
        return b"".join(iter(self.read, b""))
