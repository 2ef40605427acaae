"""Count calls against a limit in Redis, for all processes together.

Each count is one atomic step over a sliding window. If Redis times out, the processes stop calling it for a few
seconds. Meanwhile all calls are allowed. With `without_redis="count here"`, calls stay limited during that time,
because each process counts alone.
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
from redis import RedisError

from config.api.errors import ApiError, ErrorCode
from config.environment.sentinels import Pool

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
WithoutRedis = Literal["let through", "count here"]

_TIMEOUT_SECONDS = 0.5
_PAUSE_SECONDS = 5.0


@dataclass(frozen=True)
class Refusal:
    """A call over its limit."""

    retry_after: int
    """Seconds, at least 1."""

    def as_error(self) -> ApiError:
        message = f"Too many calls. Try again in {self.retry_after} s."
        return ApiError(ErrorCode.RATE_LIMITED, message, retry_after=self.retry_after)


def hit(
    scope: str,
    identity: str,
    limit: RateLimitItem | None,
    *,
    without_redis: WithoutRedis = "let through",
) -> Refusal | None:
    """Count one call by `identity` within `scope`; return None if `limit` allows it. A rejected call is not counted.

    A `limit` of None allows all calls.
    """
    if limit is None:
        return None
    result: tuple[Refusal | None] | None
    result = from_redis(lambda: (_counted(_in_redis(), limit, scope, identity),))
    if result is not None:
        return result[0]
    if without_redis == "count here":
        return _counted(_in_this_process(), limit, scope, identity)
    return None


def from_redis(query: Callable[[], Result]) -> Result | None:
    """Return the result of `query`, or None if Redis does not respond or failed in the last few seconds."""
    if not _redis.is_due():
        return None
    try:
        result = query()
    except RedisError as error:
        _redis.failed(error)
        # After a failover, these connections may lead to a replica. A script's error doesn't show this. So close the
        # connections after every error.
        _in_redis().storage.connection_pool.disconnect(inuse_connections=False)
        return None
    _redis.responded()
    return result


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
    """Return the seconds until one more call is allowed.

    All calls of the current window count. Calls of the previous window count less as time passes. (The library's own
    function for this returns None if the first and the last call came in the same millisecond.)
    """
    if current >= amount:
        return current_left - window
    return previous_left - (amount - current) * window / previous if previous else 0


def redis_client() -> Any:
    """Return the Redis client. Call it inside `from_redis`, which handles its errors."""
    return _in_redis().storage


class _Availability:
    """Whether Redis responds. After a failure, one caller at a time tries again; the other callers don't wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_try_at: float | None = None

    def is_due(self) -> bool:
        with self._lock:
            if self._next_try_at is None:
                return True
            if time.monotonic() < self._next_try_at:
                return False
            # The current caller tries Redis again. Meanwhile, other callers skip Redis.
            self._next_try_at = time.monotonic() + _PAUSE_SECONDS
            return True

    def failed(self, error: Exception) -> None:
        with self._lock:
            is_news = self._next_try_at is None
            self._next_try_at = time.monotonic() + _PAUSE_SECONDS
        if is_news:
            logger.warning("rate limits are off: Redis does not respond (%s)", type(error).__name__)

    def responded(self) -> None:
        with self._lock:
            is_news = self._next_try_at is not None
            self._next_try_at = None
        if is_news:
            logger.warning("rate limits are on again: Redis responds")


_redis = _Availability()


@cache
def _in_redis() -> RedisStorage:
    pool = Pool.from_url(
        settings.REDIS_URL,
        max_connections=1000,  # each thread may need a connection; the default of 100 is too small for a burst
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
    )
    return RedisStorage("redis://", connection_pool=pool, key_prefix="quittance-limits")


@cache
def _in_this_process() -> SlidingWindowCounterSupport:
    return MemoryStorage()
