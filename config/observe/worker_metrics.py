"""Serve `/metrics` of a worker on `WORKER_METRICS_PORT`, with the counts of all its processes.

Without a port, nothing is served. Gauges from the database are in the `/metrics` of the web process.
"""

import ipaddress
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest

from config.observe.bearer import is_bearer_of
from config.observe.build_info import build_registry
from config.observe.loader import FOLDER

_NOT_FOUND = b"Not found. Send METRICS_TOKEN as a bearer credential.\n"


def worker_metrics() -> bytes:
    return generate_latest(_counts()) + generate_latest(build_registry())


def _counts() -> CollectorRegistry:
    if FOLDER not in os.environ:
        return REGISTRY
    from prometheus_client.multiprocess import MultiProcessCollector

    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return shared


def serve(port: int, token: str) -> ThreadingHTTPServer:
    """Serve `/metrics` and `/healthz` in a thread.

    `/metrics` requires the token, or calls from this machine if the token is empty. Every caller may call `/healthz`.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/healthz":
                self._respond(200, "text/plain", b"ok\n")
            elif self.path != "/metrics" or not self._may_read():
                self._respond(404, "text/plain", _NOT_FOUND)
            else:
                self._respond(200, CONTENT_TYPE_LATEST, worker_metrics())

        def _may_read(self) -> bool:
            if token:
                return is_bearer_of(self.headers.get("Authorization", ""), token)
            if "X-Forwarded-For" in self.headers:
                return False
            return ipaddress.ip_address(self.client_address[0]).is_loopback

        def _respond(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Don't log scrapes."""

    server = ThreadingHTTPServer(("0.0.0.0", port), Handler)  # noqa: S104 - Prometheus is on another machine
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="worker-metrics", daemon=True).start()
    return server
