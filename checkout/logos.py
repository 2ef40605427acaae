"""Logos of merchants and tokens. We serve them, so customers' browsers contact no third party.

A worker fetches them with `webhooks.dispatch.http_client`, by the rules for merchants' URLs, and stores them in Redis.
Without a logo, the page shows the first letter of the name.
"""

import hashlib
from contextlib import suppress
from dataclasses import dataclass

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.http import HttpResponse
from django.urls import reverse
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from chains.models import Token
from checkout.own_logos import own_token_logo
from merchants.models import Merchant
from payments.providers import token_list
from payments.providers.base import ListedToken
from webhooks.dispatch.http_client import Rules, get

MAX_BYTES = 256 * 1024
DEADLINE_SECONDS = 5.0
KEPT_SECONDS = 7 * 24 * 3600
MISSING_SECONDS = 10 * 60
ASKED_SECONDS = 30
COIN = "coin"
"""Replaces the token address in the URL of the native coin's logo."""
_FORMATS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


@dataclass(frozen=True)
class Logo:
    """An image and its type. An empty type means that the fetch failed."""

    content_type: str
    content: bytes


def cached_logo(merchant: Merchant) -> Logo | None:
    """Return the cached logo of the merchant. If there is none, start a task that fetches it."""
    return _known(merchant.logo_url, "checkout.tasks.fetch_merchants_logo", str(merchant.pk))


def fetch_logo(merchant: Merchant) -> Logo:
    """Fetch the merchant's logo and cache it for a week. Cache a failure for ten minutes."""
    return _fetch(merchant.logo_url)


def token_logo_url(token: Token, listed: ListedToken | None) -> str | None:
    """Return the URL of the token's logo, which is ours or from a provider's list. Return None if there is none.

    Only tokens of the catalogue have logos. So an unknown token can't look like a known one, and the number of logos
    to fetch is limited.
    """
    own = own_token_logo(token)
    if own or token.is_only_listed or listed is None or not listed.logo_url:
        return own
    path = reverse("token-logo", args=(token.chain_id, token.contract_address or COIN))
    return f"{settings.CHECKOUT_URL}{path}?v={_version(listed.logo_url)}"


def cached_token_logo(token: Token) -> Logo | None:
    """Return the cached logo of the token. If there is none, start a task that fetches it."""
    return _known(_listed_url(token), "checkout.tasks.fetch_tokens_logo", str(token.pk))


def fetch_token_logo(token: Token) -> Logo:
    """Fetch the token's logo from the providers' lists, and cache it. If no list has a logo, cache an empty logo."""
    url = _listed_url(token)
    return _fetch(url) if url else Logo("", b"")


def _known(url: str, task: str, key: str) -> Logo | None:
    if not url:
        return None
    with suppress(RedisError):
        cached = cache.get(_key(url))
        if isinstance(cached, bytes):
            logo = _as_logo(cached)
            return logo if logo.content_type else None
        if cache.add(_key(url) + ":asked", True, ASKED_SECONDS):
            _nudge(task, key)
    return None


def _fetch(url: str) -> Logo:
    content = get(url, rules=Rules.of_this_deployment(), deadline=DEADLINE_SECONDS, most=MAX_BYTES)
    logo = _as_logo(content or b"")
    cache.set(_key(url), logo.content, KEPT_SECONDS if logo.content_type else MISSING_SECONDS)
    return logo


def _as_logo(content: bytes) -> Logo:
    """Return the cached image. Detect its type again from the bytes."""
    content_type = content_type_of(content)
    return Logo(content_type, content if content_type else b"")


def _listed_url(token: Token) -> str:
    listed = token_list.listed_token(token.chain_id, token.contract_address)
    return (listed.logo_url or "") if listed else ""


def content_type_of(content: bytes) -> str:
    """Detect PNG, JPEG, GIF, WebP and SVG from the bytes. Return "" for other content."""
    for beginning, content_type in _FORMATS.items():
        if content.startswith(beginning):
            return content_type
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    text = content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith((b"<svg", b"<?xml")) and b"<svg" in content[:4096]:
        return "image/svg+xml"
    return ""


def logo_response(logo: Logo) -> HttpResponse:
    """Return the image. The Content-Security-Policy blocks scripts, even if the image is opened as a page."""
    response = HttpResponse(logo.content, content_type=logo.content_type)
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "public, max-age=3600"
    return response


def version(merchant: Merchant) -> str:
    """Return a version for our URL of the merchant's logo.

    If the merchant changes the logo's URL, the version changes too.
    """
    return _version(merchant.logo_url)


def _version(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:12]


def _key(url: str) -> str:
    return f"logo:{hashlib.sha256(url.encode()).hexdigest()}"


def _nudge(task: str, key: str) -> None:
    with suppress(OperationalError):
        current_app.send_task(task, (key,), retry=False, expires=ASKED_SECONDS)
