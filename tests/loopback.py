"""A server on this machine for as long as a test needs one: nodes, providers and proxies that are not to be trusted."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


def listening(handler: type[BaseHTTPRequestHandler]) -> AbstractContextManager[str]:
    """Serve by `handler` on a free port of the loopback interface, as `serving` does."""
    return serving(_Server(("127.0.0.1", 0), handler))


@contextmanager
def serving(server: HTTPServer) -> Iterator[str]:
    """Run the server in a thread until the end; yields its address, without a slash at its end."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
