"""Count the values of a day's payments in their merchants' reporting currencies.

A payment counts on the day of its completion, in the currency of its `value`. Payments without a value are only in
the volumes. Each currency is counted separately.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, DecimalField, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.utils import timezone

from payments.models import DailyValue, LateValue, Payment


def count_values(day: date, completed: QuerySet[Payment]) -> list[DailyValue]:
    """Return the day's rows for each merchant and for all merchants together. Stores nothing."""
    amount = Cast(KT("value__amount"), DecimalField(max_digits=110, decimal_places=3))
    rows = completed.filter(value__isnull=False).annotate(currency=KT("value__currency"))
    sums: dict[tuple[Any, str], tuple[int, Decimal]] = {}
    by_currency = rows.values_list("request__merchant", "currency")
    for merchant, currency, number, worth in by_currency.annotate(number=Count("pk"), worth=Sum(amount)):
        for key in ((merchant, currency), (None, currency)):
            payments, so_far = sums.get(key, (0, Decimal(0)))
            sums[key] = payments + number, so_far + worth
    return [
        DailyValue(day=day, merchant_id=merchant, currency=currency, payments=payments, amount=worth)
        for (merchant, currency), (payments, worth) in sums.items()
    ]


def note_late_values(payments: Iterable[Payment]) -> None:
    """Schedule a recount of these payments' days. Call it in the transaction that stores their values or amounts.

    Today needs no row, because it is recounted all the time. Each call adds new rows: a process that has already read
    an existing row would miss these values.
    """
    today = timezone.now().astimezone(UTC).date()
    days = {payment.completed_at.astimezone(UTC).date() for payment in payments if payment.completed_at}
    LateValue.objects.bulk_create([LateValue(day=day) for day in sorted(days - {today})])


def late_days(until: datetime) -> dict[date, list[int]]:
    """Return the days to recount, up to `until`. Each day has the keys of the rows to delete after its recount."""
    days: dict[date, list[int]] = {}
    rows = LateValue.objects.filter(day__lte=until.astimezone(UTC).date()).order_by("day")
    for day, row in rows.values_list("day", "pk"):
        days.setdefault(day, []).append(row)
    return days
