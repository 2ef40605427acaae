"""A merchant's colours as CSS custom properties, adjusted so that text stays readable (WCAG 1.4.3, 1.4.11).

What is worked out here needs no colour functions of the browser's. The grounds are those of styles/colours.css, which
also has the values for merchants who chose nothing.
"""

import re

from merchants import contrast

_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
# The card, what is sunken in it, and the track of a progress bar.
LIGHT_GROUNDS = ("#ffffff", "#f7f7f6", "#e4e4e2")
DARK_GROUNDS = ("#17181b", "#1e2023", "#2d2f33")
_ON_LIGHT_PAGE = "#55585f"
# As dark as the page is without a merchant's colour: the card stays the brighter one.
_DARK_PAGE_LUMINANCE = 0.008
_HOVER_SHARE = 0.1
# A dark accent that is led only to 3 : 1 turns into a grey that looks switched off.
_NIGHT_CONTRAST = 6.0


def theme_css(accent: str | None, background: str | None) -> str:
    """Return rules that set what follows from the chosen colours, by day and by night.

    Anything but #rrggbb counts as not chosen, so that nothing of a merchant's gets into the style sheet but digits.
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
    """Return a button's fill, its text, and its fill under the pointer, on which the text reads as well."""
    ink = contrast.readable_on(accent)
    hover = contrast.blend(accent, ink, _HOVER_SHARE)
    if contrast.contrast_ratio(hover, ink) < contrast.ENOUGH_FOR_TEXT:
        hover = contrast.blend(accent, contrast.readable_on(ink), _HOVER_SHARE)
    return {"accent": accent, "on-accent": ink, "accent-hover": hover}


def _by_night(accent: str) -> str:
    """Return the fill of a button on the dark card: the accent itself where it stands out, else a lighter shade."""
    grounds = DARK_GROUNDS[:2]
    if all(contrast.contrast_ratio(accent, ground) >= contrast.ENOUGH_FOR_CONTROLS for ground in grounds):
        return accent
    return contrast.set_apart(accent, grounds, _NIGHT_CONTRAST, contrast.readable_on(grounds[0]))


def _line(accent: str, grounds: tuple[str, ...]) -> str:
    """Return the accent for edges and progress, which are thin."""
    away = contrast.readable_on(grounds[0])
    return contrast.set_apart(accent, grounds, contrast.ENOUGH_FOR_CONTROLS, away)


def _ink(ground: str) -> str:
    """Return what the page's foot is written in: grey where that reads well enough."""
    reads = contrast.contrast_ratio(_ON_LIGHT_PAGE, ground) >= contrast.ENOUGH_FOR_TEXT
    return _ON_LIGHT_PAGE if reads else contrast.readable_on(ground)


def _properties(values: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in values.items())
