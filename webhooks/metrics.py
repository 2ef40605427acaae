from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, Min, Q
from django.utils import timezone
from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric

from webhooks.models import Delivery, Endpoint

ATTEMPTS = Counter("quittance_webhook_attempts", "Attempts to deliver an event.", ("outcome",))
ATTEMPT_SECONDS = Histogram(
    "quittance_webhook_attempt_seconds",
    "Time until the receiver responded, or the attempt was given up.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
ATTEMPT_LATENESS = Histogram(
    "quittance_webhook_lateness_seconds",
    "Time from when an attempt was due until it started.",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)


def collect() -> Iterator[Metric]:
    """Yield the gauges.

    Deliveries to a disabled endpoint don't count as due, because they wait until the merchant enables it.
    """
    count, seconds = overdue(timezone.now())
    yield GaugeMetricFamily("quittance_deliveries_due", "Deliveries that are due.", value=count)
    yield GaugeMetricFamily(
        "quittance_deliveries_overdue_seconds",
        "Seconds since the longest overdue delivery was due.",
        value=seconds,
    )
    endpoints = Endpoint.objects.aggregate(
        failing=Count("pk", filter=Q(failing_since__isnull=False, is_enabled=True)),
        disabled=Count("pk", filter=Q(disabled_reason__isnull=False)),
    )
    yield GaugeMetricFamily(
        "quittance_endpoints_failing", "Endpoints whose last attempt failed.", value=endpoints["failing"]
    )
    yield GaugeMetricFamily(
        "quittance_endpoints_disabled", "Endpoints disabled by the service.", value=endpoints["disabled"]
    )


def overdue(now: datetime) -> tuple[int, float]:
    """Return the number of due deliveries, and for how many seconds the oldest one has been due."""
    reachable = ~Q(url_override="") | Q(
        merchant__webhook_endpoint__is_enabled=True, merchant__webhook_endpoint__url__isnull=False
    )
    due = Delivery.objects.filter(reachable, status=Delivery.Status.PENDING, due_at__lte=now)
    state = due.aggregate(count=Count("pk"), oldest=Min("due_at"))
    return state["count"], (now - state["oldest"]).total_seconds() if state["oldest"] else 0.0
