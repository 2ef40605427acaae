"""Query the daily statistics of a period, for one merchant or (with None) for all.

Amounts are base units. Amounts of different tokens are never added up, and neither are values in different
currencies.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from django.db.models import Sum

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import DailyFees, DailyFigures, DailyValue, DailyVolume, FiguresProgress
from payments.stats.histogram import percentile, total

MEDIAN, SLOWEST = 50, 95


@dataclass(frozen=True)
class Period:
    """A period of whole days (UTC). The period's last day may not be over yet."""

    last: date
    days: int

    @property
    def first(self) -> date:
        return self.last - timedelta(days=self.days - 1)

    @property
    def dates(self) -> list[date]:
        return [self.first + timedelta(days=step) for step in range(self.days)]

    @property
    def before(self) -> "Period":
        return Period(self.first - timedelta(days=1), self.days)


@dataclass(frozen=True)
class Totals:
    """Times are in milliseconds; None if nothing was confirmed."""

    created: int = 0
    paid: int = 0
    still_open: int = 0
    confirmed: int = 0
    median_ms: int | None = None
    slowest_ms: int | None = None
    delivered: int = 0
    given_up: int = 0

    @property
    def unpaid(self) -> int:
        return self.created - self.paid - self.still_open

    @property
    def conversion(self) -> tuple[int, int]:
        """(paid requests, requests that are no longer open)"""
        return self.paid, self.created - self.still_open

    @property
    def success(self) -> tuple[int, int]:
        """(successful deliveries, finished deliveries)"""
        return self.delivered, self.delivered + self.given_up


@dataclass(frozen=True)
class TokenVolume:
    """A token's verified volume in base units: the total, and each day of the period."""

    token: Token
    payments: int
    amount: int
    daily: list[int]


@dataclass(frozen=True)
class CurrencyVolume:
    """The value of verified payments in one currency: the total, and each day of the period."""

    currency: str
    payments: int
    amount: Decimal
    daily: list[Decimal]


@dataclass(frozen=True)
class ChainFees:
    """The network fees of sponsored payments on one chain, in base units of its coin."""

    chain: Chain
    payments: int
    saved: int
    spent: int


def totals(merchant: Merchant | None, period: Period) -> Totals:
    return _added_up(_rows(merchant, period))


def by_day(merchant: Merchant | None, period: Period) -> list[Totals]:
    """Return each day's statistics in order. Empty days have zeros."""
    rows: dict[date, list[DailyFigures]] = defaultdict(list)
    for row in _rows(merchant, period):
        rows[row.day].append(row)
    return [_added_up(rows[day]) for day in period.dates]


def volumes(merchant: Merchant | None, period: Period) -> list[TokenVolume]:
    """Return each token's volume. The token with the most payments comes first."""
    rows = DailyVolume.objects.filter(merchant=merchant, day__range=(period.first, period.last))
    days: dict[int, dict[date, tuple[int, int]]] = defaultdict(dict)
    for token_id, day, payments, amount in rows.values_list("token", "day", "payments", "amount"):
        days[token_id][day] = payments, int(amount)
    tokens = Token.objects.select_related("chain").in_bulk(days)
    by_token = [_volume(tokens[token_id], each, period.dates) for token_id, each in days.items()]
    return sorted(by_token, key=lambda volume: (-volume.payments, volume.token.pk))


def values(merchant: Merchant | None, period: Period) -> list[CurrencyVolume]:
    """Return the volume in each reporting currency. The currency with the most payments comes first."""
    rows = DailyValue.objects.filter(merchant=merchant, day__range=(period.first, period.last))
    days: dict[str, dict[date, tuple[int, Decimal]]] = defaultdict(dict)
    for currency, day, payments, amount in rows.values_list("currency", "day", "payments", "amount"):
        days[currency][day] = payments, amount
    by_currency = [
        CurrencyVolume(
            currency,
            sum(payments for payments, _ in each.values()),
            sum((amount for _, amount in each.values()), Decimal(0)),
            [each[day][1] if day in each else Decimal(0) for day in period.dates],
        )
        for currency, each in days.items()
    ]
    return sorted(by_currency, key=lambda volume: (-volume.payments, volume.currency))


def fees(merchant: Merchant | None, period: Period) -> list[ChainFees]:
    """Return the network fees of sponsored payments by chain, ordered by the chain's name."""
    rows = DailyFees.objects.filter(merchant=merchant, day__range=(period.first, period.last)).order_by()
    sums = rows.values_list("chain").annotate(Sum("payments"), Sum("saved"), Sum("spent"))
    found = {chain_id: (payments, int(saved), int(spent)) for chain_id, payments, saved, spent in sums}
    chains = Chain.objects.filter(pk__in=found).order_by("name", "pk")
    return [ChainFees(chain, *found[chain.pk]) for chain in chains]


def known_until() -> datetime | None:
    """Return the time until which changes are included. None before the first count."""
    return FiguresProgress.objects.values_list("seen_until", flat=True).first()


def _volume(token: Token, days: dict[date, tuple[int, int]], dates: Sequence[date]) -> TokenVolume:
    daily = [days.get(day, (0, 0)) for day in dates]
    return TokenVolume(
        token,
        sum(payments for payments, _ in daily),
        sum(amount for _, amount in daily),
        [a for _, a in daily],
    )


def _rows(merchant: Merchant | None, period: Period) -> list[DailyFigures]:
    return list(DailyFigures.objects.filter(merchant=merchant, day__range=(period.first, period.last)))


def _added_up(rows: Iterable[DailyFigures]) -> Totals:
    rows = list(rows)
    times = total(row.confirmation_times for row in rows)
    return Totals(
        created=sum(row.requests_created for row in rows),
        paid=sum(row.requests_paid for row in rows),
        still_open=sum(row.requests_open for row in rows),
        confirmed=sum(times),
        median_ms=percentile(times, MEDIAN),
        slowest_ms=percentile(times, SLOWEST),
        delivered=sum(row.deliveries_delivered for row in rows),
        given_up=sum(row.deliveries_failed for row in rows),
    )
