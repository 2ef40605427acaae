"""Counts are exact with threads and shared by processes. If Redis is down, calls are neither slow nor rejected."""

import random
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from limits import parse
from limits.storage import MemoryStorage
from redis import Redis

from config.api.limits import rate_limits
from config.api.limits.rate_limits import Refusal, hit
from demo.services import redis
from tests.threads import at_once

TEN = parse("10/minute")


@pytest.fixture
def fresh(settings: object) -> Iterator[None]:
    """Clear connections, counts and the memory of outages before and after the test."""

    def forget() -> None:
        rate_limits._in_redis.cache_clear()
        rate_limits._in_this_process.cache_clear()
        rate_limits._redis.responded()

    forget()
    yield
    forget()


@pytest.mark.usefixtures("patient")
def test_two_hundred_at_once_get_no_more_than_the_limit() -> None:
    results = at_once([lambda: hit("test", "someone", TEN)] * 200)
    assert results.count(None) == 10
    refused = [result for result in results if isinstance(result, Refusal)]
    assert len(refused) == 190
    assert all(1 <= refusal.retry_after <= 60 for refusal in refused)


@pytest.mark.usefixtures("patient")
def test_scopes_and_identities_are_counted_apart() -> None:
    one = parse("1/minute")
    assert hit("a", "x", one) is None
    assert hit("a", "x", one) is not None
    assert hit("a", "y", one) is None
    assert hit("b", "x", one) is None


def test_call_after_the_retry_after_time_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checked over many bursts and pauses, with a clock that the test advances."""
    chance = random.Random(7)
    clock = SimpleNamespace(now=1_000_000.0)
    monkeypatch.setattr("limits.storage.memory.time", SimpleNamespace(time=lambda: clock.now))
    counts = MemoryStorage()
    refusals = 0
    for round_ in range(300):
        limit = parse(chance.choice(["1/minute", "7/minute", "20/hour", "100/second"]))
        for _ in range(200):
            refusal = rate_limits._counted(counts, limit, "test", str(round_ % 5))
            if refusal is not None:
                refusals += 1
                assert refusal.retry_after >= 1
                clock.now += refusal.retry_after
                assert rate_limits._counted(counts, limit, "test", str(round_ % 5)) is None
            clock.now += chance.choice([0, 0, 0, 0.001, 0.4, limit.get_expiry() / limit.amount])
    assert refusals > 1000


def test_off_counts_nothing() -> None:
    assert all(hit("a", "x", None) is None for _ in range(50))


@pytest.mark.usefixtures("fresh")
def test_without_redis_only_costly_calls_are_limited(settings: object) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert all(hit("cheap", "x", TEN) is None for _ in range(50))
    dear = [hit("dear", "x", TEN, without_redis="count here") for _ in range(50)]
    assert dear.count(None) == 10
    assert hit("dear", "another", TEN, without_redis="count here") is None


@pytest.mark.usefixtures("fresh")
def test_a_silent_redis_costs_one_short_wait(settings: object) -> None:
    server = redis.start(None)
    try:
        settings.REDIS_URL = server.url
        assert hit("a", "x", TEN) is None
        with Redis.from_url(server.url) as client:
            client.execute_command("CLIENT", "PAUSE", "60000")
        began = time.monotonic()
        assert all(hit("a", "x", TEN) is None for _ in range(1000))
        assert time.monotonic() - began < 1.5, "each call waited for a Redis that is known to be silent"
    finally:
        server.stop()


@pytest.mark.usefixtures("fresh")
def test_redis_counts_again_when_it_is_back(settings: object, monkeypatch: pytest.MonkeyPatch) -> None:
    one = parse("1/minute")
    server = redis.start(None)
    port = int(server.url.rsplit(":", 1)[1].split("/")[0])
    settings.REDIS_URL = server.url
    assert hit("a", "x", one) is None
    server.stop()
    monkeypatch.setattr(rate_limits, "_PAUSE_SECONDS", 0.0)
    assert hit("a", "x", one) is None
    server = redis.start(None, port=port)
    try:
        assert hit("a", "x", one) is None, "the new server starts from nothing"
        assert hit("a", "x", one) is not None
    finally:
        server.stop()
