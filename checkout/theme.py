"""A merchant's colours as CSS custom properties, adjusted so that text is readable (WCAG 1.4.3, 1.4.11).

The server computes the colours, so browsers need no CSS colour functions. The background colours here are the same as
in styles/colours.css, which also has the defaults.
"""

import re

from merchants import contrast

_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
# Background colours of the card, of its inset areas, and of the track of a progress bar.
LIGHT_GROUNDS = ("#ffffff", "#f7f7f6", "#e4e4e2")
DARK_GROUNDS = ("#17181b", "#1e2023", "#2d2f33")
_ON_LIGHT_PAGE = "#55585f"
# In dark mode, the merchant's background has at most this luminance, so that the page is darker than the card.
_DARK_PAGE_LUMINANCE = 0.008
_HOVER_SHARE = 0.1
# A contrast of 3:1 would be legible, but a dark accent would become a grey, and buttons would seem disabled.
_NIGHT_CONTRAST = 6.0


def theme_css(accent: str | None, background: str | None) -> str:
    """Return CSS rules for the merchant's colours, for light and dark mode.

    Values other than #rrggbb are ignored. So a merchant can't inject CSS.
    """
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    if accent and _COLOUR.fullmatch(accent):
        light |= _button(accent) | {"accent-line": _line(accent, LIGHT_GROUNDS)}
        dark |= _button(_by_night(accent)) | {"accent-line": _line(accent, DARK_GROUNDS)}
    if background and _COLOUR.fullmatch(background):
        light |= {"page": background, "on-page": _ink(background)}
        page = contrast.darken(background, _DARK_PAGE_LUMINANCE)
        dark |= {"page": page, "on-page": "#a6a9b0"}
    if not light:
        return ""
    return f":root{{{_properties(light)}}}@media (prefers-color-scheme: dark){{:root{{{_properties(dark)}}}}}"


def _button(accent: str) -> dict[str, str]:
    """Return a button's background, text and hover colours. The text is readable on the other two colours."""
    ink = contrast.readable_on(accent)
    hover = contrast.blend(accent, ink, _HOVER_SHARE)
    if contrast.contrast_ratio(hover, ink) < contrast.ENOUGH_FOR_TEXT:
        hover = contrast.blend(accent, contrast.readable_on(ink), _HOVER_SHARE)
    return {"accent": accent, "on-accent": ink, "accent-hover": hover}


def _by_night(accent: str) -> str:
    """Return a button's background on the dark card.

    The background is the accent, or a lighter shade if the contrast is too low.
    """
    grounds = DARK_GROUNDS[:2]
    if all(contrast.contrast_ratio(accent, ground) >= contrast.ENOUGH_FOR_CONTROLS for ground in grounds):
        return accent
    return contrast.set_apart(accent, grounds, _NIGHT_CONTRAST, contrast.readable_on(grounds[0]))


def _line(accent: str, grounds: tuple[str, ...]) -> str:
    """Return the accent for thin elements: borders and progress bars."""
    away = contrast.readable_on(grounds[0])
    return contrast.set_apart(accent, grounds, contrast.ENOUGH_FOR_CONTROLS, away)


def _ink(ground: str) -> str:
    """Return the footer's text colour: grey if the contrast is high enough, or else black or white."""
    reads = contrast.contrast_ratio(_ON_LIGHT_PAGE, ground) >= contrast.ENOUGH_FOR_TEXT
    return _ON_LIGHT_PAGE if reads else contrast.readable_on(ground)


def _properties(values: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in values.items())
