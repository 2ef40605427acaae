from collections.abc import Iterator
from datetime import datetime

from django.db.models import Min
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, Metric

from merchants.models import Mail


def collect() -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "quittance_mail_waiting_seconds",
        "Seconds since the oldest unsent e-mail was stored.",
        value=longest_wait(timezone.now()),
    )


def longest_wait(now: datetime) -> float:
    """Return the age of the oldest unsent e-mail in seconds. Return 0 if none waits."""
    oldest = Mail.objects.aggregate(oldest=Min("created_at"))["oldest"]
    return max((now - oldest).total_seconds(), 0.0) if oldest else 0.0
