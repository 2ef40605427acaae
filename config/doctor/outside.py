"""Check the public addresses: TLS, and the proxy's headers.

The check calls each public address as a browser does. A second call proves that it comes from doctor
(`config.server.probe`). The service then returns the client address, the scheme and other values that it received.
These values show whether the proxy sets its headers correctly. For example, a client must not be able to forge its
address.
"""

import http.client
import json
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import certifi
from django.conf import settings

from config.doctor.finding import Finding, by_limits, failed, fine, warning
from config.server import probe

_SECONDS = 10.0
_MAX_BYTES = 256 * 1024
_DAY = 86_400
# Warn if the certificate expires within 14 days, and fail if it expires within 3 days. `by_limits` reports values above
# a limit, so both the limits and the days are negated.
_CERTIFICATE_DAYS = (-14.0, -3.0)
_STREAM = "/api/public/payment-requests/doctor/events"
# No client on the Internet has this address (RFC 5737).
FORGED_CLIENT = "198.51.100.77"


@dataclass(frozen=True)
class Response:
    """`body` is the JSON object, or empty. `certificate_ends` is in Unix seconds."""

    status: int
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    certificate_ends: float | None


def check() -> Iterator[Finding]:
    """Yield the findings on BASE_URL, CHECKOUT_URL and EVENTS_URL."""
    addresses = {"BASE_URL": settings.BASE_URL, "CHECKOUT_URL": settings.CHECKOUT_URL}
    done: set[str] = set()
    for name, url in addresses.items():
        if url not in done:
            yield from _of_web(name, url)
        done.add(url)
    if settings.EVENTS_URL:
        yield from _of_events(settings.EVENTS_URL, is_shared=settings.EVENTS_URL in done)


def _of_web(name: str, url: str) -> Iterator[Finding]:
    headers = {probe.HEADER: probe.make(), "X-Forwarded-For": FORGED_CLIENT, "X-Forwarded-Proto": "http"}
    try:
        response = _call("GET", f"{url}/readyz", headers)
    except (OSError, http.client.HTTPException, ValueError) as error:
        yield _unreachable(name, url, error)
        return
    yield from _certificate(name, response)
    seen = response.body.get("seen")
    if not isinstance(seen, dict):
        yield _not_ours(name, url, response)
        return
    problems = [*_proxy(name, url, seen), *_transport(name, response)]
    yield from problems or [fine(name, f"{url} reaches this deployment, and the proxy's headers are right")]


def _of_events(url: str, *, is_shared: bool) -> Iterator[Finding]:
    """Yield whether streams reach the `events` process. `events` returns 204 to OPTIONS, and `web` returns 405."""
    try:
        response = _call("OPTIONS", f"{url}{_STREAM}", {})
    except (OSError, http.client.HTTPException, ValueError) as error:
        yield _unreachable("EVENTS_URL", url, error)
        return
    if not is_shared:
        yield from _certificate("EVENTS_URL", response)
    if response.status == 204:
        yield fine("EVENTS_URL", f"{url} routes streams to the events process")
        return
    problem = "routes streams to web" if response.status == 405 else f"returns {response.status} for streams"
    advice = (
        "Start the Procfile's events process and route its paths to it in the proxy, or remove EVENTS_URL."
    )
    yield warning("EVENTS_URL", f"{url} {problem}, so checkouts poll", advice)


def _unreachable(name: str, url: str, error: Exception) -> Finding:
    if isinstance(error, ssl.SSLCertVerificationError):
        summary = f"{url}: the certificate is invalid ({error.verify_message})"
        return failed(name, summary, "Renew the certificate, or install the chain of its authority.")
    summary = f"this machine can't reach {url} ({type(error).__name__})"
    return failed(name, summary, "Check DNS, the proxy and the firewall, and that web runs.")


def _not_ours(name: str, url: str, response: Response) -> Finding:
    if response.status == 400:
        advice = "Add the host to ALLOWED_HOSTS, and let the proxy pass the Host header on."
        return failed(name, f"{url} rejects the host name", advice)
    if response.status in (502, 503, 504) and not response.body:
        advice = "Start web, and compare the proxy's target with web's PORT."
        return failed(name, f"{url} returns {response.status}: the proxy finds no web process", advice)
    summary = f"{url} returns {response.status}, but from another deployment"
    return failed(name, summary, "Route it to this deployment's web, with the same SECRET_KEY as here.")


def _proxy(name: str, url: str, seen: Mapping[str, Any]) -> Iterator[Finding]:
    if bool(seen.get("is_secure")) != settings.HTTPS:
        advice = "Let the proxy set X-Forwarded-Proto, overwriting the client's, and set TRUSTED_PROXIES."
        yield failed(name, "the service takes https for http, so pages redirect endlessly", advice)
    if seen.get("client") == FORGED_CLIENT:
        summary = "clients can forge their address (X-Forwarded-For) and evade limits"
        advice = "Let the proxy overwrite X-Forwarded-For, set TRUSTED_PROXIES to the proxies in front, and make web "
        yield failed(name, summary, f"{advice}reachable only through them.")
    if seen.get("forwarded") not in ("", FORGED_CLIENT) and not settings.TRUSTED_PROXIES:
        summary = "TRUSTED_PROXIES is 0 behind a proxy, so all customers share one address and its limits"
        yield failed(name, summary, "Set TRUSTED_PROXIES to the number of proxies, or to their networks.")
    if seen.get("host") != urlsplit(url).netloc:
        summary = f"the service sees the host {seen.get('host')}"
        yield warning(name, summary, "Let the proxy pass the Host header on.")


def _transport(name: str, response: Response) -> Iterator[Finding]:
    if settings.HTTPS and "strict-transport-security" not in response.headers:
        advice = "Let the proxy pass the header Strict-Transport-Security on."
        yield warning(name, "browsers don't enforce https", advice)


def _certificate(name: str, response: Response) -> Iterator[Finding]:
    if response.certificate_ends is not None:
        days = (response.certificate_ends - time.time()) / _DAY
        summary = f"the certificate expires in {days:.0f} days"
        advice = "Renew it, and check why it was not renewed automatically."
        yield by_limits(f"{name} certificate", -days, _CERTIFICATE_DAYS, summary, advice)


def _call(method: str, url: str, headers: Mapping[str, str]) -> Response:
    parts = urlsplit(url)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        # Trust the system's certificate authorities (SSL_CERT_FILE replaces them). Add the public ones, because the
        # system may have none.
        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        connection = http.client.HTTPSConnection(parts.netloc, timeout=_SECONDS, context=context)
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=_SECONDS)
    try:
        connection.connect()
        ends = _certificate_end(connection.sock)
        connection.request(method, parts.path, headers={**headers, "User-Agent": "Quittance-Doctor/1"})
        response = connection.getresponse()
        text = response.read(_MAX_BYTES)
        received = {key.lower(): value for key, value in response.getheaders()}
    finally:
        connection.close()
    return Response(response.status, received, _object(text), ends)


def _certificate_end(sock: Any) -> float | None:
    if not isinstance(sock, ssl.SSLSocket):
        return None
    certificate = sock.getpeercert() or {}
    return float(ssl.cert_time_to_seconds(str(certificate["notAfter"])))


def _object(text: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
