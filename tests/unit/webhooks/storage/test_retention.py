"""Events and deliveries are kept for 30 days."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from webhooks.dispatch.leasing import claim_due
from webhooks.models import Delivery, Endpoint, Event
from webhooks.storage.retention import KEPT, purge

pytestmark = pytest.mark.django_db
Record = Callable[..., Event]


def test_purge_removes_only_old_events_and_their_deliveries(endpoint: Endpoint, record: Record) -> None:
    now = timezone.now()
    old, young = record(), record()
    claim_due(limit=2, now=timezone.now())
    Event.objects.filter(pk=old.pk).update(created=now - KEPT - timedelta(seconds=1))
    Event.objects.filter(pk=young.pk).update(created=now - KEPT + timedelta(minutes=1))
    assert purge(now) == 1
    assert Event.objects.get().pk == young.pk
    assert Delivery.objects.get().event_id == young.pk
    assert purge(now) == 0


def test_old_tests_go_too(endpoint: Endpoint) -> None:
    now = timezone.now()
    for age in (KEPT + timedelta(seconds=1), timedelta(0)):
        Delivery.objects.create(
            merchant=endpoint.merchant,
            public_event_id="evt_test",
            type="payment.succeeded",
            own_body=b"{}",
            is_test=True,
            status="delivered",
            finished_at=now,
            created_at=now - age,
        )
    assert purge(now) == 1
    assert Delivery.objects.count() == 1


def test_a_large_heap_is_removed_a_little_at_a_time(endpoint: Endpoint, record: Record) -> None:
    now = timezone.now()
    for _ in range(5):
        record()
    Event.objects.update(created=now - KEPT * 2)
    assert [purge(now, batch=2) for _ in range(4)] == [2, 2, 1, 0]
    assert not Delivery.objects.exists()
