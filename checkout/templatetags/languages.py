"""Template tags for the customer's language, which depends on the request and on `merchant` in the context."""

import json
from datetime import datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from django import template
from django.conf import settings
from django.template import Context
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString

from checkout import languages
from checkout.languages import Language
from config.api.serializers import timestamp

register = template.Library()

# A shortened hash keeps this many characters.
_FIRST, _LAST = 10, 8


@register.simple_tag(takes_context=True)
def say(context: Context, key: str, **values: Any) -> SafeString:
    return _language(context).say(key, values)


@register.simple_tag(takes_context=True)
def message_for(context: Context, kind: str, code: str | None, sentence: str | None) -> str:
    return _language(context).message_for(kind, code, sentence)


@register.simple_tag(takes_context=True)
def advice(context: Context, failure_code: str) -> SafeString:
    current = _language(context)
    key = f"advice.{failure_code}"
    return current.say(key if key in current.messages else "advice.other")


@register.simple_tag(takes_context=True)
def when(context: Context, timestamp: str) -> str:
    instant = parse_datetime(timestamp)
    return _language(context).when(instant) if instant else timestamp


@register.simple_tag(takes_context=True)
def moment(context: Context, value: str | datetime | None) -> SafeString:
    """Format a time from the API or the database for documents."""
    instant = parse_datetime(value) if isinstance(value, str) else value
    if instant is None:
        return format_html("{}", value or "")
    text = _language(context).moment(instant)
    return format_html('<time datetime="{}"><bdi>{}</bdi></time>', timestamp(instant), text)


@register.simple_tag(takes_context=True)
def language_attributes(context: Context) -> SafeString:
    current = _language(context)
    return format_html('lang="{}" dir="{}"', current.tag, current.direction)


@register.simple_tag(takes_context=True)
def language_links(context: Context) -> list[dict[str, Any]]:
    return languages.switch(context["request"], _language(context))


@register.simple_tag(takes_context=True)
def script_messages(context: Context, has_deposits: bool = False, has_sponsoring: bool = False) -> SafeString:
    return _script_messages(
        _language(context), settings.WALLETCONNECT_PROJECT_ID, has_deposits, has_sponsoring
    )


@lru_cache(maxsize=64)
def _script_messages(
    current: Language, _project_id: str, has_deposits: bool, has_sponsoring: bool
) -> SafeString:
    messages = current.script_messages(has_deposits=has_deposits, has_sponsoring=has_sponsoring)
    return json_script(messages, "messages-data", encoder=_Letters)


@register.simple_tag(takes_context=True)
def chain_name(context: Context, chain_id: int) -> str:
    return next((chain["name"] for chain in context["chains"] if chain["id"] == chain_id), str(chain_id))


@register.filter
def of(amount: str, token: dict[str, Any]) -> str:
    return f"{amount} {token['symbol']}"


@register.filter
def untranslated(text: str) -> SafeString:
    """Keep browsers from translating an amount or symbol: "SOL" would become "sun"."""
    return format_html('<span translate="no">{}</span>', text)


@register.filter
def strong(text: str) -> SafeString:
    return format_html("<strong>{}</strong>", text)


@register.filter
def in_code(text: str) -> SafeString:
    return format_html('<code class="whole" translate="no">{}</code>', text)


@register.filter
def in_short(text: str) -> SafeString:
    """Return a shortened address or hash. Use it in a message if the page also shows the full one."""
    return format_html(
        '<code class="short" title="{}" translate="no">{}…{}</code>', text, text[:_FIRST], text[-_LAST:]
    )


@register.filter
def short_hash(payment: dict[str, Any]) -> SafeString:
    """Return a payment's shortened transaction hash, with a link if there is a block explorer.

    Without a hash, return the payment's id.
    """
    text = payment["transaction_hash"]
    if text is None:
        return format_html('<code class="short" translate="no">{}</code>', payment["id"])
    short = in_short(text)
    url = payment["explorer_url"]
    return (
        format_html('<a href="{}" target="_blank" rel="noopener noreferrer">{}</a>', url, short)
        if url
        else short
    )


@register.filter
def named(token: dict[str, Any]) -> SafeString:
    """Return a token's name with its symbol. If both are the same, return only the symbol."""
    if token["name"] == token["symbol"]:
        return format_html('<bdi translate="no">{}</bdi>', token["symbol"])
    return format_html('<bdi translate="no"><bdi>{}</bdi> ({})</bdi>', token["name"], token["symbol"])


@register.filter
def link(text: str, url: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', url, text)


@register.filter
def host_link(origin: str) -> SafeString:
    return format_html('<a href="{}" rel="noopener">{}</a>', origin, urlsplit(origin).netloc)


@register.filter
def mail_link(address: str) -> SafeString:
    return format_html('<a href="mailto:{0}">{0}</a>', address)


class _Letters(json.JSONEncoder):
    """Encodes JSON without escapes of non-ASCII letters. With escapes, Russian would be three times as long."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "ensure_ascii": False})


def _language(context: Context) -> Language:
    """Return the page's language. It is cached for each template, because a page needs about forty messages."""
    cached: Any = context.render_context
    merchant = context.get("merchant") or {}
    default = merchant.get("default_language", "")
    language: Language | None = cached.get(default)
    if language is None:
        is_for_refund = bool(context.get("is_refund"))
        language = languages.language_of(context["request"], default, is_for_refund=is_for_refund)
        cached[default] = language
    return language
