"""The merchant's colours, for a style element with the response's nonce."""

from typing import Any

from django import template

from checkout.theme import theme_css

register = template.Library()


@register.simple_tag
def theme(merchant: dict[str, Any]) -> str:
    """Return the CSS rules of the merchant's theme, without HTML special characters."""
    return theme_css(merchant.get("accent_colour"), merchant.get("background_colour"))
