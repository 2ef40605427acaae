"""Check that Redis responds and never evicts queued tasks."""

from collections.abc import Iterator, Mapping
from typing import Any

import redis
from django.conf import settings

from config.doctor.finding import Finding, failed, fine, warning
from config.environment.sentinels import Pool

_SECONDS = 3
_FULL_PERCENT = 90
_SAFE_POLICY = "noeviction"


def check() -> Iterator[Finding]:
    pool = Pool.from_url(settings.REDIS_URL, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS)
    client = redis.Redis.from_pool(pool)
    try:
        memory: Mapping[str, Any] = client.info("memory")
        client.set("quittance:doctor", "1", ex=1)
    except redis.RedisError as error:
        yield failed(
            "Redis",
            f"does not respond or accept writes ({type(error).__name__}): workers get no tasks",
            "Start Redis, check that its memory is not full, and compare REDIS_URL with its address, password and TLS.",
        )
        return
    finally:
        client.close()
    yield fine("Redis", "responds and accepts writes")
    yield from _memory(memory)


def _memory(memory: Mapping[str, Any]) -> Iterator[Finding]:
    policy = str(memory.get("maxmemory_policy") or _SAFE_POLICY)
    maximum, used = int(memory.get("maxmemory") or 0), int(memory.get("used_memory") or 0)
    if policy != _SAFE_POLICY:
        yield warning(
            "eviction policy",
            f"is {policy}, so Redis may drop queued tasks and counters when its memory is full",
            f"Set maxmemory-policy {_SAFE_POLICY} in redis.conf, or with CONFIG SET.",
        )
    if maximum and used * 100 > maximum * _FULL_PERCENT:
        summary = f"{used * 100 // maximum} % of maxmemory is used"
        yield warning("memory", summary, "Raise maxmemory, or find the largest keys (redis-cli --bigkeys).")
    if policy == _SAFE_POLICY:
        yield fine("eviction policy", _SAFE_POLICY)
