"""A local server that receives the Sentry SDK's data."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from tests.loopback import listening


@dataclass
class Sentry:
    """The received data as text."""

    dsn: str = ""
    envelopes: list[str] = field(default_factory=list)


@contextmanager
def running_sentry() -> Iterator[Sentry]:
    """Run the server; yield it. Its DSN names a project on it."""
    sentry = Sentry()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self._body()
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            sentry.envelopes.append(body.decode(errors="replace"))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", "0")))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def log_message(self, *arguments: object) -> None:
            pass

    with listening(Handler) as url:
        sentry.dsn = url.replace("//", "//publickey@") + "/1"
        yield sentry
