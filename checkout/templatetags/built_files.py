"""Template tags for our built files, with the digests that browsers verify."""

import json
from functools import lru_cache

from django import template
from django.utils.safestring import SafeString, mark_safe

from checkout import integrity as digests

register = template.Library()
_ESCAPED = {ord("<"): "\\u003C", ord(">"): "\\u003E", ord("&"): "\\u0026"}


@register.simple_tag
def integrity(name: str) -> str:
    return digests.integrity(name)


@register.simple_tag
def built_style(name: str) -> SafeString:
    """Return a built style sheet for an inline style element.

    So the first paint needs no second request. Raises ValueError if the content could close the element.
    """
    return _style(name, digests.served_bytes(name))


@lru_cache(maxsize=8)
def _style(name: str, content: bytes) -> SafeString:
    text = content.decode()
    if "</" in text:
        raise ValueError(f"{name} can't be in a style element.")
    return mark_safe(text)  # noqa: S308 - our own build, checked above


@register.simple_tag
def import_map(has_deposits: bool = False, has_sponsoring: bool = False) -> SafeString:
    parts = digests.import_map(has_deposits=has_deposits, has_sponsoring=has_sponsoring)
    return mark_safe(json.dumps(parts).translate(_ESCAPED))  # noqa: S308 - escaped here
