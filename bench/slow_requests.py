"""Measure the web process while 200 slow clients send their requests one byte at a time.

`python -m demo.services python -m bench.slow_requests [SERVER...]`, where a SERVER is `ours`, `gthread`, `waitress` or
`granian` (install the last two yourself). Each server runs Quittance in two processes of 16 threads, or in one process
of 32 threads if it supports only one. For each server, the benchmark prints how many calls per second a light endpoint
handles, and the latency of `/healthz` in three cases: an idle server, clients with slow bodies, and clients with slow
headers.
"""

import http
import http.client
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from demo.services.process import free_port

SLOW_CLIENTS = 200
CALLERS = 8
SECONDS = 6.0
TIMEOUT_SECONDS = 5.0
_SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "DEBUG": "false",
    "ENVIRONMENT": "staging",
    "BASE_URL": "http://localhost",
    "CHECKOUT_URL": "http://localhost",
    "ALLOWED_HOSTS": "127.0.0.1",
    "RATE_LIMIT_PUBLIC": "off",
    "LOG_LEVEL": "ERROR",
    "WEB_CONCURRENCY": "2",
}
_APPLICATION = "config.wsgi:application"
_POST = b"POST /api/public/discover-wallet-tokens HTTP/1.1\r\nHost: 127.0.0.1\r\n"
_BODY = _POST + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
_HEAD = _POST + b"X-Slow: "


def command(server: str, port: int) -> list[str]:
    """Return the command that starts `server`."""
    python = [sys.executable, "-m"]
    granian = ["granian", "--interface", "wsgi", "--workers", "2", "--blocking-threads", "16"]
    return {
        "ours": [*python, "gunicorn", "--config", "config/gunicorn.py"],
        "gthread": [*python, "gunicorn", "--config", "config/gunicorn.py", "--worker-class", "gthread"],
        "waitress": [*python, "waitress", f"--listen=127.0.0.1:{port}", "--threads=32", _APPLICATION],
        "granian": [*python, *granian, "--port", str(port), _APPLICATION],
    }[server]


@contextmanager
def running(server: str) -> Iterator[int]:
    """Run a server during the block. Yields its port."""
    port = free_port()
    environment = {**os.environ, **_SETTINGS, "PORT": str(port)}
    child = subprocess.Popen(
        command(server, port), env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while healthz(port) is None and time.monotonic() < deadline:
            time.sleep(0.1)
        yield port
    finally:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(30)
        child.kill()


def healthz(port: int) -> float | None:
    """Return the seconds that `/healthz` takes on a new connection. Return None if the call timed out or failed."""
    began = time.monotonic()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        connection.close()
    except OSError:
        return None
    return time.monotonic() - began


def calls_per_second(port: int) -> float:
    """Return how many calls per second to a public endpoint succeed, over keep-alive connections."""
    counts = [0] * CALLERS
    ends_at = time.monotonic() + SECONDS

    def call(place: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        while time.monotonic() < ends_at:
            try:
                connection.request("GET", "/api/public/chains")
                response = connection.getresponse()
                response.read()
                counts[place] += response.status == http.HTTPStatus.OK
            except (OSError, http.client.HTTPException):
                connection.close()

    callers = [threading.Thread(target=call, args=(place,)) for place in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return sum(counts) / SECONDS


@contextmanager
def slow_clients(port: int, beginning: bytes) -> Iterator[None]:
    """Keep slow clients connected.

    Each sends `beginning`, then a byte per second, and reconnects if the server disconnects it.
    """
    is_over = threading.Event()

    def connect() -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS)
        connection.sendall(beginning)
        return connection

    def drip() -> None:
        connections: list[socket.socket | None] = [None] * SLOW_CLIENTS
        while not is_over.wait(1.0 if any(connections) else 0):
            for place, connection in enumerate(connections):
                try:
                    if connection is None:
                        connections[place] = connect()
                    else:
                        connection.send(b" ")
                except OSError:
                    connections[place] = None
        for connection in connections:
            if connection is not None:
                connection.close()

    thread = threading.Thread(target=drip)
    thread.start()
    time.sleep(3.0)
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def report(name: str, probe: Callable[[], float | None], times: int = 20) -> None:
    """Call `probe` several times. Print the median and the longest latency, and how many calls got no response."""
    latencies = [probe() for _ in range(times)]
    answered = sorted(seconds for seconds in latencies if seconds is not None)
    lost = times - len(answered)
    median = f"{statistics.median(answered) * 1000:.1f} ms" if answered else "-"
    worst = f"{answered[-1] * 1000:.1f} ms" if answered else "-"
    print(
        f"  healthz {name:12} median {median:>10}  worst {worst:>10}  unanswered {lost}/{times}", flush=True
    )


def main(servers: list[str]) -> None:
    for server in servers:
        print(server, flush=True)
        with running(server) as port:
            calls_per_second(port)
            print(f"  {calls_per_second(port):.0f} calls a second", flush=True)
            report("idle", lambda: healthz(port))
            for name, beginning in (("slow bodies", _BODY), ("slow heads", _HEAD)):
                with slow_clients(port, beginning):
                    report(name, lambda: healthz(port), times=8)


if __name__ == "__main__":
    main(sys.argv[1:] or ["ours", "gthread"])
