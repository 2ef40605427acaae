"""Tags for our own built files, with the digests that browsers check."""

import json
from functools import lru_cache

from django import template
from django.utils.safestring import SafeString, mark_safe

from checkout import integrity as digests

register = template.Library()
_ESCAPED = {ord("<"): "\\u003C", ord(">"): "\\u003E", ord("&"): "\\u0026"}


@register.simple_tag
def integrity(name: str) -> str:
    """Give the `integrity` attribute's value for a static file."""
    return digests.integrity(name)


@register.simple_tag
def built_style(name: str) -> SafeString:
    """Give a style sheet of ours for a style element: the first paint then waits for no second answer.

    Raises ValueError if something in it could end the element.
    """
    return _style(name, digests.served_bytes(name))


@lru_cache(maxsize=8)
def _style(name: str, content: bytes) -> SafeString:
    text = content.decode()
    if "</" in text:
        raise ValueError(f"{name} can't be in a style element.")
    return mark_safe(text)  # noqa: S308 - our own build, looked at just here


@register.simple_tag
def import_map() -> SafeString:
    """Give the import map's JSON, in which nothing can end the script element."""
    return mark_safe(json.dumps(digests.import_map()).translate(_ESCAPED))  # noqa: S308 - escaped just here
