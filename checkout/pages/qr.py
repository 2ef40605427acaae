"""QR codes as SVG, so that they show without scripts."""

from functools import lru_cache

import segno
from django.utils.safestring import SafeString, mark_safe

# ISO/IEC 18004 asks for four modules of white around the code; drawn in, no page can forget them.
_QUIET_ZONE = 4


# About 15 kB each. Merchants have few recipients, and a page is opened more than once.
@lru_cache(maxsize=512)
def qr_code(text: str) -> SafeString:
    """Return the QR code of `text` as an inline SVG element, black on white in every theme, with its quiet zone."""
    code = segno.make(text, error="m", micro=False)
    svg = code.svg_inline(border=_QUIET_ZONE, dark="#000", light="#fff", omitsize=True)
    return mark_safe(svg)  # noqa: S308 - segno's own drawing; the text is drawn as squares, not written
