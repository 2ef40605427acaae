"""Query all rate sources at the same time.

The exchanges allow about one public call a second, so calls within two seconds share the responses. Each
observation keeps its own time, and the rules check that it is fresh.
"""

import logging
import threading
import time
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module

from django.conf import settings
from django.db import connection

from config.api.limits.waiting import Busy, waiting_for
from payments.prices.rules import Observation
from payments.prices.sources.base import ANSWER_SECONDS, Listing, RateSource
from payments.providers.base import ProviderDown

logger = logging.getLogger(__name__)

SHARED_SECONDS = 2.0
LONGEST_SECONDS = 2 * ANSWER_SECONDS
# If too many threads wait, a call gets the last observations, but only if they are at most this old.
LAST_SECONDS = 10.0


@dataclass
class _Query:
    """A query for the value of one currency. `finished_at` is None while the query runs, and then its end by the
    monotonic clock.
    """

    result: "Future[list[Observation]]" = field(default_factory=Future)
    finished_at: float | None = None

    def is_older(self, seconds: float) -> bool:
        """Whether the query finished more than `seconds` ago."""
        return self.finished_at is not None and time.monotonic() - self.finished_at > seconds


_lock = threading.Lock()
_queries: dict[str, _Query] = {}
_last: dict[str, _Query] = {}  # the last finished query


def observations(bases: Collection[str]) -> dict[str, list[Observation]]:
    """Return the sources' observations of each currency. A list is empty if no source responds.

    If too many threads of this process are already waiting, return the last observations, if they are recent enough.
    """
    try:
        with waiting_for("rate sources"):
            return _observations(bases)
    except Busy:
        return {base: _recent(base) for base in bases}


def _observations(bases: Collection[str]) -> dict[str, list[Observation]]:
    with _lock:
        mine = {base for base in bases if base not in _queries or _queries[base].is_older(SHARED_SECONDS)}
        _queries.update({base: _Query() for base in mine})
        queries = {base: _queries[base] for base in bases}
    if mine:
        _run({base: queries[base] for base in mine})
    return {base: _result(query) for base, query in queries.items()}


def _run(queries: dict[str, _Query]) -> None:
    results: dict[str, list[Observation]] = {}
    try:
        results = _query_all(frozenset(queries))
    finally:  # Set results even after an error, or threads that share these queries would wait for ever.
        for base, query in queries.items():
            query.finished_at = time.monotonic()
            query.result.set_result(results.get(base, []))
            _last[base] = query


def _recent(base: str) -> list[Observation]:
    last = _last.get(base)
    return [] if last is None or last.is_older(LAST_SECONDS) else last.result.result()


def _result(query: _Query) -> list[Observation]:
    try:
        return query.result.result(timeout=2 * LONGEST_SECONDS)
    except TimeoutError:
        return []


def _query_all(bases: frozenset[str]) -> dict[str, list[Observation]]:
    """Query every source. Sources that fail or take too long are left out."""
    observed: dict[str, list[Observation]] = {}
    for of_source in query_each_source(bases).values():
        for base, observations_of_base in (of_source or {}).items():
            observed.setdefault(base, []).extend(observations_of_base)
    return observed


def query_each_source(
    bases: frozenset[str], bases_of: Mapping[str, frozenset[str]] | None = None
) -> dict[str, dict[str, list[Observation]] | None]:
    """Return each source's observations. A source that fails or takes too long has None.

    If a source is a key of `bases_of`, it is queried for the currencies of that entry. All other sources are queried
    for `bases`.
    """
    pool = _pool()
    futures = {
        name: pool.submit(_observe, name, (bases_of or {}).get(name, bases)) for name in settings.RATE_SOURCES
    }
    wait(futures.values(), timeout=LONGEST_SECONDS)
    for name, future in futures.items():
        if not future.done():
            logger.warning("the rate source %s took too long", name)
    return {name: future.result() if future.done() else None for name, future in futures.items()}


def listings() -> dict[str, list[Listing]]:
    """Return the currencies that each source lists. Makes no call."""
    return {name: list(_client(name).listings()) for name in settings.RATE_SOURCES}


def _observe(name: str, bases: frozenset[str]) -> dict[str, list[Observation]] | None:
    try:
        return _client(name).observe(bases)
    except ProviderDown as error:
        logger.warning("the rate source %s returned no usable response: %s", name, error)
    except Exception:
        logger.exception("the rate source %s failed", name)
    finally:
        connection.close()
    return None


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(32, thread_name_prefix="rates")


def _client(name: str) -> RateSource:
    return _source(name, settings.RATE_URLS.get(name, ""))


# The URL is part of the cache's key: another URL makes a new client.
@lru_cache(maxsize=16)
def _source(name: str, url: str) -> RateSource:
    source: RateSource = import_module(f"payments.prices.sources.{name}").make(url)
    return source


def forget() -> None:
    """Drop the clients with their circuit breakers, and the shared responses."""
    _source.cache_clear()
    with _lock:
        _queries.clear()
        _last.clear()
