"""Identifiers use only their alphabet. Each character is equally likely."""

from collections import Counter

from merchants.identifiers import _BASE58, _SHORTCODE, prefixed_id, shortcode


def test_they_have_their_length_and_alphabet() -> None:
    for _ in range(200):
        assert len(shortcode()) == 12
        assert set(shortcode()) <= set(_SHORTCODE)
        assert prefixed_id("evt_").startswith("evt_")
        assert len(prefixed_id("evt_")) == 28
        assert set(prefixed_id("")) <= set(_BASE58)


def test_each_character_is_as_likely_at_each_place() -> None:
    """In 20,000 codes, a given character is at a given place about 357 times.

    A difference of 150 is eight standard deviations.
    """
    codes = [shortcode() for _ in range(20_000)]
    for place in (0, 5, 11):
        counts = Counter(code[place] for code in codes)
        assert set(counts) == set(_SHORTCODE)
        expected = len(codes) / len(_SHORTCODE)
        assert all(abs(count - expected) < 150 for count in counts.values())
