"""Asking the rate sources: all at once, and calls of the same two seconds share the answers.

The exchanges limit public calls to about one a second. An answer keeps its own time, which the rules check.
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


@dataclass
class _Asked:
    """The question what a currency is worth; `answered_at` is on the monotonic clock, None until then."""

    answer: "Future[list[Observation]]" = field(default_factory=Future)
    answered_at: float | None = None

    def is_over(self, now: float) -> bool:
        return self.answered_at is not None and now - self.answered_at > SHARED_SECONDS


_lock = threading.Lock()
_asked: dict[str, _Asked] = {}
_latest: dict[str, list[Observation]] = {}


def observations(bases: Collection[str]) -> dict[str, list[Observation]]:
    """Return what the sources say each is worth in USD; empty lists where none of them answers.

    If too many threads of a web process wait already, return what they said last; each answer keeps its own time.
    """
    try:
        with waiting_for("rate sources"):
            return _observations(bases)
    except Busy:
        return {base: _latest.get(base, []) for base in bases}


def _observations(bases: Collection[str]) -> dict[str, list[Observation]]:
    with _lock:
        now = time.monotonic()
        mine = {base for base in bases if base not in _asked or _asked[base].is_over(now)}
        _asked.update({base: _Asked() for base in mine})
        questions = {base: _asked[base] for base in bases}
    if mine:
        _answer({base: questions[base] for base in mine})
    return {base: _result(question) for base, question in questions.items()}


def _answer(questions: dict[str, _Asked]) -> None:
    answers: dict[str, list[Observation]] = {}
    try:
        answers = _ask_all(frozenset(questions))
    finally:  # those that share the questions must not wait for an answer that never comes
        for base, question in questions.items():
            question.answered_at = time.monotonic()
            _latest[base] = answers.get(base, [])
            question.answer.set_result(_latest[base])


def _result(question: _Asked) -> list[Observation]:
    try:
        return question.answer.result(timeout=2 * LONGEST_SECONDS)
    except TimeoutError:
        return []


def _ask_all(bases: frozenset[str]) -> dict[str, list[Observation]]:
    """Ask every source at once; one that fails or takes too long is left out."""
    found: dict[str, list[Observation]] = {}
    for answer in ask_each_source(bases).values():
        for base, seen in (answer or {}).items():
            found.setdefault(base, []).extend(seen)
    return found


def ask_each_source(
    bases: frozenset[str], bases_of: Mapping[str, frozenset[str]] | None = None
) -> dict[str, dict[str, list[Observation]] | None]:
    """Return what each source observes, asking all at once; None for one that fails or takes too long.

    A source that `bases_of` names is queried for those bases instead.
    """
    pool = _pool()
    asked = {
        name: pool.submit(_observe, name, (bases_of or {}).get(name, bases)) for name in settings.RATE_SOURCES
    }
    wait(asked.values(), timeout=LONGEST_SECONDS)
    for name, answer in asked.items():
        if not answer.done():
            logger.warning("the rate source %s took too long", name)
    return {name: answer.result() if answer.done() else None for name, answer in asked.items()}


def listings() -> dict[str, list[Listing]]:
    """Return what each source lists, without any call, by the source's name in `RATE_SOURCES`."""
    return {name: list(_client(name).listings()) for name in settings.RATE_SOURCES}


def _observe(name: str, bases: frozenset[str]) -> dict[str, list[Observation]] | None:
    try:
        return _client(name).observe(bases)
    except ProviderDown as error:
        logger.warning("the rate source %s gave no answer: %s", name, error)
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


# A changed URL makes a new client.
@lru_cache(maxsize=16)
def _source(name: str, url: str) -> RateSource:
    source: RateSource = import_module(f"payments.prices.sources.{name}").make(url)
    return source


def forget() -> None:
    """Discard the clients with their circuit breakers, and the answers that calls of this moment share."""
    _source.cache_clear()
    with _lock:
        _asked.clear()
        _latest.clear()
