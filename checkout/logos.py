"""Merchants' logos, shown from our own address: a customer's browser never calls one that a merchant chose.

A worker fetches them by `webhooks.outbound`, under the rules for all that merchants may point to; Redis keeps them.
What is not there yet, or can't be had, shows as the name's first letter.
"""

import hashlib
from contextlib import suppress
from dataclasses import dataclass

from celery import current_app
from django.core.cache import cache
from django.http import HttpResponse
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from merchants.models import Merchant
from webhooks.outbound import Rules, get

MOST_BYTES = 256 * 1024
DEADLINE_SECONDS = 5.0
KEPT_SECONDS = 7 * 24 * 3600
MISSING_SECONDS = 10 * 60
ASKED_SECONDS = 30
_FORMATS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


@dataclass(frozen=True)
class Logo:
    """An image and its type; no type stands for a logo that could not be had."""

    content_type: str
    content: bytes


def known_logo(merchant: Merchant) -> Logo | None:
    """Return the merchant's logo if it is here; if nobody has looked lately, have a worker fetch it."""
    if not merchant.logo_url:
        return None
    with suppress(RedisError):
        kept = cache.get(_key(merchant.logo_url))
        if isinstance(kept, Logo):
            return kept if kept.content_type else None
        if cache.add(_key(merchant.logo_url) + ":asked", True, ASKED_SECONDS):
            _nudge(merchant)
    return None


def fetch_logo(merchant: Merchant) -> Logo:
    """Fetch the merchant's logo and keep it for a week; one that can't be had is left alone for ten minutes."""
    content = get(
        merchant.logo_url, rules=Rules.of_this_deployment(), deadline=DEADLINE_SECONDS, most=MOST_BYTES
    )
    logo = Logo(content_type_of(content or b""), content or b"")
    cache.set(_key(merchant.logo_url), logo, KEPT_SECONDS if logo.content_type else MISSING_SECONDS)
    return logo


def content_type_of(content: bytes) -> str:
    """Return the type that the bytes themselves show, empty for what is none of PNG, JPEG, GIF, WebP and SVG."""
    for beginning, content_type in _FORMATS.items():
        if content.startswith(beginning):
            return content_type
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    text = content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith((b"<svg", b"<?xml")) and b"<svg" in content[:4096]:
        return "image/svg+xml"
    return ""


def logo_answer(logo: Logo) -> HttpResponse:
    """Return the image so that nothing in it can run, even where somebody opens it by itself."""
    answer = HttpResponse(logo.content, content_type=logo.content_type)
    answer["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Cache-Control"] = "public, max-age=3600"
    return answer


def version(merchant: Merchant) -> str:
    """Return what changes with the merchant's logo address, for the image's own address."""
    return hashlib.sha256(merchant.logo_url.encode()).hexdigest()[:12]


def _key(url: str) -> str:
    return f"logo:{hashlib.sha256(url.encode()).hexdigest()}"


def _nudge(merchant: Merchant) -> None:
    with suppress(OperationalError):
        current_app.send_task(
            "checkout.tasks.fetch_merchants_logo", (str(merchant.pk),), retry=False, expires=ASKED_SECONDS
        )
