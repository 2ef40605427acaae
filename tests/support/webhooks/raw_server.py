"""A TCP server for receivers that break HTTP. It passes each connection to a function."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class RawServer:
    port: int
    connections: int = 0
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


Behaviour = Callable[[socket.socket, RawServer], None]


@contextmanager
def raw_server(behave: Behaviour, host: str = "127.0.0.1", port: int = 0) -> Iterator[RawServer]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family)
    server = RawServer(listener.getsockname()[1])

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            server.connections += 1
            threading.Thread(target=attend, args=(connection,), daemon=True).start()

    def attend(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            behave(connection, server)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def read_request(connection: socket.socket) -> None:
    """Read to the end of the headers."""
    seen = b""
    while b"\r\n\r\n" not in seen:
        seen += connection.recv(65536)


def dribble(connection: socket.socket, server: RawServer, beginning: bytes, drop: bytes) -> None:
    """Send `beginning`, then `drop` repeatedly until the client disconnects."""
    connection.sendall(beginning)
    while not server.stopping.wait(0.05):
        connection.sendall(drop)
