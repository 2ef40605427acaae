"""Remove events and deliveries after 30 days, in small batches."""

from datetime import datetime, timedelta

from django.db import transaction

from webhooks.models import Attempt, Delivery, Event

KEPT = timedelta(days=30)
BATCH = 500


def purge(now: datetime, batch: int = BATCH) -> int:
    """Remove up to `batch` events with their deliveries, and up to `batch` test events; return how many."""
    before = now - KEPT
    old_events = Event.objects.filter(created__lt=before).order_by("created", "id")
    events = list(old_events.values_list("pk", flat=True)[:batch])
    old_tests = Delivery.objects.filter(event=None, created_at__lt=before).order_by("created_at", "id")
    tests = list(old_tests.values_list("pk", flat=True)[:batch])
    with transaction.atomic():
        deliveries = list(Delivery.objects.filter(event__in=events).values_list("pk", flat=True))
        Attempt.objects.filter(delivery__in=[*deliveries, *tests]).delete()
        Delivery.objects.filter(pk__in=[*deliveries, *tests]).delete()
        Event.objects.filter(pk__in=events).delete()
    return len(events) + len(tests)
