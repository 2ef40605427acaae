"""Format values for the portal's lists and pages: times, shortened texts and links."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from django.utils import timezone
from django.utils.functional import lazy
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

NOTHING = "—"


def ago(time: datetime, now: datetime | None = None) -> str:
    """Return `time` relative to now in its largest unit: `3 minutes ago`, `in 2 hours`, `just now`."""
    now = now or timezone.now()
    earlier, later = sorted((time, now))
    if (later - earlier).total_seconds() < 1:
        return "just now"
    seconds = int((later - earlier).total_seconds())
    distance = f"{seconds} s" if seconds < 60 else timesince(earlier, later, depth=1).replace("\xa0", " ")
    return f"{distance} ago" if time <= now else f"in {distance}"


def exact(time: datetime) -> str:
    """Return `time` in the user's time zone, to the second: `21 Nov 2026, 13:00:05 Europe/Berlin`."""
    return f"{timezone.localtime(time):%-d %b %Y, %H:%M:%S} {timezone.get_current_timezone_name()}"


def exact_and_ago(time: datetime | None) -> str:
    """Return `time` in both forms: `21 Nov 2026, 13:00:05 Europe/Berlin, 3 minutes ago`. Return NOTHING for None."""
    return f"{exact(time)}, {ago(time)}" if time else NOTHING


def _titled(text: str) -> str:
    return f"{text} ({timezone.get_current_timezone_name()})"


in_zone: Callable[[str], Any] = lazy(_titled, str)
"""Return a lazy column title with the user's time zone: `Created (UTC)`."""


def when(time: datetime | None) -> SafeString | str:
    """Return a cell with the relative time and, below, the exact time in the user's time zone; NOTHING for None."""
    if time is None:
        return NOTHING
    return format_html(
        '<time class="q-when" datetime="{}" title="{}"><span>{}</span> <small>{}</small></time>',
        time.astimezone(UTC).isoformat(),
        exact(time),
        ago(time),
        f"{timezone.localtime(time):%-d %b %Y, %H:%M}",
    )


def two_lines(first: object, second: object) -> SafeString:
    """Return a cell with a smaller second line, if there is one."""
    if second in (None, ""):
        return format_html("{}", first)
    return format_html('<span class="q-two">{}<small>{}</small></span>', first, second)


def ends(text: str, first: int = 8, last: int = 6) -> str:
    """Return a long text's first and last characters: `0x1234ab…cdef01`."""
    return text if len(text) <= first + last + 1 else f"{text[:first]}…{text[-last:]}"


def clipped(text: str, url: str = "", first: int = 8, last: int = 6) -> SafeString:
    """Return a shortened text with the full text as its title, linked if there is a URL."""
    if url:
        return format_html(
            '<a href="{}" class="text-link q-code" rel="noreferrer" title="{}">{}</a>',
            url,
            text,
            ends(text, first, last),
        )
    return format_html('<span class="q-code" title="{}">{}</span>', text, ends(text, first, last))


def copyable(text: str, shown: object = "") -> SafeString | str:
    """Return `shown` (default `text`) with a button that copies `text`. Return NOTHING if `text` is empty."""
    if not text:
        return NOTHING
    return format_html(
        '<span class="q-copyable"><span>{}</span>'
        '<button type="button" class="q-copy-icon" data-copy-text="{}" title="Copy" aria-label="Copy {}">'
        '<span class="material-symbols-outlined" aria-hidden="true">content_copy</span></button>'
        '<span class="q-said" role="status" aria-live="polite"></span></span>',
        shown or text,
        text,
        ends(text, 10),
    )


def present(facts: Iterable[tuple[str, object]]) -> list[tuple[str, object]]:
    return [(name, value) for name, value in facts if value not in (None, "", NOTHING)]


def outside(base: str, path: str) -> str:
    """Return a block explorer URL; "" if the catalogue has no https explorer."""
    return f"{base.rstrip('/')}/{path}" if urlsplit(base).scheme == "https" else ""
