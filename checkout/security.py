"""The security headers of the checkout's pages.

Only our own scripts run, and only registered origins may embed a page.
"""

import re
import secrets
from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse

# The format that `parse_origin` returns. Origins are checked again here, so that no other text can get into the header.
_ORIGIN = re.compile(r"https?://(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_CONNECTS_TO = re.compile(r"(?:ws|http)s?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")


def allow_nonce(request: HttpRequest) -> str:
    """Return the nonce of this response. The first use creates it. Templates read it as `request.csp_nonce`."""
    nonce = getattr(request, "csp_nonce", None) or secrets.token_urlsafe(16)
    request.csp_nonce = nonce  # type: ignore[attr-defined]
    return str(nonce)


def page_policy(
    request: HttpRequest,
    response: HttpResponse,
    *,
    framed_by: Iterable[str] = (),
    connects_to: Iterable[str] = (),
) -> HttpResponse:
    """Set a policy that allows only our own files, and scripts with this response's nonce. Return the response.

    `framed_by` are the origins that may embed the page. `connects_to` are the origins to which the page may send
    requests or open web sockets. Raises ValueError for an invalid origin.
    """
    for origin in connects_to:
        if not _CONNECTS_TO.fullmatch(origin):
            raise ValueError(f"{origin!r} is not an origin.")
    nonce = allow_nonce(request)
    origins = [origin for origin in framed_by if _ORIGIN.fullmatch(origin)]
    framers = " ".join(origins) or "'none'"
    response["Content-Security-Policy"] = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            " ".join(("connect-src 'self'", *connects_to)),
            "font-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "object-src 'none'",
            "require-trusted-types-for 'script'",
            f"frame-ancestors {framers}",
        )
    )
    # X-Frame-Options can't name origins. The header would block frames that the policy allows.
    response.xframe_options_exempt = bool(origins)
    # Everyone with the URL has access to the page, so other sites must not get the URL.
    response["Referrer-Policy"] = "same-origin"
    response["Cache-Control"] = "no-store"
    response["Permissions-Policy"] = "camera=(), microphone=(), geolocation=(), payment=()"
    return response
