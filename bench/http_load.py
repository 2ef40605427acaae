"""A load generator. One thread uses several keep-alive connections. Each connection has one request at a time.

`python -m bench.http_load PORT CONNECTIONS SECONDS` reads requests as JSON (`[[method, path, headers, body], …]`) from
standard input, and sends them in turn. It prints `{"statuses": {"200": n}, "seconds": s, "latencies_ms": [p50, p95]}`.
In a header's value, `{n}` becomes a number that is different in each request.
"""

import json
import selectors
import socket
import sys
import time
from collections import Counter
from itertools import count, cycle

_END = b"\r\n\r\n"


class _Connection:
    """A keep-alive connection and its current response."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self._answer = b""

    def send(self, request: bytes) -> None:
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> int | None:
        """Return the status when the response is complete. Before that, return None."""
        data = self.socket.recv(262_144)
        if not data:
            raise ConnectionError("the server closed a connection")
        self._answer += data
        head, found, body = self._answer.partition(_END)
        if not found or len(body) < _length(head):
            return None
        status = int(self._answer[9:12])
        self._answer = b""
        return status


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _encode(request: tuple[str, str, dict[str, str], str]) -> bytes:
    method, path, headers, body = request
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    if body:
        lines.append(f"Content-Length: {len(body.encode())}")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def main(port: int, connections: int, seconds: float) -> None:
    """Send requests until the time is over. Responses that arrive later are not counted."""
    requests = cycle([_encode(each) for each in json.load(sys.stdin)])
    numbers = count(time.time_ns())
    selector = selectors.DefaultSelector()
    statuses: Counter[int] = Counter()
    latencies = []

    def send(to: _Connection) -> None:
        to.send(next(requests).replace(b"{n}", b"%d" % next(numbers)))

    for _ in range(connections):
        connection = _Connection(port)
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        send(connection)
    began = time.perf_counter()
    while (now := time.perf_counter()) < began + seconds:
        for key, _ in selector.select(timeout=1):
            connection = key.data
            status = connection.receive()
            if status is not None:
                statuses[status] += 1
                latencies.append(time.perf_counter() - connection.sent_at)
                send(connection)
    latencies.sort()
    shown = (
        [round(latencies[int(len(latencies) * share)] * 1000, 2) for share in (0.5, 0.95)]
        if latencies
        else []
    )
    print(json.dumps({"statuses": statuses, "seconds": now - began, "latencies_ms": shown}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
