"""Checks of Redis: it answers, and never drops what waits in it."""

from collections.abc import Iterator, Mapping
from typing import Any

import redis
from django.conf import settings

from config.doctor.finding import Finding, failed, fine, warning

_SECONDS = 3
_FULL_PERCENT = 90
_SAFE_POLICY = "noeviction"


def check() -> Iterator[Finding]:
    """Yield whether Redis answers, its eviction policy, and how full it is."""
    client = redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS
    )
    try:
        memory: Mapping[str, Any] = client.info("memory")
        client.set("quittance:doctor", "1", ex=1)
    except redis.RedisError as error:
        yield failed(
            "Redis",
            f"does not answer or accept writes ({type(error).__name__}): workers get no work",
            "Start Redis, see that its memory is not full, and compare REDIS_URL with its address, password and TLS.",
        )
        return
    finally:
        client.close()
    yield fine("Redis", "answers and accepts writes")
    yield from _memory(memory)


def _memory(memory: Mapping[str, Any]) -> Iterator[Finding]:
    policy = str(memory.get("maxmemory_policy") or _SAFE_POLICY)
    most, used = int(memory.get("maxmemory") or 0), int(memory.get("used_memory") or 0)
    if policy != _SAFE_POLICY:
        yield warning(
            "eviction policy",
            f"is {policy}, so Redis may drop waiting tasks and counters when its memory is full",
            f"Set maxmemory-policy {_SAFE_POLICY} in redis.conf, or with CONFIG SET.",
        )
    if most and used * 100 > most * _FULL_PERCENT:
        summary = f"{used * 100 // most} % of maxmemory is used"
        yield warning(
            "memory", summary, "Raise maxmemory, or find out which keys take it (redis-cli --bigkeys)."
        )
    if policy == _SAFE_POLICY:
        yield fine("eviction policy", _SAFE_POLICY)
