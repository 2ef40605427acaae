"""The headers that keep the checkout's page from running or being framed by anything foreign (reliability: T-65)."""

import secrets

from django.http import HttpRequest, HttpResponse


def allow_nonce(request: HttpRequest) -> str:
    """Return this answer's nonce, made when first asked for; templates read it as `request.csp_nonce`."""
    nonce = getattr(request, "csp_nonce", None) or secrets.token_urlsafe(16)
    request.csp_nonce = nonce  # type: ignore[attr-defined]
    return str(nonce)


def page_policy(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return `response` with a policy that allows our own files and this answer's nonce, and nothing else."""
    nonce = allow_nonce(request)
    response["Content-Security-Policy"] = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "font-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "object-src 'none'",
            "frame-ancestors 'none'",
        )
    )
    response["Cache-Control"] = "no-store"
    response["Permissions-Policy"] = "camera=(), microphone=(), geolocation=(), payment=()"
    return response
