"""The interface of rate sources, and shared code that parses untrusted responses and limits the calls."""

import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

from django.conf import settings

from config.observe.outside_calls import Kind
from payments.prices.rules import Observation
from payments.providers.base import ProviderDown
from payments.providers.http import JsonApi, parse

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 4.0
LIST_SECONDS = 30.0
"""How long a list of rates is reused: a process requests it about twice a minute."""
_MAX_BYTES = 64 * 1024
_NO_SUCH_PAIR = (400, 404, 410, 422)
_PAIR_WORDS = re.compile(r"(?:^|\W)(pair|asset|market|product|symbol|instrument)s?(?:\W|$)", re.IGNORECASE)
# The clock of an exchange may be this much ahead of ours.
_CLOCK_SKEW = timedelta(seconds=30)
_UNLISTED_SECONDS = 300.0
_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")
_SMALLEST, _LARGEST = Decimal("1e-30"), Decimal("1e30")
_MAX_DIGITS = 80
_LATEST_SECOND = Decimal(10**11)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Whole = TypeVar("Whole")


@dataclass(frozen=True)
class Listing:
    """The currencies for which a source has rates, even while the source is down.

    `operator` and `is_daily` are the same as in the source's observations. `prices_coins` is False if the source has
    rates of currencies only.
    """

    source: str
    currencies: frozenset[str]
    operator: str = ""
    is_daily: bool = False
    prices_coins: bool = True


class RateSource(Protocol):
    """A source of exchange rates to USD. Implementations are thread-safe."""

    def observe(self, bases: Collection[str]) -> dict[str, list[Observation]]:
        """Return the value in USD of each of these currencies, if the source has it.

        Each source has a maximum age and leaves out older values. Raises ProviderDown if there is no usable
        response.
        """
        ...

    def listings(self) -> Iterable[Listing]:
        """Return one listing for each `source` name that occurs in the observations. Makes no call."""
        ...


class Ticker:
    """A client of an exchange's public API. One call returns one pair. Responses are not trusted.

    The client remembers for some minutes which pairs the exchange doesn't list. Otherwise, queries for such pairs
    would use up the allowed calls.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        accept: str = "application/json",
        parser: Callable[[str, bytes], Any] = parse,
    ) -> None:
        self.name = name
        self._api = JsonApi(name, url, headers={"Accept": accept}, parser=parser, kind=Kind.RATE_SOURCE)
        self._unlisted: dict[str, float] = {}

    def is_unlisted(self, pair: str) -> bool:
        """True if the exchange reported within the last minutes that it doesn't list the pair."""
        return time.monotonic() - self._unlisted.get(pair, -_UNLISTED_SECONDS) < _UNLISTED_SECONDS

    def note_unlisted(self, pair: str) -> None:
        self._unlisted[pair] = time.monotonic()

    def get(self, path: str, **query: str) -> Any:
        """Return the body of a 2xx response. Return None if the exchange rejects the pair. Raises ProviderDown."""
        response = self._api.get(path, query, seconds=ANSWER_SECONDS, most_bytes=_MAX_BYTES)
        if response.status in _NO_SUCH_PAIR or _rejects_pair(response.body):
            return None
        if not 200 <= response.status < 300:
            raise ProviderDown(f"{self.name} returned HTTP {response.status}")
        if response.body is None:
            raise ProviderDown(f"{self.name} returned null")
        return response.body


def names_pair(words: str) -> bool:
    """Whether an error message is about a pair. Exchanges word it differently, for example "Invalid asset pair"."""
    return _PAIR_WORDS.search(words) is not None


def _rejects_pair(body: Any) -> bool:
    """Whether the response is an error message about the pair, not a rate."""
    message = body.get("message") if isinstance(body, dict) and "price" not in body else None
    return isinstance(message, str) and names_pair(message)


class WholeList(Generic[Whole]):
    """A list of rates that one call returns. The list is reused for `seconds` (default: LIST_SECONDS).

    Each entry keeps its own time. After a failed call, the last list is used until its entries are too old. If there
    is no last list, raises ProviderDown.
    """

    def __init__(self, fetch: Callable[[], Whole], seconds: float | None = None) -> None:
        self._fetch = fetch
        self._seconds = seconds
        self._lock = threading.Lock()
        self._kept: Whole | None = None
        self._due_at = float("-inf")

    def get(self) -> Whole:
        """Return the list. While one thread fetches it, the others wait."""
        with self._lock:
            if self._kept is None or time.monotonic() >= self._due_at:
                try:
                    self._kept = self._fetch()
                except ProviderDown:
                    if self._kept is None:
                        raise
                # Renew the list at half of the maximum age, so that it never gets too old.
                seconds = self._seconds or min(LIST_SECONDS, settings.RATE_MAX_AGE / 2)
                self._due_at = time.monotonic() + seconds
            return self._kept


def observe_each(
    bases: Collection[str], observe: Callable[[str], Observation | None]
) -> dict[str, list[Observation]]:
    """Observe one base after the other. The failure of one doesn't affect the others.

    No observation begins after ANSWER_SECONDS. If one failed and none succeeded, raises ProviderDown.
    """
    observed: dict[str, list[Observation]] = {}
    failure: ProviderDown | None = None
    ends_at = time.monotonic() + ANSWER_SECONDS
    for base in bases:
        if time.monotonic() > ends_at:
            logger.warning("a rate source is too slow for %d currencies at once", len(bases))
            break
        try:
            observation = observe(base)
        except ProviderDown as error:
            logger.info("no rate of %s: %s", base, error)
            failure = error
        else:
            if observation is not None:
                observed[base] = [observation]
    if failure is not None and not observed:
        raise failure
    return observed


def number(value: Any) -> Fraction | None:
    """Parse a positive number from a decimal string or a JSON number. Return None if it is anything else."""
    if isinstance(value, bool) or not isinstance(value, (str, int, Decimal)):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    try:
        parsed = Decimal(value)
    except InvalidOperation:
        return None
    # As a fraction, 1e999999 would fill the memory.
    if not parsed.is_finite() or len(parsed.as_tuple().digits) > _MAX_DIGITS:
        return None
    return Fraction(parsed) if _SMALLEST < parsed < _LARGEST else None


def time_of(value: Any) -> datetime | None:
    """Parse an RFC 3339 time. Return None if it is anything else."""
    try:
        parsed = datetime.fromisoformat(value)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def unix_time_of(value: Any) -> datetime | None:
    """Parse seconds since 1970, as a JSON number. Return None if it is anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    if not Decimal(value).is_finite() or not 0 < value < _LATEST_SECOND:
        return None
    return _EPOCH + timedelta(microseconds=int(value * 1_000_000))


def is_fresh(observed_at: datetime, now: datetime, limit: timedelta) -> bool:
    """True if the observation is not older than `limit`, and not in the future."""
    return now - limit <= observed_at <= now + _CLOCK_SKEW


def max_age() -> timedelta:
    return timedelta(seconds=settings.RATE_MAX_AGE)
