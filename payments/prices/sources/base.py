"""What a rate source is, and how an exchange's public ticker is read."""

import re
import time
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

from payments.prices.rules import Observation
from payments.providers.base import ProviderDown
from payments.providers.http import JsonApi

ANSWER_SECONDS = 4.0
_MOST_BYTES = 64 * 1024
_NOT_FOUND = (400, 404)
# How far an exchange's clock may be ahead of ours.
_CLOCK_SKEW = timedelta(seconds=30)
_UNLISTED_SECONDS = 300.0
_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")


class RateSource(Protocol):
    """A source of exchange rates to USD. Threads may share it."""

    def observe(self, bases: Collection[str]) -> dict[str, list[Observation]]:
        """Return, for each of these currencies that it knows, what one is worth in USD.

        Values that are older than the source guarantees are left out. Raises ProviderDown if it gives no usable answer.
        """
        ...


class Ticker:
    """An exchange's public API at `url`, which is asked for one pair at a time and not trusted.

    Pairs that it doesn't list are remembered for some minutes: otherwise prices in currencies that no exchange lists
    would use up the calls that it allows.
    """

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self._api = JsonApi(name, url)
        self._unlisted: dict[str, float] = {}

    def is_unlisted(self, pair: str) -> bool:
        """Whether the exchange said within the last minutes that it has no such pair."""
        return time.monotonic() - self._unlisted.get(pair, -_UNLISTED_SECONDS) < _UNLISTED_SECONDS

    def note_unlisted(self, pair: str) -> None:
        """Remember that the exchange has no such pair."""
        self._unlisted[pair] = time.monotonic()

    def get(self, path: str, **query: str) -> Any:
        """Return the JSON of a 2xx response, or None if the exchange has no such pair. Raises ProviderDown."""
        answer = self._api.get(path, query, seconds=ANSWER_SECONDS, most_bytes=_MOST_BYTES)
        if answer.status in _NOT_FOUND:
            return None
        if not 200 <= answer.status < 300:
            raise ProviderDown(f"{self.name} answered {answer.status}")
        if answer.body is None:
            raise ProviderDown(f"{self.name} answered null")
        return answer.body


def number(value: Any) -> Decimal | None:
    """Return a positive decimal string or number of an answer, else None."""
    if isinstance(value, bool) or not isinstance(value, (str, int, Decimal)):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    try:
        parsed = Decimal(value)
    except InvalidOperation:
        return None
    return parsed if parsed.is_finite() and parsed > 0 else None


def time_of(value: Any) -> datetime | None:
    """Return an RFC 3339 time of an answer in UTC, else None."""
    try:
        parsed = datetime.fromisoformat(value)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def is_fresh(observed_at: datetime, now: datetime, most: timedelta) -> bool:
    """Whether an observation is at most this old, and not from the future."""
    return now - most <= observed_at <= now + _CLOCK_SKEW
