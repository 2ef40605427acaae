"""A web process is killed before or after its commit. The retried call still creates one request."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import requests
from django.db import connection
from django.utils import timezone

from config.database.compiled_query import run
from demo.services.process import free_port
from merchants.models import IdempotencyKey
from payments.models import PaymentRequest, Transition
from tests.conftest import Api
from tests.processes import Process, eventually
from tests.support.api.fixtures import CREATE
from tests.threads import locked

pytestmark = pytest.mark.django_db(transaction=True)

Order = Callable[..., dict[str, Any]]


class Server:
    """The service in separate processes. gunicorn replaces a worker that was killed."""

    def __init__(self, log: Path, key: str) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        bind = self.url.removeprefix("http://")
        command = ("gunicorn", "--bind", bind, "--worker-class", "gthread", "--threads", "4")
        self.process = Process(log, *command, "tests.integration.api.dying_app")
        self._key = key
        eventually(self._is_up, "the server answered")

    def _is_up(self) -> bool:
        try:
            return requests.get(self.url + "/healthz", timeout=2).ok
        except requests.RequestException:
            return False

    def post(self, path: str, body: Any, **headers: str) -> requests.Response:
        headers = {"X-API-Key": self._key, "Idempotency-Key": "order-1001", **headers}
        return requests.post(self.url + path, json=body, headers=headers, timeout=20)


@pytest.fixture
def server(api_key: tuple[Any, str], tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path / "web.log", api_key[1])
    try:
        yield running
    finally:
        running.process.kill()


def stuck() -> AbstractContextManager[threading.Event]:
    """Lock the history table, so that a call stops in the middle of its transaction."""

    def lock() -> None:
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE payments_transition IN SHARE MODE")

    return locked(lock)


def is_stuck() -> bool:
    """Return whether a call is waiting for the lock on the history table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'payments_transition'::regclass"
        )
        return cursor.fetchone() == (1,)


def test_retry_after_a_kill_past_the_commit_is_replayed(server: Server, order: Order) -> None:
    body = order()
    with pytest.raises(requests.ConnectionError):
        server.post(CREATE, body, **{"X-Die": "before the response is sent"})
    created = PaymentRequest.objects.get()
    eventually(server._is_up, "a new worker answered")
    again = server.post(CREATE, body)
    assert again.status_code == 201
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json()["id"] == str(created.pk)
    assert PaymentRequest.objects.count() == Transition.objects.count() == 1


def test_connection_lost_before_the_commit_frees_the_key(
    api_key: tuple[Any, str], order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_the_connection(*_: object, **__: object) -> None:
        run("SELECT pg_terminate_backend(pg_backend_pid())", [])

    body = order()
    api = Api(api_key[1])
    with monkeypatch.context() as broken:
        broken.setattr("payments.requests.creation.insert_request", break_the_connection)
        response = api.post(CREATE, body, **{"Idempotency-Key": "order-1001"})
    assert (response.status_code, response.json()["error"]["code"]) == (503, "service_unavailable")
    assert not PaymentRequest.objects.exists()
    assert not IdempotencyKey.objects.exists(), "the key is free at once"
    assert api.post(CREATE, body, **{"Idempotency-Key": "order-1001"}).status_code == 201
    assert PaymentRequest.objects.count() == 1


def test_retry_after_a_kill_before_the_commit_creates_once(
    server: Server, order: Order, api_key: tuple[Any, str]
) -> None:
    body = order()
    failures: list[Exception] = []

    def call() -> None:
        try:
            server.post(CREATE, body)
        except requests.ConnectionError as error:
            failures.append(error)

    with stuck():
        calling = threading.Thread(target=call)
        calling.start()
        eventually(is_stuck, "the call came to the middle of its effect")
        server.process.kill()
        calling.join(20)
    assert len(failures) == 1
    eventually(lambda: not is_stuck(), "the dead process's statement has ended")

    assert not PaymentRequest.objects.exists()
    assert IdempotencyKey.objects.update(lease_until=timezone.now()) == 1, (
        "its claim is there until the lease ends"
    )
    again = Api(api_key[1]).post(CREATE, body, **{"Idempotency-Key": "order-1001"})
    assert (again.status_code, again.has_header("Idempotent-Replayed")) == (201, False)
    assert again.json()["id"] == str(PaymentRequest.objects.get().pk)
    assert PaymentRequest.objects.count() == Transition.objects.count() == 1
