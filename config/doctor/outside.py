"""Check of the addresses that customers and merchants use: TLS, and what the proxy makes of a request.

Each address is called as a browser does. The response to a call with a proof (`config.server.probe`) says how the
service saw it, so that wrong proxy headers are found, among them a client address that anyone can invent.
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
# Days until a certificate ends, as negative numbers: a warning, then a failure.
_CERTIFICATE_DAYS = (-14.0, -3.0)
_STREAM = "/api/public/payment-requests/doctor/events"
# An address that no proxy on the Internet has (RFC 5737).
INVENTED_CLIENT = "198.51.100.77"


@dataclass(frozen=True)
class Answer:
    """A response: its JSON object if it is one, and when the certificate ends (Unix seconds)."""

    status: int
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    certificate_ends: float | None


def check() -> Iterator[Finding]:
    """Yield what is wrong with BASE_URL and CHECKOUT_URL, each once, and with the streams of EVENTS_URL."""
    addresses = {"BASE_URL": settings.BASE_URL, "CHECKOUT_URL": settings.CHECKOUT_URL}
    done: set[str] = set()
    for name, url in addresses.items():
        if url not in done:
            yield from _of_web(name, url)
        done.add(url)
    if settings.EVENTS_URL:
        yield from _of_events(settings.EVENTS_URL, is_shared=settings.EVENTS_URL in done)


def _of_web(name: str, url: str) -> Iterator[Finding]:
    headers = {probe.HEADER: probe.make(), "X-Forwarded-For": INVENTED_CLIENT, "X-Forwarded-Proto": "http"}
    try:
        answer = _call("GET", f"{url}/readyz", headers)
    except (OSError, http.client.HTTPException, ValueError) as error:
        yield _unreachable(name, url, error)
        return
    yield from _certificate(name, answer)
    seen = answer.body.get("seen")
    if not isinstance(seen, dict):
        yield _not_ours(name, url, answer)
        return
    problems = [*_proxy(name, url, seen), *_transport(name, answer)]
    yield from problems or [fine(name, f"{url} reaches this deployment, and the proxy's headers are right")]


def _of_events(url: str, *, is_shared: bool) -> Iterator[Finding]:
    """Yield whether streams reach the `events` process: it answers OPTIONS with 204, and `web` with 405."""
    try:
        answer = _call("OPTIONS", f"{url}{_STREAM}", {})
    except (OSError, http.client.HTTPException, ValueError) as error:
        yield _unreachable("EVENTS_URL", url, error)
        return
    if not is_shared:
        yield from _certificate("EVENTS_URL", answer)
    if answer.status == 204:
        yield fine("EVENTS_URL", f"{url} leads streams to the events process")
        return
    what = "leads streams to web" if answer.status == 405 else f"answers {answer.status} for streams"
    advice = "Start the Procfile's events process and let the proxy pass its paths on, or remove EVENTS_URL."
    yield warning("EVENTS_URL", f"{url} {what}, so checkouts poll", advice)


def _unreachable(name: str, url: str, error: Exception) -> Finding:
    if isinstance(error, ssl.SSLCertVerificationError):
        summary = f"{url}: the certificate is not accepted ({error.verify_message})"
        return failed(name, summary, "Renew the certificate, or install the chain of its authority.")
    summary = f"{url} can't be reached from this machine ({type(error).__name__})"
    return failed(name, summary, "Check the name in DNS, the proxy, the firewall, and that web runs.")


def _not_ours(name: str, url: str, answer: Answer) -> Finding:
    if answer.status == 400:
        advice = "Add the host to ALLOWED_HOSTS, and let the proxy pass the Host header on."
        return failed(name, f"{url} refuses the host name", advice)
    if answer.status in (502, 503, 504) and not answer.body:
        advice = "Start web, and compare the proxy's target with web's PORT."
        return failed(name, f"{url} answers {answer.status}: the proxy finds no web process", advice)
    summary = f"{url} answers {answer.status}, but not for this deployment"
    return failed(name, summary, "Let it lead to this deployment's web, with the same SECRET_KEY as here.")


def _proxy(name: str, url: str, seen: Mapping[str, Any]) -> Iterator[Finding]:
    if bool(seen.get("is_secure")) != settings.HTTPS:
        advice = "Let the proxy set X-Forwarded-Proto, overwriting the client's, and set TRUSTED_PROXIES."
        yield failed(name, "https is taken for http, so that pages redirect endlessly", advice)
    if seen.get("client") == INVENTED_CLIENT:
        summary = "clients can invent their address (X-Forwarded-For), so limits don't hold"
        advice = "Let the proxy overwrite X-Forwarded-For, set TRUSTED_PROXIES to the proxies in front, and let web be "
        yield failed(name, summary, f"{advice}reachable through them alone.")
    if seen.get("forwarded") not in ("", INVENTED_CLIENT) and not settings.TRUSTED_PROXIES:
        summary = (
            "TRUSTED_PROXIES is 0 behind a proxy, so that all customers share one address and its limits"
        )
        yield failed(name, summary, "Set TRUSTED_PROXIES to the number of proxies, or to their networks.")
    if seen.get("host") != urlsplit(url).netloc:
        summary = f"the service sees the host {seen.get('host')}"
        yield warning(name, summary, "Let the proxy pass the Host header on.")


def _transport(name: str, answer: Answer) -> Iterator[Finding]:
    if settings.HTTPS and "strict-transport-security" not in answer.headers:
        advice = "Let the proxy pass the header Strict-Transport-Security on."
        yield warning(name, "browsers are not bound to https", advice)


def _certificate(name: str, answer: Answer) -> Iterator[Finding]:
    if answer.certificate_ends is not None:
        days = (answer.certificate_ends - time.time()) / _DAY
        summary = f"the certificate ends in {days:.0f} days"
        advice = "Renew it, and see why that did not happen by itself."
        yield by_limits(f"{name} certificate", -days, _CERTIFICATE_DAYS, summary, advice)


def _call(method: str, url: str, headers: Mapping[str, str]) -> Answer:
    parts = urlsplit(url)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        # The system's authorities (SSL_CERT_FILE replaces them), and the public ones where the system has none.
        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        connection = http.client.HTTPSConnection(parts.netloc, timeout=_SECONDS, context=context)
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=_SECONDS)
    try:
        connection.connect()
        ends = _end_of_certificate(connection.sock)
        connection.request(method, parts.path, headers={**headers, "User-Agent": "Quittance-Doctor/1"})
        response = connection.getresponse()
        text = response.read(_MAX_BYTES)
        received = {key.lower(): value for key, value in response.getheaders()}
    finally:
        connection.close()
    return Answer(response.status, received, _object(text), ends)


def _end_of_certificate(sock: Any) -> float | None:
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
