"""Every language has all English messages with the same placeholders, and translates them."""

import json
import re
from pathlib import Path

import pytest
from babel import Locale

from checkout.languages import Message, language, read_messages
from config.api.errors import ErrorCode
from merchants.languages import ENGLISH, LANGUAGES
from payments.models import FailureCode
from payments.providers.base import NoOfferCode
from tests.processes import REPOSITORY

OTHERS = [tag for tag in LANGUAGES if tag != ENGLISH]
FILES = REPOSITORY / "checkout" / "messages"
# Words that are the same in English and in some other language.
_SAME = {"through", "total", "way", "transaction", "tokenContract", "page.token"}
CAFE = "مقهى الميناء"
OVERRIDE, ISOLATE = "\u202e", "\u2067"
_LATIN = {"es", "pt-BR", "fr", "de", "it", "tr", "en"}


def forms(message: Message) -> list[str]:
    return [message] if isinstance(message, str) else list(message.values())


def placeholders(message: Message) -> set[str]:
    return {name for form in forms(message) for name in re.findall(r"\{(\w+)\}", form)}


def test_there_is_one_file_for_each_language_and_no_other() -> None:
    assert {path.stem for path in FILES.iterdir()} == set(LANGUAGES)


@pytest.mark.parametrize("tag", OTHERS)
def test_a_language_is_complete(tag: str) -> None:
    assert list(read_messages(tag)) == list(read_messages(ENGLISH))


@pytest.mark.parametrize("tag", OTHERS)
def test_the_placeholders_are_those_of_english(tag: str) -> None:
    english, own = read_messages(ENGLISH), read_messages(tag)
    assert {key: placeholders(own[key]) for key in own} == {key: placeholders(english[key]) for key in own}


@pytest.mark.parametrize("tag", OTHERS)
def test_no_english_is_left(tag: str) -> None:
    english, own = read_messages(ENGLISH), read_messages(tag)
    assert {key for key in own if own[key] == english[key]} <= _SAME


@pytest.mark.parametrize("tag", sorted(set(LANGUAGES) - _LATIN))
def test_a_language_with_its_own_script_uses_it_in_every_message(tag: str) -> None:
    for key, message in read_messages(tag).items():
        for form in forms(message):
            own = re.sub(r"\{\w+\}", "", form)
            assert re.search(r"[^\W\d_a-zA-Z]", own) or not re.search(r"[a-zA-Z]", own), (key, form)


@pytest.mark.parametrize("tag", LANGUAGES)
def test_plurals_have_the_forms_of_their_language(tag: str) -> None:
    categories = {*Locale.parse(tag, sep="-").plural_form.tags, "other"}
    for key, message in read_messages(tag).items():
        if isinstance(message, dict):
            # Spanish, French, Italian and Portuguese have a plural form for millions, which the page never
            # needs.
            wanted = categories - {"many"} if tag in _LATIN else categories
            assert set(message) == wanted, key


@pytest.mark.parametrize("tag", LANGUAGES)
def test_messages_are_text_alone(tag: str) -> None:
    for key, message in read_messages(tag).items():
        for form in forms(message):
            assert form == form.strip() != "", key
            assert not re.search(r"[<>&\u200e\u200f\u202a-\u202e\u2066-\u2069]|\{(?!\w+\})", form), (
                key,
                form,
            )
            assert "'" not in form, (key, "a typographic apostrophe is wanted")


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 секунду"), (2, "2 секунды"), (5, "5 секунд"), (21, "21 секунду")]
)
def test_russian_counts_as_russian_does(count: int, said: str) -> None:
    text = language("ru").say("goingBack", {"merchant": "Bakery", "count": count})
    assert text.endswith(f"{said}.")


def test_no_line_of_french_begins_with_its_punctuation() -> None:
    for key, message in read_messages("fr").items():
        for form in forms(message):
            assert not re.search(r" [;:!?»]|« |(?<=[^\W\d])[;!?]", form), (key, form)
    assert language("fr").say("tokens").endswith("payer\u202f?")


def test_arabic_keeps_what_it_names_in_one_piece() -> None:
    text = language("ar").say("pay", {"amount": "10.00 USDC"})
    assert "\u206810.00 USDC\u2069" in text


def test_a_right_to_left_name_is_isolated_in_a_sentence() -> None:
    text = language("de").say("paidHelp", {"merchant": CAFE, "amount": "10.00 USDC"})
    assert f"\u2068{CAFE}\u2069" in text
    assert "10.00 USDC" in text
    assert "\u2068" not in language("de").say("paidHelp", {"merchant": "Alice", "amount": "10.00 USDC"})


@pytest.mark.parametrize("mark", [OVERRIDE, ISOLATE, "\u202b", "\u200f", "\u061c"])
def test_marks_that_turn_text_are_removed_from_names(mark: str) -> None:
    said = language("en").say("paidHelp", {"merchant": f"Alice{mark}", "amount": f"{mark}10.00 USDC"})
    assert mark not in said
    assert "10.00 USDC" in said


def test_what_a_message_names_can_bring_no_markup() -> None:
    text = language("de").say("paidTo", {"merchant": "<b>Bakery</b> & {amount}"})
    assert text == "Gezahlt an &lt;b&gt;Bakery&lt;/b&gt; &amp; {amount}"


def test_what_a_language_lacks_is_said_in_english(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkout import languages

    for tag, messages in (("en", {"pay": "Pay {amount}", "back": "Back"}), ("de", {"back": "Zurück"})):
        (tmp_path / f"{tag}.json").write_text(json.dumps(messages))
    monkeypatch.setattr(languages, "_FOLDER", tmp_path)
    read_messages.cache_clear()
    try:
        short = languages.Language("de")
        assert (short.say("back"), short.say("pay", {"amount": "1"})) == ("Zurück", "Pay 1")
    finally:
        read_messages.cache_clear()


def test_the_script_names_no_message_that_there_is_not() -> None:
    script = (REPOSITORY / "checkout/frontend/src/copy.ts").read_text()
    said = set(re.findall(r'say\(\s*"([\w.]+)"', script))
    assert said
    assert said <= set(read_messages(ENGLISH))


def test_templates_use_known_messages_and_no_other_words() -> None:
    for path in sorted((REPOSITORY / "templates/checkout").glob("*.html")):
        text = path.read_text()
        assert set(re.findall(r'{% say "([\w.]+)"', text)) <= set(read_messages(ENGLISH)), path
        markup = re.sub(r"{%.*?%}|{{.*?}}|{#.*?#}", "", text, flags=re.DOTALL)
        without = re.sub(r"<(style|script).*?</\1>|<[^>]*>|&\w+;", " ", markup, flags=re.DOTALL)
        assert set(re.findall(r"[^\W\d_]{3,}", without)) <= {"Quittance", "UTC", "lang"}, path
        shown = re.findall(r'(?:aria-label|title|alt|placeholder)="([^"{]*)"', text)
        assert not any(shown), path


def test_each_failure_and_refusal_has_a_message() -> None:
    messages = read_messages(ENGLISH)
    assert {f"failure.{code.value}" for code in FailureCode} <= set(messages)
    assert {f"refusal.{code.value}" for code in NoOfferCode} <= set(messages)
    of_the_api = {key.removeprefix("refusal.") for key in messages if key.startswith("refusal.")}
    assert of_the_api - {code.value for code in NoOfferCode} <= {code.value for code in ErrorCode}


@pytest.mark.parametrize("tag", LANGUAGES)
def test_what_a_copy_button_is_called_has_the_word_that_it_shows(tag: str) -> None:
    messages = read_messages(tag)
    shown = str(messages["page.copy"]).lower()
    for key in ("page.copyRecipient", "page.copyToken", "page.copyAmount", "page.copyText"):
        assert re.search(rf"(?<![^\W\d_a-zぁ-ヿ一-鿿가-힣]){shown}", str(messages[key]).lower()), key


def test_template_addresses_and_texts_to_sign_stay_untranslated() -> None:
    tags = [
        (path.name, tag)
        for path in sorted((REPOSITORY / "templates/checkout").rglob("*.html"))
        for tag in re.findall(r"<(?:code|pre)\b[^>]*>", path.read_text())
    ]
    assert len(tags) > 10
    assert [each for each in tags if 'translate="no"' not in each[1]] == []
