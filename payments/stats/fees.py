"""Count the network fees of a day's sponsored payments. Amounts of different coins are never added up."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Count, F, Q, Sum

from payments.models import DailyFees, Payment, Relay


def count_fees(day: date) -> list[DailyFees]:
    """Return the rows of one day for each merchant and for all of them. Stores nothing."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    ended = Relay.objects.filter(
        ended_at__gte=start, ended_at__lt=start + timedelta(days=1), authorization__isnull=False
    ).order_by()
    # Others may have sent the transfer, while ours was replaced by an empty one, which succeeds as well.
    paid = Q(
        succeeded=True,
        authorization__payment__status=Payment.Status.COMPLETED,
        hashes__contains=[F("authorization__payment__transaction_hash")],
    )
    rows = ended.values_list("authorization__merchant", "account__chain").annotate(
        number=Count("pk", filter=paid), saved=Sum("fee", filter=paid), spent=Sum("fee")
    )
    sums: dict[tuple[Any, int], tuple[int, int, int]] = {}
    for merchant, chain, number, saved, spent in rows:
        for key in ((merchant, chain), (None, chain)):
            payments, saved_before, spent_before = sums.get(key, (0, 0, 0))
            sums[key] = payments + number, saved_before + int(saved or 0), spent_before + int(spent or 0)
    return [
        DailyFees(day=day, merchant_id=merchant, chain_id=chain, payments=payments, saved=saved, spent=spent)
        for (merchant, chain), (payments, saved, spent) in sums.items()
    ]
