"""QR codes as SVG, so that they show without scripts."""

import segno
from django.utils.safestring import SafeString, mark_safe


def checkout_qr(url: str) -> SafeString:
    """Return the QR code of `url` as an inline SVG element."""
    code = segno.make(url, error="m", micro=False)
    svg = code.svg_inline(border=0, omitsize=True)
    return mark_safe(svg)  # noqa: S308 - segno's own drawing; the URL is drawn as squares, not written
