"""Streams of the `events` application, without a server: the time that they send, and the limit on new streams."""

import asyncio
import json
from collections.abc import Callable, Coroutine, MutableMapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec
import pytest
from django.utils import timezone
from limits import parse

from checkout.api.checkout_object import checkout_object, encoded_with_server_time, with_server_time
from checkout.lookup import find_request
from checkout.streams import feed
from checkout.streams.application import EventStreams
from tests.conftest import Api

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


class Browser:
    """A client of one stream."""

    def __init__(self, streams: EventStreams, name: str) -> None:
        self._messages: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        self._left = asyncio.Event()
        path = f"/api/public/payment-requests/{name}/events"
        scope = {"type": "http", "path": path, "method": "GET", "headers": [], "client": ("127.0.0.1", 4711)}
        self._serving = asyncio.create_task(streams(scope, self._receive, self._messages.put))

    async def status(self) -> int:
        return int((await self._next())["status"])

    async def details(self) -> dict[str, Any]:
        lines = (await self._next())["body"].decode().splitlines()
        (data,) = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        details: dict[str, Any] = json.loads(data)
        return details

    async def leave(self) -> None:
        self._left.set()
        await asyncio.wait_for(self._serving, 10)

    async def _next(self) -> MutableMapping[str, Any]:
        return await asyncio.wait_for(self._messages.get(), 10)

    async def _receive(self) -> MutableMapping[str, Any]:
        await self._left.wait()
        return {"type": "http.disconnect"}


@pytest.fixture
def shown(
    checkout: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], list[str]]:
    """A request that the streams read once from the database, and the names that they read after that.

    The event loop has no connection to the test's database.
    """
    request = checkout()
    details, names = feed._read(request["id"]), list[str]()

    def read(name: str) -> feed.Shown:
        names.append(name)
        return details

    monkeypatch.setattr(feed, "_read", read)
    return request, names


def run(scenario: Callable[[EventStreams], Coroutine[Any, Any, None]]) -> None:
    async def with_streams() -> None:
        streams = EventStreams()
        await scenario(streams)
        await streams._feed.stop()

    asyncio.run(with_streams())


def _same(now: datetime) -> datetime:
    return now


@pytest.mark.django_db
def test_second_stream_of_a_request_gets_the_present_time(
    monkeypatch: pytest.MonkeyPatch, shown: tuple[dict[str, Any], list[str]]
) -> None:
    request, names = shown

    async def scenario(streams: EventStreams) -> None:
        browsers: list[Browser] = []
        times: list[str] = []
        for now in (NOON, NOON + timedelta(minutes=20)):
            monkeypatch.setattr(timezone, "now", partial(_same, now))
            browsers.append(Browser(streams, request["id"]))
            assert await browsers[-1].status() == 200
            times.append((await browsers[-1].details())["server_time"])
        assert times == ["2026-11-27T12:00:00Z", "2026-11-27T12:20:00Z"]
        # Each stream reads the request when it opens. The details that it then sends are read once for both.
        assert len(names) == 3
        for browser in browsers:
            await browser.leave()

    run(scenario)


@pytest.mark.django_db
def test_server_time_is_added_to_encoded_details(
    checkout: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOON)
    request = checkout(description='{"server_time":""}')
    details = checkout_object(find_request(request["id"]))
    encoded = msgspec.json.encode(details)
    assert encoded_with_server_time(encoded) == msgspec.json.encode(with_server_time(details)) != encoded


@pytest.mark.django_db
@pytest.mark.usefixtures("patient")
def test_new_streams_count_like_other_calls_about_their_request(
    settings: Any, public: Api, shown: tuple[dict[str, Any], list[str]]
) -> None:
    request, names = shown
    settings.RATE_LIMIT_PUBLIC = parse("2/hour")
    path = f"/api/public/payment-requests/{request['id']}"
    assert [public.get(path).status_code for _ in range(3)] == [200, 200, 429]

    async def scenario(streams: EventStreams) -> None:
        async def opened(name: str) -> int:
            browser = Browser(streams, name)
            status = await browser.status()
            await browser.leave()
            return status

        assert await opened(request["id"]) == 429
        assert names == []
        # Customers in one office have different requests. Together, they get ten times the limit.
        statuses = [await opened(f"another{number // 2}") for number in range(18)]
        assert statuses == [200] * 18
        read = len(names)
        assert await opened("another100") == 429
        assert len(names) == read

    run(scenario)
