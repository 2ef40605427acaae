"""The `events` process pushes the status to open checkouts. It runs as in production, on the test's database."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests
from django.db import close_old_connections, connection

from demo.services.process import free_port
from merchants.models import ApiKey
from payments.models import PaymentRequest
from tests.conftest import Api
from tests.processes import Process, eventually
from tests.support.checkout.event_stream import EventStream
from tests.support.operations.read_only import demoted

pytestmark = pytest.mark.django_db(transaction=True)


class Events:
    def __init__(self, log: Path, **settings: str) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = ("uvicorn", "config.server.asgi:application", "--port", str(port), "--no-proxy-headers")
        self.process = Process(log, *command, "--timeout-graceful-shutdown", "3", **settings)
        eventually(self._is_up, "the events process is up")

    def _is_up(self) -> bool:
        try:
            return requests.get(f"{self.url}/healthz", timeout=5).ok
        except requests.ConnectionError:
            return False

    def stream(self, request: dict[str, Any], **headers: str) -> EventStream:
        return EventStream(f"{self.url}/api/public/payment-requests/{request['id']}/events", **headers)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[Events]:
    """One process for all tests that don't stop or reconfigure it, because its start takes seconds."""
    running = Events(tmp_path_factory.mktemp("events") / "events.log")
    yield running
    running.process.kill()


@pytest.fixture
def request_made(checkout: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return checkout()


def test_stream_sends_the_details_and_each_change(
    events: Events, request_made: dict[str, Any], api: Api, public: Api
) -> None:
    stream = events.stream(request_made)
    assert stream.response.headers["Content-Type"] == "text/event-stream"
    assert stream.response.headers["Access-Control-Allow-Origin"] == "*"
    polled = public.get(f"/api/public/payment-requests/{request_made['id']}")
    first = stream.next()
    assert (first.name, first.id) == ("update", polled["ETag"])
    details = polled.json()
    assert {**json.loads(first.data), "server_time": ""} == {**details, "server_time": ""}

    assert api.post(f"/api/payment-requests/{request_made['id']}/cancel", {}).status_code == 200
    changed = stream.next()
    assert json.loads(changed.data)["status"] == "cancelled"
    assert changed.id == public.get(f"/api/public/payment-requests/{request_made['id']}")["ETag"] != first.id
    stream.wait_for_end()


def test_submitted_hash_is_pushed_to_every_stream(
    events: Events, request_made: dict[str, Any], public: Api, chain: Any
) -> None:
    watching = [events.stream(request_made) for _ in range(3)]
    assert {stream.next().name for stream in watching} == {"update"}
    body = {"chain_id": chain.pk, "transaction_hash": "0x" + "7e" * 32}
    path = f"/api/public/payment-requests/{request_made['id']}/payments"
    assert public.post(path, body).status_code == 201
    for stream in watching:
        (payment,) = json.loads(stream.next().data)["payments"]
        assert payment["transaction_hash"] == body["transaction_hash"]
        stream.close()


def test_change_without_a_notification_is_found(events: Events, request_made: dict[str, Any]) -> None:
    stream = events.stream(request_made)
    stream.next()
    PaymentRequest.objects.filter(pk=request_made["id"]).update(description="Two loaves")
    assert json.loads(stream.next().data)["description"] == "Two loaves"
    stream.close()


def test_reconnected_browser_gets_only_what_it_missed(
    events: Events, request_made: dict[str, Any], api: Api
) -> None:
    first = events.stream(request_made)
    etag = first.next().id
    first.close()
    again = events.stream(request_made, **{"Last-Event-ID": etag})
    api.post(f"/api/payment-requests/{request_made['id']}/cancel", {})
    assert json.loads(again.next().data)["status"] == "cancelled"
    again.wait_for_end()


def test_stream_of_a_final_request_sends_its_state_and_ends(
    events: Events, request_made: dict[str, Any], api: Api
) -> None:
    open_stream = events.stream(request_made)
    open_stream.next()
    assert api.post(f"/api/payment-requests/{request_made['id']}/cancel", {}).status_code == 200
    for stream in (open_stream, events.stream(request_made)):
        last = stream.next()
        details = json.loads(last.data)
        assert (details["status"], details["is_final"]) == ("cancelled", True)
        assert last.retry == details["poll_in_ms"]
        stream.wait_for_end()
    assert events.stream(request_made, **{"Last-Event-ID": last.id}).response.status_code == 204


def test_browser_that_reconnects_gets_a_late_payment(
    events: Events, request_made: dict[str, Any], api: Api, public: Api, chain: Any
) -> None:
    assert api.post(f"/api/payment-requests/{request_made['id']}/cancel", {}).status_code == 200
    before = events.stream(request_made)
    etag = before.next().id
    before.wait_for_end()
    body = {"chain_id": chain.pk, "transaction_hash": "0x" + "7e" * 32}
    assert public.post(f"/api/public/payment-requests/{request_made['id']}/payments", body).status_code == 201
    again = events.stream(request_made, **{"Last-Event-ID": etag})
    details = json.loads(again.next().data)
    assert (len(details["payments"]), details["is_final"]) == (1, False)
    again.close()


def test_streams_survive_the_loss_of_the_listener_connection(
    events: Events, request_made: dict[str, Any], api: Api
) -> None:
    stream = events.stream(request_made)
    stream.next()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        assert cursor.fetchone() != (0,)
    assert api.post(f"/api/payment-requests/{request_made['id']}/cancel", {}).status_code == 200
    assert json.loads(stream.next().data)["status"] == "cancelled"
    stream.wait_for_end()


def test_events_process_leaves_a_demoted_primary(
    tmp_path: Path, request_made: dict[str, Any], api: Api
) -> None:
    before = backends()
    events = Events(tmp_path / "events.log")
    try:
        stream = events.stream(request_made)
        stream.next()
        old = backends() - before
        assert old
        with demoted(**connection.get_connection_params()):
            eventually(lambda: not backends() & old, "all its connections are new")
            cancel = f"/api/payment-requests/{request_made['id']}/cancel"
            assert api.post(cancel, {}).status_code == 503  # over this process' existing connection
            close_old_connections()  # as at the end of each request
            assert api.post(cancel, {}).status_code == 200
            assert json.loads(stream.next().data)["status"] == "cancelled"
            stream.wait_for_end()
    finally:
        events.process.kill()


def backends() -> set[int]:
    """Return the PIDs of the connections to the test's database."""
    with psycopg.connect(**connection.get_connection_params()) as own:
        rows = own.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return {pid for (pid,) in rows.fetchall()}


def test_streams_above_the_maximum_are_rejected(tmp_path: Path, request_made: dict[str, Any]) -> None:
    events = Events(tmp_path / "events.log", EVENT_STREAMS_MAX="2")
    try:
        streams = [events.stream(request_made) for _ in range(2)]
        rejected = events.stream(request_made).response
        error = rejected.json()["error"]
        assert (rejected.status_code, error["code"]) == (503, "service_unavailable")
        assert rejected.headers["X-Request-Id"] == error["request_id"]
        assert int(rejected.headers["Retry-After"]) > 0
        streams[0].close()
        eventually(lambda: events.stream(request_made).response.ok, "there is room for another")
    finally:
        events.process.kill()


def test_streams_are_rate_limited_and_end_at_sigterm(tmp_path: Path, request_made: dict[str, Any]) -> None:
    events = Events(tmp_path / "events.log", RATE_LIMIT_PUBLIC="2/hour")
    try:
        streams = [events.stream(request_made) for _ in range(3)]
        assert [stream.response.status_code for stream in streams] == [200, 200, 429]
        rejected = streams.pop().response
        assert rejected.json()["error"]["code"] == "rate_limited"
        assert int(rejected.headers["Retry-After"]) > 0
        for stream in streams:
            stream.next()
        events.process.ask_to_stop()
        events.process.wait(30)
        for stream in streams:
            stream.wait_for_end()
    finally:
        events.process.kill()


def test_stream_of_an_unknown_request_is_404(events: Events) -> None:
    response = requests.get(f"{events.url}/api/public/payment-requests/unknown/events", timeout=10)
    assert (response.status_code, response.json()["error"]["code"]) == (404, "resource_missing")


def test_events_process_serves_only_streams(events: Events, api_key: tuple[ApiKey, str]) -> None:
    for path in (
        "/",
        "/api/payment-requests",
        "/admin/",
        "/api/public/chains",
        "/api/public/payment-requests/x",
    ):
        response = requests.get(f"{events.url}{path}", headers={"X-API-Key": api_key[1]}, timeout=10)
        assert (response.status_code, response.json()["error"]["code"]) == (404, "resource_missing")
    path = "/api/public/payment-requests/x/events"
    response = requests.post(f"{events.url}{path}", timeout=10)
    assert response.json()["error"]["code"] == "method_not_allowed"
    assert response.headers["Allow"] == "GET, OPTIONS"


def test_stream_has_the_request_id_of_the_caller(events: Events, request_made: dict[str, Any]) -> None:
    stream = events.stream(request_made, **{"X-Request-Id": "shop-7"})
    assert stream.response.headers["X-Request-Id"] == "shop-7"
    stream.close()
    url = f"{events.url}/api/public/payment-requests/x/events"
    rejected = requests.get(url, headers={"X-Request-Id": "shop-8"}, timeout=10)
    assert rejected.json()["error"]["request_id"] == rejected.headers["X-Request-Id"] == "shop-8"
    strange = requests.get(url, headers={"X-Request-Id": "a b"}, timeout=10)
    assert strange.headers["X-Request-Id"].startswith("req_")
    preflight = requests.options(url, headers={"Access-Control-Request-Method": "GET"}, timeout=10)
    assert "X-Request-Id" in preflight.headers["Access-Control-Allow-Headers"]
