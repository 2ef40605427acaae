"""How well two colours stand apart (WCAG 2.2, relative luminance)."""

_CARD = "#ffffff"
# WCAG 1.4.11: what a customer has to find, such as the pay button on the white card.
ENOUGH_FOR_CONTROLS = 3.0


def contrast_ratio(one: str, other: str) -> float:
    """Return the contrast of two colours written #rrggbb, from 1 (the same) to 21 (black on white)."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def check_accent(colour: str) -> None:
    """Raise ValueError if a button of this colour would be lost on the checkout's white card."""
    ratio = contrast_ratio(colour, _CARD)
    if ratio < ENOUGH_FOR_CONTROLS:
        raise ValueError(
            f"{colour} is too pale for buttons on white: its contrast is {ratio:.1f} : 1, and 3 : 1 is needed. "
            "Choose a darker shade."
        )


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[start : start + 2], 16) / 255) for start in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
