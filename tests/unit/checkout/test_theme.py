"""Customers can read the page with every colour that a merchant can choose, in light and dark (WCAG 1.4.3, 1.4.11)."""

import re
from itertools import product
from pathlib import Path

import pytest

from checkout.theme import DARK_GROUNDS, LIGHT_GROUNDS, theme_css
from merchants.contrast import contrast_ratio
from merchants.models import Merchant
from tests.conftest import Api
from tests.integration.checkout.test_page import Checkout, page

COLOURS = [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in product(range(0, 256, 51), repeat=3)]
STYLES = Path(__file__).resolve().parents[3] / "checkout" / "frontend" / "src" / "styles" / "colours.css"


def _themes(css: str) -> list[dict[str, str]]:
    """Return the properties for light colours, and those that differ for dark colours."""
    return [dict(re.findall(r"--([a-z-]+): *(#[0-9a-fA-F]{6})\b", part)) for part in css.split("@media")[:2]]


@pytest.mark.parametrize("colour", COLOURS)
def test_text_and_controls_stand_out_whatever_was_chosen(colour: str) -> None:
    light, dark = _themes(theme_css(colour, colour))
    for fill in (light["accent"], light["accent-hover"]):
        assert contrast_ratio(light["on-accent"], fill) >= 4.5
    for fill in (dark["accent"], dark["accent-hover"]):
        assert contrast_ratio(dark["on-accent"], fill) >= 4.5
    assert min(contrast_ratio(dark["accent"], ground) for ground in DARK_GROUNDS[:2]) >= 3
    for line, grounds in ((light["accent-line"], LIGHT_GROUNDS), (dark["accent-line"], DARK_GROUNDS)):
        assert min(contrast_ratio(line, ground) for ground in grounds) >= 3
    assert contrast_ratio(light["on-page"], light["page"]) >= 4.5
    assert contrast_ratio(dark["on-page"], dark["page"]) >= 4.5
    assert light["page"] == colour


def test_a_colour_that_stands_out_is_kept_as_it_is() -> None:
    light, _ = _themes(theme_css("#8a3b12", None))
    assert light["accent"] == light["accent-line"] == "#8a3b12"
    assert "page" not in light


@pytest.mark.parametrize(
    "text", ["", None, "red", "#fff", "#8a3b12;}body{display:none", "</style>", "#8a3b12\n"]
)
def test_what_is_no_colour_never_gets_into_the_style_sheet(text: str | None) -> None:
    assert theme_css(text, text) == ""


def test_default_theme_and_backgrounds_match_the_style_sheet() -> None:
    light, dark = _themes(STYLES.read_text().replace("#fff;", "#ffffff;"))
    assert tuple(light[name] for name in ("surface", "sunken", "line")) == LIGHT_GROUNDS
    assert tuple(dark[name] for name in ("surface", "sunken", "line")) == DARK_GROUNDS
    chosen_light, chosen_dark = _themes(theme_css(light["accent"], None))
    assert chosen_light.items() <= light.items()
    assert chosen_dark["accent-line"] == dark["accent-line"]
    # In dark colours, a merchant's accent keeps its hue. Without an accent, the button is nearly white.
    assert min(contrast_ratio(dark["accent"], ground) for ground in DARK_GROUNDS[:2]) >= 3
    assert contrast_ratio(dark["on-accent"], dark["accent"]) >= 4.5
    assert contrast_ratio(dark["on-accent"], dark["accent-hover"]) >= 4.5
    assert contrast_ratio(light["on-page"], light["page"]) >= 4.5


def test_the_page_carries_the_theme_under_its_nonce(
    public: Api, checkout: Checkout, merchant: Merchant
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(accent_colour="#ffe600", background_colour="#101010")
    answer = page(public, checkout())
    nonce = re.search("style-src 'self' 'nonce-([^']+)'", answer["Content-Security-Policy"])
    assert nonce
    assert f'<style nonce="{nonce[1]}">{theme_css("#ffe600", "#101010")}</style>' in answer.content.decode()
