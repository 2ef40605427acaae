"""Doctor reports problems of Redis. The tests use a real one."""

from collections.abc import Iterator

import pytest
import redis as client
from pytest_django import Settings

from config.doctor import redis
from config.doctor.finding import Level
from demo.services import redis as servers
from tests.support.operations.findings import found, levels


@pytest.fixture
def own_redis(settings: Settings) -> Iterator[servers.Redis]:
    running = servers.start(None)
    settings.REDIS_URL = running.url
    try:
        yield running
    finally:
        running.stop()


def test_a_sound_redis_has_nothing_wrong(own_redis: servers.Redis) -> None:
    assert levels(redis.check()) == {"Redis": "ok", "eviction policy": "ok"}


def test_a_redis_that_may_drop_tasks_is_named(own_redis: servers.Redis) -> None:
    client.Redis.from_url(own_redis.url).config_set("maxmemory-policy", "allkeys-lru")
    (summary,) = found(redis.check(), Level.WARNING)
    assert "eviction policy: is allkeys-lru" in summary


def test_a_redis_that_is_almost_full_is_named(own_redis: servers.Redis) -> None:
    at = client.Redis.from_url(own_redis.url)
    at.set("much", b"x" * 20_000_000)  # so large that a connection's memory hardly matters
    at.config_set("maxmemory", int(int(at.info("memory")["used_memory"]) * 1.05))
    assert any(summary.startswith("memory:") for summary in found(redis.check(), Level.WARNING))


def test_a_redis_that_accepts_no_more_writes_is_named(own_redis: servers.Redis) -> None:
    client.Redis.from_url(own_redis.url).config_set("maxmemory", 1)
    assert levels(redis.check()) == {"Redis": "failed"}


def test_a_redis_that_is_gone_is_named(own_redis: servers.Redis) -> None:
    own_redis.stop()
    (finding,) = redis.check()
    assert finding.level is Level.FAILED
    assert "REDIS_URL" in finding.advice
