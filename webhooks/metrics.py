"""What operators watch of webhooks: what is due, for how long, and which endpoints fail (contract 10)."""

from collections.abc import Iterator

from django.db.models import Count, Min, Q
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, Metric

from webhooks.models import Delivery, Endpoint


def collect() -> Iterator[Metric]:
    """Yield the gauges. What waits for a merchant to switch its endpoint on again is held, and not overdue."""
    now = timezone.now()
    reachable = ~Q(url_override="") | Q(
        merchant__webhook_endpoint__is_enabled=True, merchant__webhook_endpoint__url__isnull=False
    )
    due = Delivery.objects.filter(reachable, status=Delivery.Status.PENDING, due_at__lte=now)
    state = due.aggregate(count=Count("pk"), oldest=Min("due_at"))
    yield GaugeMetricFamily(
        "quittance_deliveries_due", "Deliveries whose time has come.", value=state["count"]
    )
    yield GaugeMetricFamily(
        "quittance_deliveries_overdue_seconds",
        "How long the delivery that waits longest is past its time.",
        value=(now - state["oldest"]).total_seconds() if state["oldest"] else 0,
    )
    endpoints = Endpoint.objects.aggregate(
        failing=Count("pk", filter=Q(failing_since__isnull=False, is_enabled=True)),
        disabled=Count("pk", filter=Q(disabled_reason__isnull=False)),
    )
    yield GaugeMetricFamily(
        "quittance_endpoints_failing", "Endpoints whose last attempts failed.", value=endpoints["failing"]
    )
    yield GaugeMetricFamily(
        "quittance_endpoints_disabled", "Endpoints switched off by the service.", value=endpoints["disabled"]
    )
