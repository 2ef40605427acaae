"""What a thread writes to a client. What the client doesn't read at once is kept for the main loop to send.

The kernel takes some tens of kilobytes for a client that reads nothing. Without this, the thread would wait for the
rest of a larger response.
"""

from typing import Any

from config.server.arriving import ANSWER_SECONDS

MAX_KEPT_BYTES = 512 * 1024
_SLICE = 64 * 1024


class Outgoing:
    """A connection's socket while a thread answers. `rest` is what is still to be sent, at most MAX_KEPT_BYTES."""

    def __init__(self, sock: Any) -> None:
        self.sock = sock
        self.rest = bytearray()

    def sendall(self, data: bytes) -> None:
        """Send or keep the data. What is beyond the limit is waited for, ANSWER_SECONDS at most for each 64 KiB."""
        if not self.rest:
            data = data[self._sent_at_once(data) :]
        self.rest += data
        while len(self.rest) > MAX_KEPT_BYTES:
            self.sock.settimeout(ANSWER_SECONDS)
            self.sock.sendall(self.rest[:_SLICE])
            del self.rest[:_SLICE]

    def send_rest(self) -> int:
        """Send what the kernel takes of the rest; return how much that was. Raises OSError."""
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
        """Be the socket in all else."""
        return getattr(self.sock, name)
