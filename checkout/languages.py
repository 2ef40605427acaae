"""Select a page's language, and provide its messages to templates and scripts.

The messages are in `checkout/messages/`, one file per language. Placeholders are named. A plural message has one form
for each plural category of its language (Unicode CLDR). `count` selects the form. If a message is missing, it is shown
in English.
"""

import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from babel import Locale
from babel.dates import format_skeleton, get_datetime_format
from babel.numbers import format_currency
from django.conf import settings
from django.http import HttpRequest
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation.trans_real import parse_accept_lang_header

from merchants.languages import ENGLISH, LANGUAGES, closest_language

_FOLDER = Path(__file__).parent / "messages"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
# Messages that the checkout's script doesn't use. `quittance.js` contains the messages in `shop.`.
_NOT_FOR_THE_SCRIPT = ("page.", "shop.", "refund.")
# On the page of a refund, a message with this prefix replaces the message without the prefix.
_OF_A_REFUND = "refund."
# English pages don't need these messages, because they show the server's own sentences from the responses.
_NOT_IN_ENGLISH = ("refusal.", "detail.")
_NOT_WITHOUT_WALLETCONNECT = "walletconnect."
_NOT_WITHOUT_DEPOSITS = ("deposit.", "refusal.deposit_address_unavailable")
_NOT_WITHOUT_SPONSORING = (
    "sponsored.",
    "refusal.sponsoring_unavailable",
    "failure.authorization_",
    "advice.authorization_",
    "detail.sending",
)
# Unicode FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE. They isolate the direction of inserted values.
_ISOLATE, _ISOLATE_END = "\u2068", "\u2069"
_FROM_RIGHT_TO_LEFT = re.compile(
    r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
# Characters that change the direction of text. New names can't contain them, but they are removed here as well.
_TURNING = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066\u2067]")

# A transaction's hash in a sentence. The sentence shows it shortened, because the page shows the full hash in a box.
_LONG_HASH = re.compile(r"\b(0x[0-9a-f]{8})[0-9a-f]{48}([0-9a-f]{8})\b", re.IGNORECASE)

# French punctuation needs no-break spaces: narrow ones, except at `:` and « ».
_FRENCH_SPACES = ((re.compile(" (?=[;!?])"), "\u202f"), (re.compile(" (?=[:»])|(?<=«) "), "\u00a0"))

# For these codes, the server's message is for developers. Pages show their own messages instead.
_FOR_PROGRAMS = ("rate_limited", "deposit_address_unavailable", "sponsoring_unavailable")

Message = str | dict[str, str]


class Language:
    """A language and its messages. On the page of a refund, the messages are for the merchant, who pays there."""

    def __init__(self, tag: str, *, is_for_refund: bool = False) -> None:
        self.tag = tag
        self.locale = Locale.parse(tag, sep="-")
        self.messages: dict[str, Message] = {**read_messages(ENGLISH), **read_messages(tag)}
        self._replaced: set[str] = set()
        if is_for_refund:
            own = [key for key in self.messages if key.startswith(_OF_A_REFUND)]
            self._replaced = {key.removeprefix(_OF_A_REFUND) for key in own}
            self.messages |= {key: self.messages[_OF_A_REFUND + key] for key in self._replaced}
        self._plain: dict[str, SafeString] = {}

    @property
    def direction(self) -> str:
        return self.locale.text_direction

    def script_messages(
        self, *, has_deposits: bool = False, has_sponsoring: bool = False
    ) -> dict[str, Message]:
        """Return the messages that the page's script needs.

        Messages about deposit addresses and sponsored payments are left out if the page doesn't offer them.
        """
        excluded: tuple[str, ...] = _NOT_FOR_THE_SCRIPT
        if not settings.WALLETCONNECT_PROJECT_ID:
            excluded = (*excluded, _NOT_WITHOUT_WALLETCONNECT)
        needed = {f"refusal.{code}" for code in _FOR_PROGRAMS}
        if not has_deposits:
            excluded = (*excluded, *_NOT_WITHOUT_DEPOSITS)
            needed -= {*_NOT_WITHOUT_DEPOSITS}
        if not has_sponsoring:
            excluded = (*excluded, *_NOT_WITHOUT_SPONSORING)
            needed -= {*_NOT_WITHOUT_SPONSORING}
        if self.tag == ENGLISH:
            excluded = (*excluded, *_NOT_IN_ENGLISH)
        return {
            key: text for key, text in self.messages.items() if key in needed or not key.startswith(excluded)
        }

    def say(self, key: str, values: dict[str, Any] | None = None) -> SafeString:
        """Return a message as HTML, with values for its placeholders. Raises KeyError for an unknown key.

        Values are escaped unless they are marked as safe.
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
            needs_isolation = self.direction == "rtl" or _FROM_RIGHT_TO_LEFT.search(value)
            return f"{_ISOLATE}{value}{_ISOLATE_END}" if needs_isolation else value

        return mark_safe(_PLACEHOLDER.sub(filled, conditional_escape(text)))  # noqa: S308 - every part is escaped

    def message_for(self, kind: str, code: str | None, sentence: str | None) -> str:
        """Return the message for a server code.

        On English pages, return the server's own sentence instead, because it is more specific.

        But the server's sentences are about payments by customers. So on the page of a refund, return the message for
        refunds if there is one.
        """
        key = f"{kind}.{code}"
        message = self.messages.get(key)
        uses_sentence = self.tag == ENGLISH and code not in _FOR_PROGRAMS and key not in self._replaced
        text = sentence or "" if uses_sentence or not isinstance(message, str) else message
        return _LONG_HASH.sub(r"\1…\2", text)

    def number(self, text: str) -> str:
        """Return a decimal string with the language's decimal separator."""
        return text.replace(".", self.locale.number_symbols["latn"]["decimal"])

    def currency(self, amount: str, code: str) -> str:
        """Return an amount of a currency with all of its digits. `amount` is a decimal string."""
        shown = format_currency(
            Decimal(amount),
            code,
            locale=self.locale,
            decimal_quantization=False,
            numbering_system="latn",
        )
        return _TURNING.sub("", shown)

    def when(self, instant: datetime) -> str:
        """Return the day and time in UTC, in western digits."""
        return self._instant(instant, "MMMd", "Hm")

    def moment(self, instant: datetime) -> str:
        """Return the date and time for documents: in UTC, with year and seconds, in western digits."""
        return self._instant(instant, "yMMMd", "Hms")

    def _instant(self, instant: datetime, *skeletons: str) -> str:
        day, time = (format_skeleton(name, instant, tzinfo=UTC, locale=self.locale) for name in skeletons)
        pattern = str(get_datetime_format("medium", locale=self.locale)).replace("'", "")
        return f"{pattern.format(time, day)} UTC"

    def _form(self, forms: dict[str, str], count: int) -> str:
        return forms.get(self.locale.plural_form(count)) or forms["other"]


@cache
def read_messages(tag: str) -> dict[str, Message]:
    """Return the messages in a language's file, by key."""
    text = (_FOLDER / f"{tag}.json").read_text()
    for plain, own in _FRENCH_SPACES if tag == "fr" else ():
        text = plain.sub(own, text)
    messages: dict[str, Message] = json.loads(text)
    return messages


@cache
def language(tag: str, *, is_for_refund: bool = False) -> Language:
    return Language(tag, is_for_refund=is_for_refund)


def language_of(request: HttpRequest, default: str, *, is_for_refund: bool = False) -> Language:
    """Return the language of the response.

    The first available language counts, in this order: the `lang` parameter, the browser's language, `default`,
    English.
    """
    candidates = [request.GET.get("lang", ""), *_accepted(request), default]
    tags = (closest_language(tag) for tag in candidates if tag)
    return language(next((tag for tag in tags if tag), ENGLISH), is_for_refund=is_for_refund)


def switch(request: HttpRequest, current: Language) -> list[dict[str, Any]]:
    query = request.GET.copy()
    query.pop("lang", None)
    others = f"{query.urlencode()}&" if query else ""
    return [
        {"tag": tag, "name": name, "href": f"?{others}lang={tag}", "is_current": tag == current.tag}
        for tag, name in LANGUAGES.items()
    ]


def _accepted(request: HttpRequest) -> list[str]:
    header = request.headers.get("Accept-Language", "")
    return [tag for tag, quality in parse_accept_lang_header(header) if quality > 0 and tag != "*"]
