"""Workers get kill -9 repeatedly, and Redis is flushed. Every event is still delivered."""

import os
from collections import Counter
from pathlib import Path

import pytest
import redis
from django.db import transaction

from merchants.models import Merchant
from tests.leases import end_leases
from tests.processes import beat, eventually, worker
from tests.support.webhooks.receiver import running_receiver
from webhooks.endpoints.configuration import Change, configure
from webhooks.events import record_event
from webhooks.models import Delivery, Event

DELIVERIES = 800
MERCHANTS = 40
KILLED_AT = (100, 300, 500)
FLUSHED_AT = 300


@pytest.mark.django_db(transaction=True)
def test_deliveries_survive_killed_workers_and_a_redis_flush(tmp_path: Path) -> None:
    with running_receiver() as receiver:
        merchants = [Merchant.objects.create(name=f"Merchant {number}") for number in range(MERCHANTS)]
        for merchant in merchants:
            configure(merchant, Change(url=receiver.url))
        with transaction.atomic():
            for number in range(DELIVERIES):
                merchant = merchants[number % MERCHANTS]
                record_event(
                    merchant=merchant,
                    type="payment.succeeded",
                    dedupe_key=str(number),
                    data={"number": number},
                )
        ticking = beat(tmp_path / "beat.log")
        working = worker(tmp_path / "worker.log")
        try:
            for number in KILLED_AT:
                eventually(lambda n=number: len(receiver.received) >= n, f"{number} deliveries were made")
                working.kill()
                assert Delivery.objects.filter(status="pending").exists(), "the kill came in the middle"
                if number == FLUSHED_AT:
                    redis.Redis.from_url(os.environ["REDIS_URL"]).flushall()
                # The dead worker's deliveries are free when its leases end. The test ends them now.
                end_leases()
                working = worker(tmp_path / "worker.log")
            # A delivery that a busy machine cuts off is retried a minute later.
            eventually(
                lambda: not Delivery.objects.exclude(status="delivered").exists(),
                "all were delivered",
                seconds=240,
            )
        finally:
            working.kill()
            ticking.kill()
        arrived = Counter(received.headers["Service-Event-Id"] for received in receiver.received)
    assert arrived.keys() == set(Event.objects.values_list("pk", flat=True))
    assert len(arrived) == DELIVERIES
    # Each event arrives at least once. Those that a killed worker was sending arrive twice.
    assert arrived.total() - DELIVERIES < DELIVERIES / 4
