"""Text that could hide or reorder what stands around it is refused, and all other text is taken."""

import sys
import unicodedata

from config.api.serializers import has_unsafe_characters

BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_control_characters_surrogates_and_bidirectional_overrides_alone_are_unsafe() -> None:
    unsafe = {chr(code) for code in range(sys.maxunicode + 1) if has_unsafe_characters(chr(code))}
    controls = {
        chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cc", "Cs")
    }
    assert unsafe == controls | set(BIDIRECTIONAL)


def test_one_unsafe_character_anywhere_is_enough() -> None:
    assert not has_unsafe_characters("Zwei Tassen, 2 × 12,50 € 🎉")
    for text in ("\x00begins", "mid\u202edle", "ends\n"):
        assert has_unsafe_characters(text)
