"""Update the daily statistics, which exclude simulated payments. A row lock allows one process at a time.

The history shows which requests changed. Payments and deliveries count on the day on which they finished. A day is
always recounted and replaced as a whole, so counting it twice changes nothing.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import connection, transaction
from django.db.models import (
    BigIntegerField,
    Count,
    F,
    Func,
    IntegerField,
    Min,
    Q,
    Sum,
    Value,
)
from django.db.models.functions import Extract, TruncDate
from django.utils import timezone

from payments.models import (
    DailyFees,
    DailyFigures,
    DailyValue,
    DailyVolume,
    FiguresProgress,
    LateValue,
    Payment,
    PaymentRequest,
    Transition,
)
from payments.stats.fees import count_fees
from payments.stats.histogram import BOUNDS_MS
from payments.stats.values import count_values, late_days
from webhooks.models import Delivery

# Consecutive runs overlap by this much, because a change gets its timestamp before its transaction commits.
OVERLAP = timedelta(minutes=5)
# A run recounts the changes of one STEP after the other. After WORK_SECONDS, it starts no more steps.
STEP = timedelta(days=1)
WORK_SECONDS = 15.0

# Deliveries are deleted after 30 days. Older days may be incomplete.
DELIVERIES_COMPLETE = timedelta(days=28)

_DAY = timedelta(days=1)
Key = Any  # A merchant's id, or None for all merchants.


def update_statistics(*, now: Callable[[], datetime] = timezone.now) -> int:
    """Recount the days that changed, and then days that were never counted. Return the number of days.

    Return 0 if another process has the lock. A run is one transaction.
    """
    began = now()
    deadline = time.monotonic() + WORK_SECONDS
    counted = 0
    with transaction.atomic():
        progress = _locked_progress(began)
        if progress is None:
            return 0
        counted += _count_late_values(began, deadline)
        first = True
        while progress.seen_until < began and (first or time.monotonic() < deadline):
            first = False
            until = min(began, progress.seen_until + STEP)
            for day in changed_days(progress.seen_until - OVERLAP, until):
                write_day(day, today=began.date())
                counted += 1
            progress.seen_until = until
        for day in _not_counted_yet(progress.filled_from):
            if time.monotonic() > deadline:
                break
            write_day(day, today=began.date())
            progress.filled_from = day
            counted += 1
        progress.save(update_fields=("seen_until", "filled_from"))
    return counted


def _count_late_values(now: datetime, deadline: float) -> int:
    """Recount past days whose payments got a value later, for example after an outage of the rate sources."""
    counted = 0
    for day, rows in late_days(now).items():
        if time.monotonic() > deadline:
            break
        write_day(day, today=now.date())
        LateValue.objects.filter(pk__in=rows).delete()
        counted += 1
    return counted


def rebuild(first: date, last: date) -> Iterator[date]:
    """Recount these days, newest first. Yield each day once it is stored. Waits for the lock."""
    day = last
    while day >= first:
        with transaction.atomic():
            now = timezone.now()
            _locked_progress(now, wait=True)
            write_day(day, today=now.date())
        yield day
        day -= _DAY


def first_day() -> date | None:
    oldest: datetime | None = PaymentRequest.objects.aggregate(oldest=Min("created_at"))["oldest"]
    return oldest.astimezone(UTC).date() if oldest else None


def changed_days(since: datetime, until: datetime) -> list[date]:
    """Return the days whose statistics may have changed in this period, in order."""
    days = {since.astimezone(UTC).date() + step * _DAY for step in range((until - since).days + 2)}
    days = {day for day in days if day <= until.astimezone(UTC).date()}
    # After its first simulated payment, a request is left out of the statistics.
    counts = Q(payment=None) | Q(payment__is_simulated=True)
    moved = Transition.objects.filter(counts, created_at__gte=since, created_at__lte=until).order_by()
    days.update(moved.values_list(TruncDate("request__created_at", tzinfo=UTC), flat=True).distinct())
    return sorted(days)


def write_day(day: date, *, today: date) -> None:
    """Recount a day and replace its rows. Call it inside a transaction."""
    statistics, volumes, values = count_day(day)
    if today - day >= DELIVERIES_COMPLETE:
        statistics = _keep_earlier_deliveries(day, statistics)
    DailyFigures.objects.filter(day=day).delete()
    DailyVolume.objects.filter(day=day).delete()
    DailyValue.objects.filter(day=day).delete()
    DailyFees.objects.filter(day=day).delete()
    DailyFigures.objects.bulk_create(statistics, batch_size=2000)
    DailyVolume.objects.bulk_create(volumes, batch_size=2000)
    DailyValue.objects.bulk_create(values, batch_size=2000)
    DailyFees.objects.bulk_create(count_fees(day), batch_size=2000)


def _keep_earlier_deliveries(day: date, statistics: list[DailyFigures]) -> list[DailyFigures]:
    """Keep the counts of an old day's deliveries, because some may have been deleted since."""
    counted = {row.merchant_id: row for row in statistics}
    for before in DailyFigures.objects.filter(day=day):
        row = counted.setdefault(before.merchant_id, DailyFigures(day=day, merchant_id=before.merchant_id))
        row.deliveries_delivered = max(row.deliveries_delivered, before.deliveries_delivered)
        row.deliveries_failed = max(row.deliveries_failed, before.deliveries_failed)
    return list(counted.values())


def count_day(day: date) -> tuple[list[DailyFigures], list[DailyVolume], list[DailyValue]]:
    """Return one day's statistics for each active merchant and for all merchants together. Stores nothing."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    end = start + _DAY
    statistics: dict[Key, dict[str, Any]] = defaultdict(dict)
    times: dict[Key, list[int]] = {}
    for merchant, counts in (*_requests(start, end), *_deliveries(start, end)):
        for key in (merchant, None):
            for name, count in counts.items():
                statistics[key][name] = statistics[key].get(name, 0) + count
    for merchant, step, count in _confirmation_times(start, end):
        for key in (merchant, None):
            times.setdefault(key, [0] * (len(BOUNDS_MS) + 1))[step] += count
    for key, counted in times.items():
        statistics[key]["confirmation_times"] = counted
    rows = [DailyFigures(day=day, merchant_id=key, **values) for key, values in statistics.items()]
    return rows, _volumes(day, start, end), count_values(day, _completed(start, end))


def _requests(start: datetime, end: datetime) -> Iterator[tuple[Key, dict[str, int]]]:
    created = PaymentRequest.objects.filter(
        is_refund=False, is_simulated=False, created_at__gte=start, created_at__lt=end
    ).order_by()
    rows = created.values_list("merchant").annotate(
        number=Count("pk"),
        paid=Count("pk", filter=Q(status=PaymentRequest.Status.COMPLETED)),
        still_open=Count("pk", filter=Q(status=PaymentRequest.Status.ACTIVE)),
    )
    for merchant, number, paid, still_open in rows:
        yield (
            merchant,
            {"requests_created": number, "requests_paid": paid, "requests_open": still_open},
        )


def _deliveries(start: datetime, end: datetime) -> Iterator[tuple[Key, dict[str, int]]]:
    ended = Delivery.objects.filter(finished_at__gte=start, finished_at__lt=end, is_test=False).order_by()
    rows = ended.values_list("merchant").annotate(
        delivered=Count("pk", filter=Q(status=Delivery.Status.DELIVERED)),
        given_up=Count("pk", filter=Q(status=Delivery.Status.FAILED)),
    )
    for merchant, delivered, failed in rows:
        yield merchant, {"deliveries_delivered": delivered, "deliveries_failed": failed}


def _confirmation_times(start: datetime, end: datetime) -> Iterator[tuple[Key, int, int]]:
    milliseconds = Extract(F("completed_at") - F("created_at"), "epoch") * 1000
    bounds = Value(list(BOUNDS_MS), output_field=ArrayField(BigIntegerField()))
    step = Func(
        Func(milliseconds, template="(%(expressions)s)::bigint", output_field=BigIntegerField()),
        bounds,
        function="WIDTH_BUCKET",
        output_field=IntegerField(),
    )
    rows = _completed(start, end).annotate(step=step).values_list("request__merchant", "step")
    yield from rows.annotate(number=Count("pk"))


def _volumes(day: date, start: datetime, end: datetime) -> list[DailyVolume]:
    rows = _completed(start, end).values_list("request__merchant", "request__token")
    sums: dict[tuple[Key, int], list[int]] = {}
    for merchant, token, number, amount in rows.annotate(number=Count("pk"), received=Sum("amount_received")):
        for key in ((merchant, token), (None, token)):
            so_far = sums.setdefault(key, [0, 0])
            so_far[0] += number
            so_far[1] += int(amount)
    return [
        DailyVolume(day=day, merchant_id=merchant, token_id=token, payments=number, amount=amount)
        for (merchant, token), (number, amount) in sums.items()
    ]


def _completed(start: datetime, end: datetime) -> Any:
    return Payment.objects.filter(
        is_simulated=False,
        status=Payment.Status.COMPLETED,
        completed_at__gte=start,
        completed_at__lt=end,
        request__is_refund=False,
    ).order_by()


def _not_counted_yet(filled_from: date) -> Iterator[date]:
    """Yield the days before `filled_from` back to the oldest request, newest first."""
    oldest = first_day()
    while oldest is not None and filled_from > oldest:
        filled_from -= _DAY
        yield filled_from


def _locked_progress(now: datetime, *, wait: bool = False) -> FiguresProgress | None:
    """Lock and return the progress row. Return None if another process has locked it. The first run creates the row."""
    today = now.astimezone(UTC).date()
    start = datetime(today.year, today.month, today.day, tzinfo=UTC)
    if wait:
        with connection.cursor() as cursor:
            # Wait without a limit: a run may take longer than the usual lock timeout.
            cursor.execute("SET LOCAL lock_timeout = 0")
    FiguresProgress.objects.get_or_create(pk=1, defaults={"seen_until": start, "filled_from": today})
    return FiguresProgress.objects.select_for_update(skip_locked=not wait).filter(pk=1).first()
