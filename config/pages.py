"""What holds for pages that say nothing of it themselves: errors, on which nobody looks (reliability: T-65)."""

import base64
import hashlib
import logging
import re
import sys
from collections.abc import Callable

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import server_error

logger = logging.getLogger(__name__)

_PORTAL = "/admin/"
_CUSTOMERS = "/pay/"
_RETRY_AFTER_SECONDS = 5


class PagePolicyMiddleware:
    """Give each page without a policy of its own one under which nothing runs, loads or frames it.

    The portal's pages are left to themselves.
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

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_page = response.get("Content-Type", "").startswith("text/html")
        # Django's own, which are styled in themselves.
        is_for_developers = settings.DEBUG and response.status_code in (404, 500)
        if is_page and not is_for_developers and not request.path.startswith(_PORTAL):
            response.headers.setdefault("Content-Security-Policy", self._policy)
            if response.status_code >= 400:
                response.headers.setdefault("X-Frame-Options", "DENY")
                response.headers.setdefault("Cache-Control", "no-store")
        return response


def broken_page(request: HttpRequest) -> HttpResponse:
    """Answer a page that failed. A customer is told in his language that his money is not lost by it."""
    is_away = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    answer = _for_customers(request) if request.path.startswith(_CUSTOMERS) else server_error(request)
    if is_away:
        answer.status_code = 503
        answer["Retry-After"] = str(_RETRY_AFTER_SECONDS)
    return answer


def _for_customers(request: HttpRequest) -> HttpResponse:
    try:
        return render(request, "checkout/broken.html", {"merchant": {}}, status=500)
    except Exception:  # whatever broke the page may break this one, too
        logger.exception("the page for errors failed")
        return server_error(request)


def _plain_style() -> str:
    """Return the digest of the one style that is written into a page: that of plain_page.html."""
    page = (settings.BASE_DIR / "templates" / "plain_page.html").read_text()
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
