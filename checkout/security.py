"""The headers that keep foreign scripts out of the checkout's page, and the page out of foreign frames."""

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


def page_policy(
    request: HttpRequest, response: HttpResponse, *, framed_by: Iterable[str] = (), connects_to: str = ""
) -> HttpResponse:
    """Return `response` with a policy that allows our own files and this answer's nonce, and nothing else.

    `framed_by` are the origins that may show the page in a frame, each of its ancestors; without any, no origin may.
    `connects_to` is the one origin to which the page may open web sockets, beside what it may call here; ValueError
    where it is no such origin.
    """
    if connects_to and not _RELAY.fullmatch(connects_to):
        raise ValueError(f"{connects_to!r} is no origin of web sockets.")
    nonce = allow_nonce(request)
    origins = [origin for origin in framed_by if _ORIGIN.fullmatch(origin)]
    framers = " ".join(origins) or "'none'"
    response["Content-Security-Policy"] = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            f"connect-src 'self' {connects_to}".rstrip(),
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
    # The address is the permission: other sites see neither it nor that the visitor came from a payment page.
    response["Referrer-Policy"] = "same-origin"
    response["Cache-Control"] = "no-store"
    response["Permissions-Policy"] = "camera=(), microphone=(), geolocation=(), payment=()"
    return response
