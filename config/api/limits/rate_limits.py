"""Count calls against a limit, in Redis, for all processes together.

Each count is one atomic step there, over a sliding window. A Redis that does not answer keeps no caller waiting: after
one short wait it gets no call for a few seconds, and calls go through. What must not be free even then is counted by
this process alone (`without_redis="count here"`).
"""

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

from django.conf import settings
from limits import RateLimitItem
from limits.storage import MemoryStorage, RedisStorage, SlidingWindowCounterSupport
from redis import ConnectionPool, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.api.errors import ApiError, ErrorCode

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
WithoutRedis = Literal["let through", "count here"]

_ANSWER_SECONDS = 0.5
_PAUSE_SECONDS = 5.0


@dataclass(frozen=True)
class Refusal:
    """A call over its limit; the next one is worth trying after `retry_after` whole seconds, at least 1."""

    retry_after: int

    def as_error(self) -> ApiError:
        """Return the answer to the caller, 429 `rate_limited`."""
        message = f"Too many calls; wait {self.retry_after} s before the next."
        return ApiError(ErrorCode.RATE_LIMITED, message, retry_after=self.retry_after)


def hit(
    scope: str,
    identity: str,
    limit: RateLimitItem | None,
    *,
    without_redis: WithoutRedis = "let through",
) -> Refusal | None:
    """Count one call by `identity` within `scope`; return None if `limit` allows it. A refused call is not counted.

    A `limit` of None allows everything. `scope` keeps counts of different kinds apart.
    """
    if limit is None:
        return None
    answer: tuple[Refusal | None] | None
    answer = from_redis(lambda: (_counted(_in_redis(), limit, scope, identity),))
    if answer is not None:
        return answer[0]
    if without_redis == "count here":
        return _counted(_in_this_process(), limit, scope, identity)
    return None


def from_redis(ask: Callable[[], Answer]) -> Answer | None:
    """Return what `ask` gets from Redis; None, at once for a few seconds, where Redis does not answer."""
    if not _redis.is_worth_asking():
        return None
    try:
        answer = ask()
    except RedisError as error:
        _redis.did_not_answer(error)
        return None
    _redis.answered()
    return answer


def _counted(
    counts: SlidingWindowCounterSupport, limit: RateLimitItem, scope: str, identity: str
) -> Refusal | None:
    key, window = limit.key_for(scope, identity), limit.get_expiry()
    if counts.acquire_sliding_window_entry(key, limit.amount, window):
        return None
    wait = _seconds_until_free(limit.amount, window, *counts.get_sliding_window(key, window))
    return Refusal(min(math.floor(max(wait, 0)) + 1, window))


def _seconds_until_free(
    amount: int, window: int, previous: int, previous_left: float, current: int, current_left: float
) -> float:
    """Return when one more call would be let through.

    The window that runs weighs in full; the one before it weighs less and less as it slides out. (The library's own
    answer is nil where the last call came in the same millisecond as the first.)
    """
    if current >= amount:
        return current_left - window
    return previous_left - (amount - current) * window / previous if previous else 0


def redis_client() -> Any:
    """Return the client that counts; what it raises, or takes too long for, is for `from_redis` to handle."""
    return _in_redis().storage


class _Availability:
    """Whether Redis is worth asking: one caller finds out that it is silent, and the others need not wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked_again_at: float | None = None

    def is_worth_asking(self) -> bool:
        with self._lock:
            if self._asked_again_at is None:
                return True
            if time.monotonic() < self._asked_again_at:
                return False
            # This caller tries; the others wait for what it finds.
            self._asked_again_at = time.monotonic() + _PAUSE_SECONDS
            return True

    def did_not_answer(self, error: Exception) -> None:
        with self._lock:
            is_news = self._asked_again_at is None
            self._asked_again_at = time.monotonic() + _PAUSE_SECONDS
        if is_news:
            logger.warning("rate limits are lifted: Redis does not answer (%s)", type(error).__name__)

    def answered(self) -> None:
        with self._lock:
            is_news = self._asked_again_at is not None
            self._asked_again_at = None
        if is_news:
            logger.warning("rate limits hold again: Redis answers")


_redis = _Availability()


@cache
def _in_redis() -> RedisStorage:
    pool = ConnectionPool.from_url(
        settings.REDIS_URL,
        max_connections=1000,  # one per thread is never too many; the library's 100 would refuse a burst
        socket_timeout=_ANSWER_SECONDS,
        socket_connect_timeout=_ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    return RedisStorage("redis://", connection_pool=pool, key_prefix="quittance-limits")


@cache
def _in_this_process() -> SlidingWindowCounterSupport:
    return MemoryStorage()
