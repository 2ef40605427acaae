"""A call waits for a running call with the same Idempotency-Key: one per key, four per process, at most ten seconds."""

import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from merchants.keys import waiting
from merchants.models import IdempotencyKey, Merchant
from payments.api import views
from payments.models import PaymentRequest, Transition
from tests.conftest import Api
from tests.support.api.fixtures import CREATE

pytestmark = pytest.mark.django_db(transaction=True)

Order = Callable[..., dict[str, Any]]
Run = Callable[[Callable[[], Any]], "Future[Any]"]
IN_USE = (409, "idempotency_key_in_use")


def header(key: str = "order-1001") -> dict[str, str]:
    return {"Idempotency-Key": key}


def outcome(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


@pytest.fixture
def in_thread() -> Iterator[Run]:
    """Return a function that runs a call in a thread with its own connection."""

    def job(call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor() as pool:
        yield lambda call: pool.submit(job, call)


class Pauses:
    """Call `then` at a waiting call's first pause, when it certainly waits. Later pauses are real."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then, self.count = then, 0

    def __call__(self, seconds: float) -> None:
        self.count += 1
        if self.count == 1:
            self._then()
        time.sleep(seconds)


class Running:
    """A first call that stays in the middle of its effect until `end` is called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, error: ErrorCode | None = None) -> None:
        self.is_running, self._may_end = threading.Event(), threading.Event()
        real = views.cancel_request

        def cancel(*args: Any, **options: Any) -> PaymentRequest:
            if not self.is_running.is_set():
                self.is_running.set()
                assert self._may_end.wait(30)
                if error is not None:
                    raise ApiError(error, "for a test")
            return real(*args, **options)

        monkeypatch.setattr(views, "cancel_request", cancel)

    def end(self) -> None:
        self._may_end.set()


@pytest.fixture
def cancel(api_key: tuple[Any, str], order: Order) -> Callable[..., Any]:
    path = f"{CREATE}/{Api(api_key[1]).post(CREATE, order()).json()['id']}/cancel"
    return lambda body=None: Api(api_key[1]).post(path, body, **header())


def test_second_call_waits_and_further_ones_are_rejected(
    cancel: Callable[..., Any], in_thread: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, rejected = Running(monkeypatch), []

    def while_one_waits() -> None:
        rejected.append(in_thread(cancel).result(30))
        running.end()

    pauses = Pauses(while_one_waits)
    monkeypatch.setattr(waiting, "_pause", pauses)
    first = in_thread(cancel)
    assert running.is_running.wait(30)
    second = cancel()
    assert first.result(30).status_code == second.status_code == 200
    assert second["Idempotent-Replayed"] == "true"
    assert second.content == first.result().content
    assert [outcome(each) for each in rejected] == [IN_USE]
    assert rejected[0]["Retry-After"] == "1"
    assert Transition.objects.filter(to_status="cancelled").count() == 1


def test_waiting_call_runs_if_first_response_is_not_stored(
    cancel: Callable[..., Any], in_thread: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(monkeypatch, error=ErrorCode.PAYMENT_IN_PROGRESS)
    monkeypatch.setattr(waiting, "_pause", Pauses(running.end))
    first = in_thread(cancel)
    assert running.is_running.wait(30)
    second = cancel()
    assert outcome(first.result(30)) == (409, "payment_in_progress")
    assert (second.status_code, second.has_header("Idempotent-Replayed")) == (200, False)
    assert PaymentRequest.objects.get().status == "cancelled"


def test_other_body_is_rejected_while_first_call_runs(
    cancel: Callable[..., Any], in_thread: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(monkeypatch)
    pauses = Pauses(running.end)
    monkeypatch.setattr(waiting, "_pause", pauses)
    first = in_thread(cancel)
    assert running.is_running.wait(30)
    assert outcome(cancel({"other": 1})) == (400, "idempotency_key_reused")
    assert pauses.count == 0
    running.end()
    assert first.result(30).status_code == 200


def claim(merchant: Merchant, *keys: str) -> None:
    """Claim the keys like calls that run in another process."""
    IdempotencyKey.objects.bulk_create(
        IdempotencyKey(
            merchant=merchant,
            key=key,
            fingerprint=fingerprint(),
            claim_id=uuid.uuid4(),
            lease_until=timezone.now() + timedelta(minutes=5),
            expires_at=timezone.now() + timedelta(days=1),
        )
        for key in keys
    )


def fingerprint() -> bytes:
    """Return the fingerprint of a call for a test event with an empty body."""
    return hashlib.sha256(b"/api/webhooks/test\n{}").digest()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waiting calls' clock: a list whose only element is the time."""
    now = [0.0]
    monkeypatch.setattr(waiting, "_clock", lambda: now[0])
    return now


def test_call_waits_ten_seconds_at_most(
    api: Api, merchant: Merchant, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def pause(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr(waiting, "_pause", pause)
    claim(merchant, "test-1")
    before = IdempotencyKey.objects.values().get()
    assert outcome(api.post("/api/webhooks/test", {}, **header("test-1"))) == IN_USE
    assert clock[0] == pytest.approx(10, abs=0.1)
    assert IdempotencyKey.objects.values().get() == before


def test_fifth_call_of_a_process_does_not_wait(
    api: Api, merchant: Merchant, clock: list[float], in_thread: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [f"test-{number}" for number in range(5)]
    four_wait, may_go_on = threading.Barrier(5), threading.Event()

    def pause(_: float) -> None:
        four_wait.wait(30)
        assert may_go_on.wait(30)

    monkeypatch.setattr(waiting, "_pause", pause)
    claim(merchant, *keys)
    calls = [in_thread(lambda key=key: api.post("/api/webhooks/test", {}, **header(key))) for key in keys[:4]]
    four_wait.wait(30)
    fifth = api.post("/api/webhooks/test", {}, **header(keys[4]))
    clock[0] = 11
    may_go_on.set()
    assert outcome(fifth) == IN_USE
    assert [outcome(call.result(30)) for call in calls] == [IN_USE] * 4
    assert waiting._slots.acquire(blocking=False), "a call that ends frees its place"
    waiting._slots.release()
