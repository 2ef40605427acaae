"""A reverse proxy with TLS in front of a web process, with its correct and its common wrong configurations."""

import http.client
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.loopback import serving

Headers = dict[str, str]
Change = Callable[[Headers, str], None]

CUSTOMER = "192.0.2.44"
_OF_ONE_HOP = {"connection", "transfer-encoding", "content-length", "strict-transport-security"}


def well(headers: Headers, client: str) -> None:
    """Overwrite the client's headers, as the documentation requires."""
    headers |= {"X-Forwarded-For": client, "X-Forwarded-Proto": "https"}


def passing_on(headers: Headers, client: str) -> None:
    """Set the scheme, but keep the address that the client claims."""
    headers["X-Forwarded-Proto"] = "https"


def without_scheme(headers: Headers, client: str) -> None:
    """Overwrite the address, but keep the scheme that the client claims."""
    headers["X-Forwarded-For"] = client


@contextmanager
def tls_proxy(
    upstream: str,
    certificate: Path,
    change: Change = well,
    hsts: str = "max-age=31536000",
    *,
    streams: str = "",
) -> Iterator[str]:
    """Serve `upstream` over TLS on a free port, with this HSTS header if it isn't empty; yield the https URL.

    Requests for event streams go to `streams` if it is given.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_ONE_HOP}
            change(headers, CUSTOMER)
            length = int(self.headers.get("Content-Length") or 0)
            to = streams if streams and self.path.endswith("/events") else upstream
            connection = http.client.HTTPConnection(urlsplit(to).netloc, timeout=30)
            try:
                connection.request(self.command, self.path, self.rfile.read(length) or None, headers)
                answer = connection.getresponse()
                body = answer.read()
            except OSError:
                self.send_error(502)
                return
            finally:
                connection.close()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _OF_ONE_HOP:
                    self.send_header(name, value)
            if hsts:
                self.send_header("Strict-Transport-Security", hsts)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_OPTIONS = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server: HTTPServer = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with serving(server) as plain:
        yield plain.replace("http://", "https://", 1)


def make_certificate(file: Path, days: float) -> Path:
    """Write a key and a self-signed certificate for 127.0.0.1, which expires after this many days."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        + certificate.public_bytes(Encoding.PEM)
    )
    return file
