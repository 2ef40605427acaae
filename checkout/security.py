"""The headers that keep the checkout's page from running or being framed by anything foreign (reliability: T-65)."""

import re
import secrets
from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse

# What `parse_origin` gives; nothing else may get into the header, wherever it came from.
_ORIGIN = re.compile(r"https?://(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_RELAY = re.compile(r"wss?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")


def allow_nonce(request: HttpRequest) -> str:
    """Return this answer's nonce, made when first asked for; templates read it as `request.csp_nonce`."""
    nonce = getattr(request, "csp_nonce", None) or secrets.token_urlsafe(16)
    request.csp_nonce = nonce  # type: ignore[attr-defined]
    return str(nonce)


def allow_connection(request: HttpRequest, origin: str) -> None:
    """Let this answer's page open web sockets to `origin`, beside what it may call here.

    Raises ValueError where that is no such origin.
    """
    if not _RELAY.fullmatch(origin):
        raise ValueError(f"{origin!r} is no origin of web sockets.")
    request.csp_connection = origin  # type: ignore[attr-defined]


def page_policy(
    request: HttpRequest, response: HttpResponse, *, framed_by: Iterable[str] = ()
) -> HttpResponse:
    """Return `response` with a policy that allows our own files and this answer's nonce, and nothing else.

    Except web sockets to where `allow_connection` was told.
    `framed_by` are the origins that may show the page in a frame, each of its ancestors; without any, nobody may.
    """
    nonce = allow_nonce(request)
    connections = ("'self'", getattr(request, "csp_connection", ""))
    origins = [origin for origin in framed_by if _ORIGIN.fullmatch(origin)]
    framers = " ".join(origins) or "'none'"
    response["Content-Security-Policy"] = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            f"connect-src {' '.join(connections).strip()}",
            "font-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "object-src 'none'",
            "require-trusted-types-for 'script'",
            f"frame-ancestors {framers}",
        )
    )
    # X-Frame-Options can't name origins: it would say no where the policy says yes.
    response.xframe_options_exempt = bool(origins)
    # The address is the capability: no other site is told it, nor that a payment page was left.
    response["Referrer-Policy"] = "same-origin"
    response["Cache-Control"] = "no-store"
    response["Permissions-Policy"] = "camera=(), microphone=(), geolocation=(), payment=()"
    return response
