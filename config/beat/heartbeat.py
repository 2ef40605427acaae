"""The heartbeat of the beat process: a time in Redis that `manage.py doctor` checks. Works without Django."""

import time
from contextlib import suppress

import redis

from config.environment.sentinels import Pool

_KEY = "quittance:beat-heartbeat"
KEPT_SECONDS = 60
_EVERY_SECONDS = 5.0
_SECONDS = 2


class Heart:
    def __init__(self, redis_url: str) -> None:
        self._client = _client(redis_url)
        self._next = 0.0

    def beat(self) -> None:
        """Record in Redis that beat sent a task. Write at most every five seconds, and ignore errors of Redis."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY_SECONDS
            with suppress(redis.RedisError):
                self._client.set(_KEY, time.time(), ex=KEPT_SECONDS)


def age(redis_url: str) -> float | None:
    """Return the seconds since beat sent a task. Return None if beat sent no task in the last minute."""
    client = _client(redis_url)
    try:
        noted = client.get(_KEY)
    except redis.RedisError:
        return None
    finally:
        client.close()
    return None if noted is None else max(time.time() - float(noted), 0.0)


def _client(redis_url: str) -> "redis.Redis":
    pool = Pool.from_url(redis_url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS)
    return redis.Redis.from_pool(pool)
