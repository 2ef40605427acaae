"""Deliveries run in parallel. When woken, the dispatcher sends each once, and a slow receiver delays no other."""

import time
from collections.abc import Callable, Iterator
from threading import Event as Flag
from threading import Thread

import pytest
from django.db import connection, transaction
from django.utils import timezone

from merchants.models import Merchant
from tests.processes import eventually
from tests.support.webhooks.receiver import Receiver, answer, running_receiver
from webhooks.dispatch import dispatcher as module
from webhooks.dispatch.attempts import Outcome
from webhooks.dispatch.dispatcher import SLOW_MS, Dispatcher
from webhooks.dispatch.http_client import Answer
from webhooks.dispatch.leasing import MAX_IN_FLIGHT_PER_MERCHANT, Claim
from webhooks.endpoints.configuration import Change, configure
from webhooks.events import record_event
from webhooks.models import Attempt, Delivery, Endpoint, Event

pytestmark = pytest.mark.django_db(transaction=True)
Record = Callable[..., Event]


@pytest.fixture
def dispatcher() -> Iterator[Dispatcher]:
    running = Dispatcher(concurrency=8)
    yield running
    running.finish()


def record_many(merchant: Merchant, number: int, webhook_url: str | None = None) -> None:
    with transaction.atomic():
        for occurrence in range(number):
            record_event(
                merchant=merchant,
                type="payment.succeeded",
                dedupe_key=str(occurrence),
                data={},
                webhook_url=webhook_url,
            )


def all_delivered() -> None:
    eventually(lambda: not Delivery.objects.exclude(status="delivered").exists(), "all was delivered", 20)


def test_one_nudge_delivers_all_that_is_due(
    merchant: Merchant, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    configure(merchant, Change(url=receiver.url))
    record_many(merchant, 30)
    assert dispatcher.nudge() > 0
    for _ in range(30):
        receiver.arrivals.get(timeout=10)
    all_delivered()
    assert len({received.headers["Service-Event-Id"] for received in receiver.received}) == 30


def test_dispatcher_without_work_keeps_no_database_connection(
    merchant: Merchant, receiver: Receiver, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_KEEP_POLLING_SECONDS", 0.0)
    configure(merchant, Change(url=receiver.url))
    record_many(merchant, 1)
    assert dispatcher.nudge() == 1
    all_delivered()
    connection.close()
    eventually(lambda: not in_use(), "the pool has all connections back")


def in_use() -> int:
    stats = connection.pool.get_stats()
    return int(stats["pool_size"] - stats["pool_available"])


def test_a_hanging_receiver_keeps_only_its_own_merchant_waiting(
    merchant: Merchant, other_merchant: Merchant, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    released = Flag()

    def hang(handler: object) -> None:
        released.wait(10)
        answer(200)(handler)  # type: ignore[arg-type]

    with running_receiver() as hanging:
        hanging.answers = [hang] * 20
        configure(merchant, Change(url=hanging.url))
        configure(other_merchant, Change(url=receiver.url))
        record_many(merchant, 20)
        record_many(other_merchant, 20)
        started = time.monotonic()
        dispatcher.nudge()
        for _ in range(20):
            receiver.arrivals.get(timeout=5)
        assert time.monotonic() - started < 5
        assert len(hanging.received) <= MAX_IN_FLIGHT_PER_MERCHANT
        released.set()
        all_delivered()


def test_a_nudge_without_work_begins_nothing(dispatcher: Dispatcher) -> None:
    assert dispatcher.nudge() == 0


def test_finish_waits_for_running_attempts_and_claims_no_more(
    merchant: Merchant, other_merchant: Merchant
) -> None:
    released, begun = Flag(), Flag()

    def hold(claim: Claim) -> Outcome:
        begun.set()
        released.wait(10)
        return Outcome(claim, Answer(200, "", "", 1), timezone.now())

    configure(merchant, Change(url="https://shop.example/hook"))
    configure(other_merchant, Change(url="https://shop.example/hook"))
    record_many(merchant, 1)
    dispatcher = Dispatcher(concurrency=2, attempt=hold)
    assert dispatcher.nudge() == 1
    assert begun.wait(5)
    finishing = Thread(target=dispatcher.finish)
    finishing.start()
    record_many(other_merchant, 1)
    released.set()
    finishing.join(10)
    assert not finishing.is_alive()
    assert dispatcher.nudge() == 0
    assert Delivery.objects.get(merchant=merchant).status == "delivered"
    waiting = Delivery.objects.get(merchant=other_merchant)
    assert (waiting.status, waiting.attempts, waiting.claim_id) == ("pending", 0, None)


def test_failing_receivers_use_at_most_half_of_the_threads(merchant: Merchant) -> None:
    released = Flag()
    taken: list[Claim] = []

    def hold(claim: Claim) -> Outcome:
        taken.append(claim)
        released.wait(10)
        return Outcome(claim, Answer(200, "", "", 1), timezone.now())

    for number in range(12):
        failing = Merchant.objects.create(name=f"Failing {number}")
        configure(failing, Change(url="https://shop.example/hook"))
        record_many(failing, 1)
    Endpoint.objects.update(failing_since=timezone.now())
    configure(merchant, Change(url="https://shop.example/hook"))
    dispatcher = Dispatcher(concurrency=8, attempt=hold)
    try:
        assert dispatcher.nudge() == 4
        assert dispatcher.nudge() == 0
        record_many(merchant, 4)
        assert dispatcher.nudge() == 4
    finally:
        released.set()
        dispatcher.finish()
    assert sum(claim.is_slow for claim in taken) == 4


def test_delivery_during_lost_database_connection_is_not_resent(
    merchant: Merchant, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    begun, released = Flag(), Flag()

    def hold(handler: object) -> None:
        begun.set()
        released.wait(10)
        answer(200)(handler)  # type: ignore[arg-type]

    # Workers have no pool. The tests' pool may hold hundreds of idle connections, and would repair them one
    # by one.
    connection.close()
    connection.close_pool()
    configure(merchant, Change(url=receiver.url))
    record_many(merchant, 1)
    dispatcher.nudge()
    receiver.arrivals.get(timeout=10)
    all_delivered()  # from here, a separate connection stores the results

    receiver.answers = [hold]
    with transaction.atomic():
        record_event(merchant=merchant, type="payment.succeeded", dedupe_key="second", data={})
    dispatcher.nudge()
    assert begun.wait(5)
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()"""
        )
        assert cursor.fetchone()[0] > 0
        released.set()
    all_delivered()
    assert len(receiver.received) == 2
    assert [attempt.status_code for attempt in Attempt.objects.all()] == [200, 200]


@pytest.mark.parametrize("own_url", [None, "https://own.example/hook"], ids=["endpoint", "own URL"])
def test_slow_receivers_use_at_most_half_of_the_threads(own_url: str | None) -> None:
    released = Flag()

    def hold(claim: Claim) -> Outcome:
        if claim.attempt == 1 and len(seen) < 6:
            seen.append(claim)
            return Outcome(claim, Answer(200, "", "", SLOW_MS + 1), timezone.now())
        released.wait(10)
        return Outcome(claim, Answer(200, "", "", 1), timezone.now())

    seen: list[Claim] = []
    slow = [Merchant.objects.create(name=f"Slow {number}") for number in range(6)]
    for each in slow:
        configure(each, Change(url="https://shop.example/hook"))
        record_many(each, 1, own_url)
    dispatcher = Dispatcher(concurrency=8, attempt=hold)
    try:
        dispatcher.nudge()
        all_delivered()
        for each in slow:
            with transaction.atomic():
                record_event(
                    merchant=each,
                    type="payment.succeeded",
                    dedupe_key="later",
                    data={},
                    webhook_url=own_url,
                )
        held = Delivery.objects.filter(status="pending", claim_id__isnull=False)
        eventually(lambda: bool(dispatcher.nudge()) or held.count() == 4, "half of the threads took them")
        assert held.count() == 4
    finally:
        released.set()
        dispatcher.finish()


def test_one_fast_own_url_does_not_end_the_slowness_of_others(merchant: Merchant) -> None:
    durations = [SLOW_MS + 1, 1]

    def attempt(claim: Claim) -> Outcome:
        return Outcome(claim, Answer(200, "", "", durations.pop(0)), timezone.now())

    dispatcher = Dispatcher(concurrency=2, attempt=attempt)
    try:
        for number in range(2):
            with transaction.atomic():
                record_event(
                    merchant=merchant,
                    type="payment.succeeded",
                    dedupe_key=str(number),
                    data={},
                    webhook_url=f"https://{number}.example/hook",
                )
            dispatcher.nudge()
            all_delivered()
        assert dispatcher._slow_own_urls.keys() == {merchant.pk}
        assert dispatcher._slow_endpoints == {}
    finally:
        dispatcher.finish()
