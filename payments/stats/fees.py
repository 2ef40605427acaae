"""Count the network fees of a day's sponsored payments. Each chain's coin is counted separately."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Count, F, Q, Sum

from payments.models import DailyFees, Payment, Relay

# The price of opening the recipient's token account (Solana). Without sponsoring, the customer pays it.
_DEPOSIT = "authorization__deposit"


def count_fees(day: date) -> list[DailyFees]:
    """Return the day's rows for each merchant and for all merchants together. Stores nothing."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    ended = Relay.objects.filter(
        ended_at__gte=start, ended_at__lt=start + timedelta(days=1), authorization__isnull=False
    ).order_by()
    # If others sent the transfer first, an empty transaction replaced ours. The empty transaction succeeds too, but
    # pays nothing.
    paid = Q(
        succeeded=True,
        authorization__payment__status=Payment.Status.COMPLETED,
        hashes__contains=[F("authorization__payment__transaction_hash")],
    )
    rows = ended.values_list("authorization__merchant", "account__chain").annotate(
        number=Count("pk", filter=paid),
        saved=Sum("fee", filter=paid),
        saved_deposits=Sum(_DEPOSIT, filter=paid),
        spent=Sum("fee"),
        spent_deposits=Sum(_DEPOSIT, filter=Q(succeeded=True)),
    )
    sums: dict[tuple[Any, int], list[int]] = {}
    for merchant, chain, number, *amounts in rows:
        saved_fees, saved_deposits, spent_fees, spent_deposits = (int(each or 0) for each in amounts)
        for key in ((merchant, chain), (None, chain)):
            so_far = sums.setdefault(key, [0, 0, 0])
            so_far[0] += number
            so_far[1] += saved_fees + saved_deposits
            so_far[2] += spent_fees + spent_deposits
    return [
        DailyFees(day=day, merchant_id=merchant, chain_id=chain, payments=payments, saved=saved, spent=spent)
        for (merchant, chain), (payments, saved, spent) in sums.items()
    ]
