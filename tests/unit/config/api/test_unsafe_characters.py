"""Text with characters that can hide or reorder other text is rejected. All other text is accepted."""

import sys
import unicodedata

import pytest
from rest_framework.serializers import ValidationError

from config.api.serializers import TextField, has_unsafe_characters, one_line

BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_only_controls_surrogates_and_bidi_overrides_are_unsafe() -> None:
    unsafe = {chr(code) for code in range(sys.maxunicode + 1) if has_unsafe_characters(chr(code))}
    controls = {
        chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cc", "Cs")
    }
    assert unsafe == controls | set(BIDIRECTIONAL)


def test_one_unsafe_character_anywhere_is_enough() -> None:
    assert not has_unsafe_characters("Zwei Tassen, 2 × 12,50 € 🎉")
    for text in ("\x00begins", "mid\u202edle", "ends\n"):
        assert has_unsafe_characters(text)


def accepts(field: TextField, text: str) -> bool:
    try:
        return field.to_internal_value(text) == text
    except ValidationError:
        return False


def test_text_may_have_plain_marks_of_direction_only() -> None:
    accepted = {mark for mark in BIDIRECTIONAL if accepts(TextField(), f"1{mark}2")}
    assert accepted == set("\u061c\u200e\u200f")


@pytest.mark.parametrize("text", ["two\nlines", "two\r\nlines", "a\ttab"])
def test_line_breaks_and_tabs_need_a_field_with_lines(text: str) -> None:
    assert accepts(TextField(has_lines=True), text)
    assert not accepts(TextField(), text)


@pytest.mark.parametrize(
    "text", ["\x00", "\x0b", "\x0c", "\x1b", "\x7f", "\x85", "\u202e", "\u2066", "\ud800"]
)
def test_other_controls_are_rejected_with_lines_too(text: str) -> None:
    assert not accepts(TextField(has_lines=True), f"two{text}lines")


def test_lines_are_shown_on_one() -> None:
    assert one_line("Two\r\n\tloaves  each") == "Two loaves  each"
