"""Connections to webhook receivers. Connections go only to checked IP addresses, and are reused for a short time.

A reused connection needs no DNS lookup, because its address was checked before. Each request over a connection has a
deadline, which is checked before each read and write. A timeout for a single read isn't enough: a receiver could send
one byte a second.
"""

import ipaddress
import math
import socket
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

from merchants.web_addresses import WebAddress

IDLE_SECONDS = 10.0
LIFE_SECONDS = 60.0
MAX_IDLE = 512
MAX_IDLE_PER_RECEIVER = 8


def _left(ends_at: float) -> float:
    """Return the seconds until `ends_at`, a time of time.monotonic. Raises TimeoutError if it has passed."""
    left = ends_at - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class PlainSocket(socket.socket):
    """A TCP socket whose reads and writes time out at `ends_at`."""

    ends_at = math.inf

    def recv_into(self, *arguments: Any) -> int:
        """Read the available data, within the deadline."""
        self.settimeout(_left(self.ends_at))
        return super().recv_into(*arguments)

    def sendall(self, *arguments: Any) -> None:
        """Send all data, within the deadline."""
        self.settimeout(_left(self.ends_at))
        super().sendall(*arguments)


class TlsSocket(ssl.SSLSocket):
    """A TLS socket whose reads and writes time out at `ends_at`."""

    ends_at = math.inf

    def recv_into(self, *arguments: Any, **options: Any) -> int:
        """Read the available data, within the deadline."""
        self.settimeout(_left(self.ends_at))
        return super().recv_into(*arguments, **options)

    def send(self, *arguments: Any) -> int:
        """Send some of the data, within the deadline."""
        self.settimeout(_left(self.ends_at))
        return super().send(*arguments)


def deadlined(context: ssl.SSLContext) -> ssl.SSLContext:
    """Make `context` create sockets with deadlines."""
    context.sslsocket_class = TlsSocket
    return context


class Connection:
    def __init__(self, sock: PlainSocket | TlsSocket) -> None:
        self.sock = sock
        self.opened_at = time.monotonic()
        self.idle_since = self.opened_at

    def is_stale(self, now: float) -> bool:
        """Whether the connection can't be reused: it is too old, the receiver closed it, or it has unexpected data."""
        if now - self.opened_at > LIFE_SECONDS or now - self.idle_since > IDLE_SECONDS:
            return True
        self.sock.settimeout(0)
        try:
            self.sock.recv(1, 0 if isinstance(self.sock, ssl.SSLSocket) else socket.MSG_PEEK)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            return True
        return True

    def close(self) -> None:
        self.sock.close()


def connect(
    address: WebAddress, checked: Sequence[str], ends_at: float, tls: ssl.SSLContext | None
) -> Connection:
    """Connect to the `checked` addresses in order. Return the first connection that succeeds.

    The remaining time is divided equally among the addresses. With `tls`, the certificate must be for the host name in
    `address`. Raises OSError.
    """
    problem: OSError = TimeoutError()
    for left, ip in zip(range(len(checked), 0, -1), checked, strict=True):
        share = (ends_at - time.monotonic()) / left
        if share <= 0:
            raise TimeoutError
        try:
            return _open(address, ip, share, ends_at, tls)
        except ssl.SSLError:
            raise
        except OSError as error:
            problem = error
    raise problem


def _open(
    address: WebAddress, ip: str, share: float, ends_at: float, tls: ssl.SSLContext | None
) -> Connection:
    family = socket.AF_INET6 if ipaddress.ip_address(ip).version == 6 else socket.AF_INET
    sock = PlainSocket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(share)
        sock.connect((ip, address.port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is None:
            sock.ends_at = ends_at
            return Connection(sock)
        sock.settimeout(max(ends_at - time.monotonic(), 0.001))
        wrapped = deadlined(tls).wrap_socket(sock, server_hostname=address.host)
        assert isinstance(wrapped, TlsSocket)
        wrapped.ends_at = ends_at
        return Connection(wrapped)
    except BaseException:
        sock.close()
        raise


# A connection is reused only for the same receiver, rules and trusted certificates, which are the parts of the key.
Key = tuple[Hashable, ...]


class Kept:
    """Idle connections by receiver. If there are too many, the oldest one is closed. Thread-safe."""

    def __init__(self) -> None:
        self._idle: OrderedDict[Key, list[Connection]] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    def take(self, key: Key) -> Connection | None:
        """Return an idle connection that can be used, or None."""
        while True:
            with self._lock:
                idle = self._idle.get(key)
                if not idle:
                    return None
                connection = idle.pop()
                self._count -= 1
                if not idle:
                    del self._idle[key]
            if not connection.is_stale(time.monotonic()):
                return connection
            connection.close()

    def keep(self, key: Key, connection: Connection) -> None:
        """Store a connection for reuse. The connection's last response must have been read completely."""
        connection.idle_since = time.monotonic()
        closing: list[Connection] = []
        with self._lock:
            idle = self._idle.setdefault(key, [])
            self._idle.move_to_end(key)
            idle.append(connection)
            self._count += 1
            if len(idle) > MAX_IDLE_PER_RECEIVER:
                closing.append(idle.pop(0))
                self._count -= 1
            if self._count > MAX_IDLE:
                _, oldest = self._idle.popitem(last=False)
                closing += oldest
                self._count -= len(oldest)
        for old in closing:
            old.close()

    def close(self) -> None:
        """Close all idle connections."""
        with self._lock:
            connections = [connection for idle in self._idle.values() for connection in idle]
            self._idle.clear()
            self._count = 0
        for connection in connections:
            connection.close()
