"""Deliveries run side by side: nudged, each is sent once, and a slow receiver keeps nobody else waiting."""

import time
from collections.abc import Callable, Iterator
from threading import Event as Flag

import pytest
from django.db import transaction

from merchants.models import Merchant
from tests.webhooks.receiver import Receiver, answer, running_receiver
from webhooks.delivery import Courier
from webhooks.endpoints import Change, configure
from webhooks.events import record_event
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db(transaction=True)
Record = Callable[..., Event]


@pytest.fixture
def courier() -> Iterator[Courier]:
    running = Courier(concurrency=8)
    yield running
    running.finish()


def record_many(merchant: Merchant, number: int) -> None:
    with transaction.atomic():
        for occurrence in range(number):
            record_event(merchant=merchant, type="payment.succeeded", dedupe_key=str(occurrence), data={})


def test_one_nudge_delivers_all_that_is_due(merchant: Merchant, receiver: Receiver, courier: Courier) -> None:
    configure(merchant, Change(url=receiver.url))
    record_many(merchant, 30)
    assert courier.nudge() > 0
    for _ in range(30):
        receiver.arrivals.get(timeout=10)
    courier.finish()
    assert [delivery.status for delivery in Delivery.objects.all()] == ["delivered"] * 30
    assert len({received.headers["Service-Event-Id"] for received in receiver.received}) == 30


def test_a_hanging_receiver_keeps_only_its_own_merchant_waiting(
    merchant: Merchant, other_merchant: Merchant, receiver: Receiver, courier: Courier
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
        courier.nudge()
        for _ in range(20):
            receiver.arrivals.get(timeout=5)
        assert time.monotonic() - started < 5
        assert len(hanging.received) <= 2
        released.set()
        courier.finish()
    assert not Delivery.objects.exclude(status="delivered").exists()


def test_a_nudge_without_work_begins_nothing(courier: Courier) -> None:
    assert courier.nudge() == 0
