"""Remove events and deliveries after 30 days, in small batches.

The bodies of events and the attempts of deliveries are removed later, with their partitions
(`webhooks.storage.partitions`).
"""

import time
from datetime import datetime, timedelta

from django.db import transaction

from webhooks.models import Delivery, Event

KEPT = timedelta(days=30)
BATCH = 500
WORK_SECONDS = 10.0


def purge_all(now: datetime) -> int:
    """Remove batches for up to ten seconds. Return the number of removed events, including test events."""
    deadline = time.monotonic() + WORK_SECONDS
    removed = 0
    while count := purge(now):
        removed += count
        if time.monotonic() > deadline:
            break
    return removed


def purge(now: datetime, batch: int = BATCH) -> int:
    """Remove up to `batch` events with their deliveries, and up to `batch` test events. Return the total number."""
    before = now - KEPT
    old_events = Event.objects.filter(created__lt=before).order_by("created", "id")
    events = list(old_events.values_list("pk", flat=True)[:batch])
    old_tests = Delivery.objects.filter(event=None, created_at__lt=before).order_by("created_at", "id")
    tests = list(old_tests.values_list("pk", flat=True)[:batch])
    with transaction.atomic():
        Delivery.objects.filter(event__in=events).delete()
        Delivery.objects.filter(pk__in=tests).delete()
        Event.objects.filter(pk__in=events).delete()
    return len(events) + len(tests)
