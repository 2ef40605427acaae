"""Buffer the response of a slow client. The main loop sends it later.

The kernel buffers only some tens of kilobytes. If a response is larger, the thread would otherwise wait until the
client has read it.
"""

from typing import Any

from config.server.arriving import RESPONSE_SECONDS

MAX_KEPT_BYTES = 512 * 1024
_SLICE = 64 * 1024


class Outgoing:
    """The socket of a connection while a thread responds. `rest` are the unsent bytes, at most MAX_KEPT_BYTES."""

    def __init__(self, sock: Any) -> None:
        self.sock = sock
        self.rest = bytearray()

    def sendall(self, data: bytes) -> None:
        """Send the data or keep it in `rest`. If `rest` is full, wait up to RESPONSE_SECONDS for each 64 KiB."""
        if not self.rest:
            data = data[self._sent_at_once(data) :]
        self.rest += data
        while len(self.rest) > MAX_KEPT_BYTES:
            self.sock.settimeout(RESPONSE_SECONDS)
            self.sock.sendall(self.rest[:_SLICE])
            del self.rest[:_SLICE]

    def send_rest(self) -> int:
        """Send as much of `rest` as the kernel accepts. Return the number of bytes. Raises OSError."""
        count = self._sent_at_once(self.rest)
        del self.rest[:count]
        return count

    def _sent_at_once(self, data: bytes | bytearray) -> int:
        self.sock.setblocking(False)
        try:
            return int(self.sock.send(data)) if data else 0
        except (BlockingIOError, InterruptedError):
            return 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sock, name)
