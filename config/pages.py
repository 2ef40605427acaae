"""The default security policy of pages, and the error pages."""

import base64
import hashlib
import logging
import re
import sys
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import server_error

from config.database.outages import is_outage

logger = logging.getLogger(__name__)

_PORTAL = "/admin/"
_CUSTOMERS = ("/pay/", "/refunds/", "/l/")
_RETRY_AFTER_SECONDS = 5


class PagePolicyMiddleware:
    """Set a strict Content-Security-Policy on each page that has none: no scripts, loading or framing.

    The portal's policy allows more: the portal's own scripts, inline styles of its theme, 'unsafe-eval' for the theme's
    Alpine.js, and merchants' logos from other hosts.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._policy = "; ".join(
            (
                "default-src 'none'",
                f"style-src 'self' '{_plain_style()}'",
                "img-src 'self'",
                "base-uri 'none'",
                "form-action 'none'",
                "frame-ancestors 'none'",
            )
        )

        logos = "https: http:" if settings.ALLOW_HTTP_URLS else "https:"
        self._portal_policy = "; ".join(
            (
                "default-src 'none'",
                "script-src 'self' 'unsafe-eval'",
                "style-src 'self' 'unsafe-inline'",
                f"img-src 'self' data: {logos}",
                "font-src 'self'",
                "connect-src 'self'",
                "base-uri 'none'",
                "form-action 'self'",
                "frame-ancestors 'none'",
            )
        )

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_page = response.get("Content-Type", "").startswith("text/html")
        # Django's own error pages use inline styles.
        is_for_developers = settings.DEBUG and response.status_code in (404, 500)
        is_portal = request.path.startswith(_PORTAL)
        if is_page and not is_for_developers:
            policy = self._portal_policy if is_portal else self._policy
            response.headers.setdefault("Content-Security-Policy", policy)
            if response.status_code >= 400 and not is_portal:
                response.headers.setdefault("X-Frame-Options", "DENY")
                response.headers.setdefault("Cache-Control", "no-store")
        return response


def broken_page(request: HttpRequest) -> HttpResponse:
    """Return the error page. Customers read in their language that their funds are not affected."""
    is_down = is_outage(sys.exc_info()[1])
    response = _for_customers(request) if request.path.startswith(_CUSTOMERS) else server_error(request)
    if is_down:
        response.status_code = 503
        response["Retry-After"] = str(_RETRY_AFTER_SECONDS)
    return response


def _for_customers(request: HttpRequest) -> HttpResponse:
    try:
        return render(request, "checkout/broken.html", {"merchant": {}}, status=500)
    except Exception:  # the same error may occur in this page too
        logger.exception("the error page failed")
        return server_error(request)


def _plain_style() -> str:
    """Return the CSP hash of the only inline style in plain_page.html."""
    page = (settings.BASE_DIR / "templates" / "plain_page.html").read_text()
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
