from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, Min
from django.db.models.functions import Greatest
from django.utils import timezone
from prometheus_client import Counter
from prometheus_client.core import GaugeMetricFamily, Metric

from payments.models import DiscoveryCursor, Lookup, MerchantCursor, Payment, PaymentRequest, Swap
from payments.providers.budget import quote_quotas

PAYMENTS_DECIDED = Counter("quittance_payments_decided", "Payments that completed or failed.", ("status",))


def collect() -> Iterator[Metric]:
    """Yield the gauges. Each query uses a partial index."""
    now = timezone.now()
    by_chain = GaugeMetricFamily("quittance_payments_open", "Payments under verification.", labels=("chain",))
    for chain_id, count in open_payments():
        by_chain.add_metric((str(chain_id),), count)
    yield by_chain
    yield GaugeMetricFamily(
        "quittance_payments_overdue_seconds",
        "Seconds since the longest overdue payment was due for its next check.",
        value=payments_overdue(now),
    )
    yield GaugeMetricFamily(
        "quittance_expiry_overdue_seconds",
        "Seconds since the longest overdue request was due to expire.",
        value=expiry_overdue(now),
    )
    yield from _discovery(now)
    yield from _quotas()


def open_payments() -> list[tuple[int, int]]:
    """Return (chain id, number of open payments) for each chain that has any."""
    open_ones = Payment.objects.filter(is_simulated=False, status__in=Payment.OPEN)
    return list(open_ones.order_by().values_list("chain_id").annotate(Count("pk")))


def payments_overdue(now: datetime) -> float:
    """Seconds since the longest overdue payment was due. 0 if none is overdue."""
    due = Lookup.objects.filter(is_simulated=False, next_check_at__isnull=False)
    oldest = due.aggregate(oldest=Min("next_check_at"))["oldest"]
    searched = Lookup.objects.filter(is_simulated=False, proposal_check_at__isnull=False)
    proposed = searched.aggregate(oldest=Min("proposal_check_at"))["oldest"]
    polled = Swap.objects.filter(next_poll_at__isnull=False).aggregate(oldest=Min("next_poll_at"))["oldest"]
    return max(_seconds_since(each, now) for each in (oldest, proposed, polled))


def expiry_overdue(now: datetime) -> float:
    """Seconds since the longest overdue request should have expired. 0 if none is overdue."""
    past_end = PaymentRequest.objects.filter(status=PaymentRequest.Status.ACTIVE, expiry_check_at__lte=now)
    return _seconds_since(past_end.aggregate(earliest=Min("expiry_check_at"))["earliest"], now)


def discovery_lags(now: datetime) -> dict[int, float]:
    """Return, by chain id, the seconds since the search reached the head for the merchant that is furthest behind."""
    searched = MerchantCursor.objects.values_list("chain").annotate(
        at=Min(Greatest("searched_at", "created_at"))
    )
    return {chain_id: _seconds_since(at, now) for chain_id, at in searched.order_by()}


def _discovery(now: datetime) -> Iterator[Metric]:
    watches = GaugeMetricFamily(
        "quittance_discovery_watches",
        "Requests without a submitted payment that discovery searches for.",
        labels=("chain",),
    )
    for chain_id, count in DiscoveryCursor.objects.values_list("chain", "watches"):
        watches.add_metric((str(chain_id),), count)
    lag = GaugeMetricFamily(
        "quittance_discovery_lag_seconds",
        "Seconds since the chain was last searched up to its head for the slowest merchant.",
        labels=("chain",),
    )
    for chain_id, seconds in discovery_lags(now).items():
        lag.add_metric((str(chain_id),), seconds)
    yield from (watches, lag)


def _quotas() -> Iterator[Metric]:
    allowed = GaugeMetricFamily(
        "quittance_routing_quota",
        "Quote calls that a provider's quota allows in its window.",
        labels=("name",),
    )
    spent = GaugeMetricFamily(
        "quittance_routing_quota_used",
        "Quote calls in the current window; absent without Redis.",
        labels=("name",),
    )
    for provider, amount, count in quote_quotas():
        allowed.add_metric((provider,), amount)
        if count is not None:
            spent.add_metric((provider,), count)
    yield from (allowed, spent)


def _seconds_since(moment: datetime | None, now: datetime) -> float:
    return max((now - moment).total_seconds(), 0.0) if moment else 0.0
