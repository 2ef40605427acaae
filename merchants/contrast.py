"""Compute the contrast of colours (WCAG 2.2), and adjust a colour to reach a given contrast."""

from collections.abc import Iterable

_CARD = "#ffffff"
# The minimum contrast of controls, such as the pay button on the white card (WCAG 1.4.11).
ENOUGH_FOR_CONTROLS = 3.0
# The minimum contrast of text in normal size (WCAG 1.4.3).
ENOUGH_FOR_TEXT = 4.5
_STEPS = 50


def contrast_ratio(one: str, other: str) -> float:
    """Return the contrast of two #rrggbb colours, from 1 (the same) to 21 (black on white)."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def check_accent(colour: str) -> None:
    """Raise ValueError if a button of this colour is hard to see on the checkout's white card."""
    ratio = contrast_ratio(colour, _CARD)
    if ratio < ENOUGH_FOR_CONTROLS:
        raise ValueError(
            f"{colour} is too pale for buttons on white: its contrast is {ratio:.1f} : 1, and 3 : 1 is needed. "
            "Choose a darker shade."
        )


def readable_on(ground: str) -> str:
    """Return the text colour, black or white, with more contrast to `ground`: at least 4.5 : 1 (WCAG 1.4.3)."""
    return max("#000000", "#ffffff", key=lambda ink: contrast_ratio(ink, ground))


def set_apart(colour: str, grounds: Iterable[str], ratio: float, towards: str) -> str:
    """Blend `colour` with `towards` until its contrast to each of `grounds` is at least `ratio`.

    `towards` is black or white. Its own contrast to `grounds` must be at least `ratio`.
    """
    grounds = list(grounds)
    for step in range(_STEPS):
        blended = blend(colour, towards, step / _STEPS)
        if all(contrast_ratio(blended, ground) >= ratio for ground in grounds):
            return blended
    return towards


def darken(colour: str, luminance: float) -> str:
    """Blend `colour` with black until its luminance is at most `luminance` (0 to 1)."""
    steps = (blend(colour, "#000000", step / _STEPS) for step in range(_STEPS))
    return next((step for step in steps if _luminance(step) <= luminance), "#000000")


def blend(colour: str, other: str, share: float) -> str:
    pairs = ((int(colour[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(one + (two - one) * share):02x}" for one, two in pairs)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[start : start + 2], 16) / 255) for start in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
