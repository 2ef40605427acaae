"""Exchange rates as of now: asked of all sources at once, agreed by the rules, and compared with the last ones.

No rate is kept for later: one that was used stays with its request. Calls of the same quarter of a second share one
question, so that many orders at once don't use up the exchanges' limits.
"""

import logging
import threading
import time
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from importlib import import_module

from django.conf import settings
from django.db import connection
from django.utils import timezone

from chains.models import Token
from config.api.errors import ApiError, ErrorCode
from payments.models import AcceptedRate
from payments.prices.rules import STEP_PERIOD, Agreed, Observation, agree, crossed, is_step_too_large
from payments.prices.sources.base import ANSWER_SECONDS, RateSource
from payments.providers.base import ProviderDown

logger = logging.getLogger(__name__)

USD = "USD"
_SHARED_SECONDS = 0.25
_LONGEST_SECONDS = 2 * ANSWER_SECONDS
_NOTED_EVERY_SECONDS = 60
_RETRY_SECONDS = 5


@dataclass(frozen=True)
class Rate:
    """`value` units of `currency` for one token that is priced as `token`; `observed_at` is the oldest observation."""

    value: Decimal
    currency: str
    token: str
    sources: tuple[str, ...]
    observed_at: datetime


def current_rate(token: Token, currency: str) -> Rate:
    """Return the rate between `token` and a currency, asking the sources.

    Raises ApiError: `rate_unavailable` if they don't agree, `parameter_invalid` for a token that has no price.
    """
    if not token.price_as:
        message = f"{token.symbol} has no price here: ask for an amount of it instead."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "price")
    values = _in_usd({token.price_as, currency} - {USD})
    now = timezone.now()
    of_token = values.get(token.price_as) or Agreed(Decimal(1), (), now)
    of_currency = values.get(currency) or Agreed(Decimal(1), (), now)
    return Rate(
        crossed(of_token.value, of_currency.value),
        currency,
        token.price_as,
        tuple(sorted({*of_token.sources, *of_currency.sources})),
        min(of_token.observed_at, of_currency.observed_at),
    )


def _in_usd(bases: Collection[str]) -> dict[str, Agreed]:
    """Return what each is worth in USD. Raises ApiError `rate_unavailable`."""
    observed = _observations(frozenset(bases))
    agreed: dict[str, Agreed] = {}
    for base in bases:
        found = agree(observed.get(base, ()), settings.RATE_MAX_SPREAD)
        if found is None:
            raise _unavailable(base, "fewer than two sources agree on it")
        if not _accept(base, found):
            raise _unavailable(base, "it is too far from the last one")
        agreed[base] = found
    return agreed


def _unavailable(base: str, why: str) -> ApiError:
    logger.warning("no rate of %s: %s", base, why)
    message = f"There is no reliable rate of {base} at the moment. Try again in a few seconds."
    return ApiError(ErrorCode.RATE_UNAVAILABLE, message, retry_after=_RETRY_SECONDS)


def _accept(base: str, agreed: Agreed) -> bool:
    """Store the value as the last accepted one; False, and nothing is stored, if it is absurd beside the last one."""
    now = timezone.now()
    last = AcceptedRate.objects.filter(pk=base, accepted_at__gt=now - STEP_PERIOD).first()
    if last is not None and is_step_too_large(agreed.value, last.value):
        return False
    if last is None or (now - last.accepted_at).total_seconds() > _NOTED_EVERY_SECONDS:
        AcceptedRate.objects.update_or_create(base=base, defaults={"value": agreed.value, "accepted_at": now})
    return True


_lock = threading.Lock()
_asked: dict[frozenset[str], tuple[float, "Future[dict[str, list[Observation]]]"]] = {}


def _observations(bases: frozenset[str]) -> dict[str, list[Observation]]:
    if not bases:
        return {}
    with _lock:
        now = time.monotonic()
        for key in [key for key, (asked_at, _) in _asked.items() if now - asked_at > _SHARED_SECONDS]:
            del _asked[key]
        shared = _asked.get(bases)
        mine: Future[dict[str, list[Observation]]] | None = None
        if shared is None:
            mine = Future()
            _asked[bases] = now, mine
    if mine is None:
        assert shared is not None
        return shared[1].result(timeout=2 * _LONGEST_SECONDS)
    try:
        mine.set_result(_ask_all(bases))
    except BaseException as error:
        mine.set_exception(error)
        raise
    return mine.result()


def _ask_all(bases: frozenset[str]) -> dict[str, list[Observation]]:
    """Ask every source at once; one that fails or takes too long is left out."""
    found: dict[str, list[Observation]] = {}
    for answer in ask_each_source(bases).values():
        for base, observations in (answer or {}).items():
            found.setdefault(base, []).extend(observations)
    return found


def ask_each_source(bases: frozenset[str]) -> dict[str, dict[str, list[Observation]] | None]:
    """Return what each source observes, asking all at once; None for one that fails or takes too long."""
    pool = _pool()
    asked = {name: pool.submit(_observe, name, bases) for name in settings.RATE_SOURCES}
    wait(asked.values(), timeout=_LONGEST_SECONDS)
    for name, answer in asked.items():
        if not answer.done():
            logger.warning("the rate source %s took too long", name)
    return {name: answer.result() if answer.done() else None for name, answer in asked.items()}


def _observe(name: str, bases: frozenset[str]) -> dict[str, list[Observation]] | None:
    try:
        return _source(name, settings.RATE_URLS.get(name, "")).observe(bases)
    except ProviderDown as error:
        logger.warning("the rate source %s gave no answer: %s", name, error)
    except Exception:
        logger.exception("the rate source %s failed", name)
    finally:
        connection.close()
    return None


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(16, thread_name_prefix="rates")


# A changed URL makes a new client.
@lru_cache(maxsize=16)
def _source(name: str, url: str) -> RateSource:
    source: RateSource = import_module(f"payments.prices.sources.{name}").make(url)
    return source


def forget() -> None:
    """Discard the clients with their circuit breakers, and what calls of this moment share."""
    _source.cache_clear()
    with _lock:
        _asked.clear()
