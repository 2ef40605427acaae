from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from webhooks.models import Delivery, Endpoint

RECENT = timedelta(days=7)
FAILING_FOR = timedelta(hours=24)
MAX_LISTED = 1000


def in_trouble(endpoints: QuerySet[Endpoint], now: datetime) -> QuerySet[Endpoint]:
    """Return the endpoints that the service disabled, and those that have failed for a day."""
    disabled = Q(is_enabled=False, disabled_reason__isnull=False)
    failing = Q(is_enabled=True, failing_since__lte=now - FAILING_FOR)
    return endpoints.filter(disabled | failing, url__isnull=False)


def given_up(deliveries: QuerySet[Delivery], now: datetime) -> QuerySet[Delivery]:
    """Return up to MAX_LISTED deliveries that were given up in the last week. Test events are left out."""
    return deliveries.filter(pk__in=_newest_given_up(deliveries, now))


def count_failed(deliveries: QuerySet[Delivery], now: datetime) -> int:
    return len(_newest_given_up(deliveries, now))


def _newest_given_up(deliveries: QuerySet[Delivery], now: datetime) -> list[str]:
    """Return the ids of the newest deliveries that were given up. The newest is first, as in the index on failed
    deliveries (see `payments.attention`).
    """
    failed = deliveries.filter(status=Delivery.Status.FAILED, finished_at__gte=now - RECENT, is_test=False)
    return list(failed.order_by("-finished_at").values_list("pk", flat=True)[:MAX_LISTED])
