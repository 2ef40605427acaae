"""The `events` process pushes the status to open checkouts: run as in production, against the test's database."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from django.db import connection

from demo.services.process import free_port
from merchants.models import ApiKey
from payments.models import PaymentRequest
from tests.conftest import Api
from tests.processes import Process, eventually
from tests.support.checkout.event_stream import EventStream

pytestmark = pytest.mark.django_db(transaction=True)


class Events:
    """The running process."""

    def __init__(self, log: Path, **settings: str) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = ("uvicorn", "config.server.asgi:application", "--port", str(port), "--no-proxy-headers")
        self.process = Process(log, *command, "--timeout-graceful-shutdown", "3", **settings)
        eventually(self._answers, "the events process answers")

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.url}/healthz", timeout=5).ok
        except requests.ConnectionError:
            return False

    def stream(self, request: dict[str, Any], **headers: str) -> EventStream:
        return EventStream(f"{self.url}/api/public/payment-requests/{request['id']}/events", **headers)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[Events]:
    """One process for all tests that neither stop it nor set it up differently: it takes seconds to start."""
    running = Events(tmp_path_factory.mktemp("events") / "events.log")
    yield running
    running.process.kill()


@pytest.fixture
def request_made(checkout: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return checkout()


def test_a_stream_begins_with_the_details_and_goes_on_with_each_change(
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


def test_a_submitted_hash_shows_at_once_to_all_who_watch(
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


def test_a_change_that_was_not_announced_is_found_by_comparing(
    events: Events, request_made: dict[str, Any]
) -> None:
    stream = events.stream(request_made)
    stream.next()
    PaymentRequest.objects.filter(pk=request_made["id"]).update(description="Two loaves")
    assert json.loads(stream.next().data)["description"] == "Two loaves"
    stream.close()


def test_a_browser_that_comes_back_hears_of_what_it_missed_and_no_more(
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


def test_streams_outlive_the_database_connection_on_which_changes_are_announced(
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


def test_more_streams_than_allowed_are_refused_until_one_ends(
    tmp_path: Path, request_made: dict[str, Any]
) -> None:
    events = Events(tmp_path / "events.log", EVENT_STREAMS_MAX="2")
    try:
        streams = [events.stream(request_made) for _ in range(2)]
        refused = events.stream(request_made).response
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (503, "service_unavailable")
        assert refused.headers["X-Request-Id"] == error["request_id"]
        assert int(refused.headers["Retry-After"]) > 0
        streams[0].close()
        eventually(lambda: events.stream(request_made).response.ok, "there is room for another")
    finally:
        events.process.kill()


def test_opening_streams_counts_toward_the_limit_of_public_calls(
    tmp_path: Path, request_made: dict[str, Any]
) -> None:
    events = Events(tmp_path / "events.log", RATE_LIMIT_PUBLIC="2/hour")
    try:
        answers = [events.stream(request_made).response for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[-1].json()["error"]["code"] == "rate_limited"
        assert int(answers[-1].headers["Retry-After"]) > 0
    finally:
        events.process.kill()


@pytest.mark.parametrize("name", ["unknown", "0199aaaa-0000-7000-8000-000000000000", "a" * 64])
def test_there_is_no_stream_of_what_does_not_exist(events: Events, name: str) -> None:
    answer = requests.get(f"{events.url}/api/public/payment-requests/{name}/events", timeout=10)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "resource_missing")


def test_the_process_serves_nothing_else(events: Events, api_key: tuple[ApiKey, str]) -> None:
    for path in (
        "/",
        "/api/payment-requests",
        "/admin/",
        "/api/public/chains",
        "/api/public/payment-requests/x",
    ):
        answer = requests.get(f"{events.url}{path}", headers={"X-API-Key": api_key[1]}, timeout=10)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "resource_missing")
    path = "/api/public/payment-requests/x/events"
    answer = requests.post(f"{events.url}{path}", timeout=10)
    assert answer.json()["error"]["code"] == "method_not_allowed"
    assert answer.headers["Allow"] == "GET, OPTIONS"


def test_a_stream_has_the_callers_request_id_and_scripts_may_send_it(
    events: Events, request_made: dict[str, Any]
) -> None:
    stream = events.stream(request_made, **{"X-Request-Id": "shop-7"})
    assert stream.response.headers["X-Request-Id"] == "shop-7"
    stream.close()
    url = f"{events.url}/api/public/payment-requests/x/events"
    refused = requests.get(url, headers={"X-Request-Id": "shop-8"}, timeout=10)
    assert refused.json()["error"]["request_id"] == refused.headers["X-Request-Id"] == "shop-8"
    strange = requests.get(url, headers={"X-Request-Id": "a b"}, timeout=10)
    assert strange.headers["X-Request-Id"].startswith("req_")
    preflight = requests.options(url, headers={"Access-Control-Request-Method": "GET"}, timeout=10)
    assert "X-Request-Id" in preflight.headers["Access-Control-Allow-Headers"]


def test_sigterm_ends_the_streams(tmp_path: Path, request_made: dict[str, Any]) -> None:
    events = Events(tmp_path / "events.log")
    try:
        stream = events.stream(request_made)
        stream.next()
        events.process.ask_to_stop()
        events.process.wait(30)
        stream.wait_for_end()
    finally:
        events.process.kill()
