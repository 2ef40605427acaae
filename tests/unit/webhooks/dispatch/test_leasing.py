"""One process at a time leases a delivery. If the process dies, the delivery isn't lost."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connections, transaction
from django.utils import timezone

from merchants.models import Merchant
from tests.leases import end_leases
from tests.support.webhooks.delivering import store_result
from tests.support.webhooks.fixtures import Clock
from webhooks.dispatch.http_client import Answer
from webhooks.dispatch.leasing import MAX_IN_FLIGHT_PER_MERCHANT, RETRY_PATIENCE, Claim, claim_due
from webhooks.endpoints.configuration import Change, configure
from webhooks.events import record_event
from webhooks.models import Delivery, Endpoint, Event

Record = Callable[..., Event]
DELIVERED = Answer(200, "", "", 12)
FAILED = Answer(500, "Answered 500.", "", 12)
SECOND = timedelta(seconds=1)


def test_leased_delivery_is_not_claimed_until_its_lease_ends(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    record()
    [claim] = claim_due(limit=10, now=clock.now)
    clock.forward(timedelta(hours=1))
    assert claim_due(limit=10, now=clock.now) == [], "the worker's clock says nothing of it"
    end_leases()
    [second] = claim_due(limit=10, now=clock.now)
    assert second.delivery_id == claim.delivery_id
    assert second.claim_id != claim.claim_id
    assert second.attempt == 2


def test_dead_workers_attempt_is_counted_and_shown(endpoint: Endpoint, record: Record, clock: Clock) -> None:
    record()
    claim_due(limit=1, now=clock.now)
    end_leases()
    [claim] = claim_due(limit=1, now=clock.now)
    store_result(claim, DELIVERED, ended_at=clock.now)
    lost, made = Delivery.objects.get().attempt_set.all()
    assert "worker" in lost.error
    assert made.status_code == 200


def test_worker_that_lost_its_lease_writes_nothing(endpoint: Endpoint, record: Record, clock: Clock) -> None:
    record()
    [late] = claim_due(limit=1, now=clock.now)
    end_leases()
    [current] = claim_due(limit=1, now=clock.now)
    assert not store_result(late, FAILED, ended_at=clock.now)
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.claim_id) == ("pending", current.claim_id)
    assert store_result(current, DELIVERED, ended_at=clock.now)
    assert not store_result(late, FAILED, ended_at=clock.now)
    assert Delivery.objects.get().status == "delivered"


def test_one_merchants_backlog_leaves_room_for_the_others(
    merchant: Merchant, other_merchant: Merchant, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    configure(other_merchant, Change(url=endpoint.url))
    for _ in range(20):
        record()
    last = record(merchant=other_merchant)
    clock.forward(timedelta(seconds=1))
    claims = claim_due(limit=2, now=clock.now)
    assert last.id in {claim.event_id for claim in claims}
    claims += claim_due(limit=20, now=clock.now)
    assert len(claims) == MAX_IN_FLIGHT_PER_MERCHANT + 1
    assert claim_due(limit=20, now=clock.now) == []


@pytest.mark.parametrize(("waited", "first"), [(RETRY_PATIENCE - SECOND, "new"), (RETRY_PATIENCE, "retry")])
def test_retry_of_a_slow_endpoint_waits_five_minutes_at_most(
    endpoint: Endpoint, record: Record, clock: Clock, waited: timedelta, first: str
) -> None:
    retried = record()
    Delivery.objects.update(is_retry=True, attempts=1, due_at=clock.now - waited)
    record()
    [claim] = claim_due(limit=9, now=clock.now, slow_endpoints=[endpoint.merchant_id])
    assert (claim.event_id == retried.id) == (first == "retry")


@pytest.mark.django_db(transaction=True)
def test_many_claimers_at_once_never_share_a_delivery(merchant: Merchant) -> None:
    claimed: list[Claim] = []
    for number in range(40):
        other = Merchant.objects.create(name=f"Merchant {number}")
        configure(other, Change(url="https://shop.example/hook"))
        with transaction.atomic():
            record_event(merchant=other, type="payment.succeeded", dedupe_key="1", data={})
    start = threading.Barrier(4)

    def claim_all() -> None:
        try:
            start.wait()
            while Delivery.objects.filter(claim_id=None).exists():
                claimed.extend(claim_due(limit=5, now=timezone.now()))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=claim_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(claimed) == 40
    assert len({claim.delivery_id for claim in claimed}) == 40
