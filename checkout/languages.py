"""The checkout's languages: a page's language and its messages, which are in the page for its script.

The words are in `checkout/messages/`, one file per language. Placeholders have names; a message with forms has one for
each plural category of its language (Unicode CLDR), selected by `count`. A missing message is shown in English.
"""

import json
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from babel import Locale
from babel.dates import format_skeleton, get_datetime_format
from django.conf import settings
from django.http import HttpRequest
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation.trans_real import parse_accept_lang_header

from merchants.languages import ENGLISH, LANGUAGES, known_language

_FOLDER = Path(__file__).parent / "messages"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
# What the checkout's own script never says: `shop.` is for `quittance.js`, which has its words in itself.
_NOT_FOR_THE_SCRIPT = ("page.", "shop.")
_NOT_WITHOUT_WALLETCONNECT = "walletconnect."
# Keep what is put into a text in one piece and in its own direction (Unicode's FIRST STRONG ISOLATE and its end).
_ISOLATE, _ISOLATE_END = "\u2068", "\u2069"
_FROM_RIGHT_TO_LEFT = re.compile(
    r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
# What turns text around by itself, which no name is accepted with: should one come in all the same, it turns nothing.
_TURNING = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066\u2067]")

# No line breaks before French punctuation: what goes before it is a space of its own, narrow but for `:` and « ».
_FRENCH_SPACES = ((re.compile(" (?=[;!?])"), "\u202f"), (re.compile(" (?=[:»])|(?<=«) "), "\u00a0"))

# The server's messages for these codes are meant for developers of programs that call too often.
_FOR_PROGRAMS = ("rate_limited",)

Message = str | dict[str, str]


class Language:
    """One language and all its messages."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.locale = Locale.parse(tag, sep="-")
        self.messages: dict[str, Message] = {**read_messages(ENGLISH), **read_messages(tag)}
        self._plain: dict[str, SafeString] = {}

    @property
    def direction(self) -> str:
        """Where lines begin: "ltr" or "rtl", as `dir` takes it."""
        return self.locale.text_direction

    @property
    def script_messages(self) -> dict[str, Message]:
        """The messages that the page's script needs."""
        is_offered = bool(settings.WALLETCONNECT_PROJECT_ID)
        left_out = _NOT_FOR_THE_SCRIPT if is_offered else (*_NOT_FOR_THE_SCRIPT, _NOT_WITHOUT_WALLETCONNECT)
        return {key: text for key, text in self.messages.items() if not key.startswith(left_out)}

    def say(self, key: str, values: dict[str, Any] | None = None) -> SafeString:
        """Return a message as HTML, its placeholders filled in; raises KeyError where there is no such message.

        Values are escaped unless they are safe already.
        """
        if values:
            return self._filled(key, values)
        plain = self._plain.get(key)
        if plain is None:
            plain = self._plain[key] = self._filled(key, {})
        return plain

    def _filled(self, key: str, given: dict[str, Any]) -> SafeString:
        found = self.messages[key]
        text = found if isinstance(found, str) else self._form(found, int(given["count"]))

        def filled(match: re.Match[str]) -> str:
            value = _TURNING.sub("", conditional_escape(given[match[1]]))
            is_apart = self.direction == "rtl" or _FROM_RIGHT_TO_LEFT.search(value)
            return f"{_ISOLATE}{value}{_ISOLATE_END}" if is_apart else value

        return mark_safe(_PLACEHOLDER.sub(filled, conditional_escape(text)))  # noqa: S308 - every part is escaped

    def message_for(self, kind: str, code: str | None, sentence: str | None) -> str:
        """Return what the server says by a code; its own sentence, which is English, names more on an English page."""
        known = self.messages.get(f"{kind}.{code}")
        is_shown_as_is = self.tag == ENGLISH and code not in _FOR_PROGRAMS
        return sentence or "" if is_shown_as_is or not isinstance(known, str) else known

    def when(self, instant: datetime) -> str:
        """Return a day and a time of day in UTC, in western digits."""
        return self._instant(instant, "MMMd", "Hm")

    def moment(self, instant: datetime) -> str:
        """Return an instant as a document states it: with its year and its second, in UTC, in western digits."""
        return self._instant(instant, "yMMMd", "Hms")

    def _instant(self, instant: datetime, *skeletons: str) -> str:
        day, time = (format_skeleton(name, instant, tzinfo=UTC, locale=self.locale) for name in skeletons)
        pattern = str(get_datetime_format("medium", locale=self.locale)).replace("'", "")
        return f"{pattern.format(time, day)} UTC"

    def _form(self, forms: dict[str, str], count: int) -> str:
        return forms.get(self.locale.plural_form(count)) or forms["other"]


@cache
def read_messages(tag: str) -> dict[str, Message]:
    """Return the messages of a language's own file, by name."""
    text = (_FOLDER / f"{tag}.json").read_text()
    for plain, own in _FRENCH_SPACES if tag == "fr" else ():
        text = plain.sub(own, text)
    messages: dict[str, Message] = json.loads(text)
    return messages


@cache
def language(tag: str) -> Language:
    """Return the language with this tag, one of `merchants.languages.LANGUAGES`."""
    return Language(tag)


def language_of(request: HttpRequest, default: str = "") -> Language:
    """Return the language to answer in: the address's `lang`, else the browser's, else `default`, else English."""
    wanted = [request.GET.get("lang", ""), *_accepted(request), default]
    tags = (known_language(tag) for tag in wanted if tag)
    return language(next((tag for tag in tags if tag), ENGLISH))


def switch(request: HttpRequest, current: Language) -> list[dict[str, Any]]:
    """Return the links to the same page in each language."""
    query = request.GET.copy()
    query.pop("lang", None)
    others = f"{query.urlencode()}&" if query else ""
    return [
        {"tag": tag, "name": name, "href": f"?{others}lang={tag}", "is_current": tag == current.tag}
        for tag, name in LANGUAGES.items()
    ]


def _accepted(request: HttpRequest) -> list[str]:
    """Return what the browser asks for, the most wanted first."""
    header = request.headers.get("Accept-Language", "")
    return [tag for tag, quality in parse_accept_lang_header(header) if quality > 0 and tag != "*"]
