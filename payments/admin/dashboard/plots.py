"""The dashboard's statistics as cards, plots and a table.

The server writes amounts as decimal text, and the plots show that text. So no float can change a digit.
"""

from collections.abc import Sequence
from datetime import date
from decimal import ROUND_DOWN, Decimal
from typing import Any

from chains.amounts import format_amount
from chains.currencies import DIGITS
from merchants.models import Merchant
from payments.admin.records import exact_amount, short_amount
from payments.stats import queries
from payments.stats.queries import CurrencyVolume, Period, TokenVolume, Totals

MAX_VOLUME_PLOTS = 6
SOARED = 10  # Growth by at least this factor is shown as "12 times", not as a percentage.
_SECOND, _MINUTE, _HOUR = 1000, 60_000, 3_600_000


def statistics(merchant: Merchant | None, period: Period, *, with_webhooks: bool) -> dict[str, Any]:
    now, before = queries.totals(merchant, period), queries.totals(merchant, period.before)
    days = queries.by_day(merchant, period)
    volumes, values = queries.volumes(merchant, period), queries.values(merchant, period)
    return {
        "cards": cards(now, before, period.days, with_webhooks=with_webhooks),
        "plots": plots(period.dates, days, volumes, values, with_webhooks=with_webhooks),
        "values": [_value_card(value) for value in values],
        "without_value": without_value(now.confirmed, sum(value.payments for value in values)),
        "volumes": [_volume_card(volume) for volume in volumes[:MAX_VOLUME_PLOTS]],
        "more_volumes": [_volume_card(volume) for volume in volumes[MAX_VOLUME_PLOTS:]],
        "with_webhooks": with_webhooks,
        "has_requests": now.created > 0,
        "has_times": now.confirmed > 0,
        "has_deliveries": now.delivered + now.given_up > 0,
        "table": [
            _line(day, statistics) for day, statistics in reversed(list(zip(period.dates, days, strict=True)))
        ],
    }


def cards(now: Totals, before: Totals, days: int, *, with_webhooks: bool) -> list[dict[str, str]]:
    shown = [
        {
            "title": "Payment requests",
            "icon": "receipt_long",
            "value": f"{now.created:,}",
            "note": _compared(now.created, before.created, days),
        },
        {
            "title": "Paid",
            "icon": "task_alt",
            "value": percentage(*now.conversion),
            "note": f"{now.paid:,} of {now.conversion[1]:,}"
            + (f" · {now.still_open:,} still open" * bool(now.still_open)),
        },
        {
            "title": "Time to confirm",
            "icon": "timer",
            "value": f"≈ {duration(now.median_ms)}" if now.confirmed else "—",
            "note": f"median · 95 % within {duration(now.slowest_ms)}" if now.confirmed else "no payment yet",
        },
    ]
    if with_webhooks:
        shown.append(
            {
                "title": "Webhooks delivered",
                "icon": "webhook",
                "value": percentage(*now.success),
                "note": f"{now.delivered:,} delivered · {now.given_up:,} failed",
            }
        )
    return shown


def plots(
    dates: Sequence[date],
    days: Sequence[Totals],
    volumes: Sequence[TokenVolume],
    values: Sequence[CurrencyVolume],
    *,
    with_webhooks: bool,
) -> dict[str, Any]:
    """Return the data of the plots for the page's script: the days, and each plot's kind and series."""
    drawn: dict[str, Any] = {
        "requests": {
            "kind": "stack",
            "series": [
                {"name": "Paid", "colour": "main", "values": [day.paid for day in days]},
                {"name": "Still open", "colour": "soft", "values": [day.still_open for day in days]},
                {"name": "Not paid", "colour": "mute", "values": [day.unpaid for day in days]},
            ],
        },
        "times": {
            "kind": "lines",
            "unit": "ms",
            "series": [
                {
                    "name": "95 % within",
                    "colour": "warm",
                    "values": [day.slowest_ms for day in days],
                    "texts": [duration(day.slowest_ms) for day in days],
                },
                {
                    "name": "Median",
                    "colour": "main",
                    "values": [day.median_ms for day in days],
                    "texts": [duration(day.median_ms) for day in days],
                },
            ],
        },
    }
    if with_webhooks:
        drawn["webhooks"] = {
            "kind": "stack",
            "series": [
                {"name": "Delivered", "colour": "main", "values": [day.delivered for day in days]},
                {"name": "Given up", "colour": "bad", "values": [day.given_up for day in days]},
            ],
        }
    for volume in volumes[:MAX_VOLUME_PLOTS]:
        drawn[f"volume-{volume.token.pk}"] = _volume_plot(volume)
    for value in values:
        drawn[f"value-{value.currency}"] = _value_plot(value)
    return {"days": [f"{day:%-d %b}" for day in dates], "plots": drawn}


def percentage(part: int, whole: int) -> str:
    """Return the share rounded down to one decimal (`62.4 %`), or a dash if `whole` is 0."""
    if whole == 0:
        return "—"
    if part in (0, whole):
        return "100 %" if part else "0 %"
    return f"{(Decimal(part * 100) / whole).quantize(Decimal('0.1'), ROUND_DOWN)} %"


def duration(milliseconds: float | None) -> str:
    """Return a duration in one or two units: `42 s`, `3 min 20 s`, `1 h 5 min`."""
    if milliseconds is None:
        return "—"
    ms = int(milliseconds)
    if ms < 10 * _SECOND:
        return f"{ms // 100 / 10:g} s"
    if ms < _MINUTE:
        return f"{ms // _SECOND} s"
    large, name, small, small_name = (
        (_MINUTE, "min", _SECOND, "s") if ms < _HOUR else (_HOUR, "h", _MINUTE, "min")
    )
    rest = ms % large // small
    return f"{ms // large} {name}" + (f" {rest} {small_name}" if rest else "")


def money(amount: Decimal, currency: str) -> str:
    """Return an amount of a currency with thousands separators and all its digits."""
    return f"{amount:,.{DIGITS.get(currency, 3)}f}"


def without_value(payments: int, valued: int) -> str:
    """Return a sentence that says how many payments have no value in currency, or "" if every payment has a value."""
    missing = max(payments - valued, 0)
    if not missing:
        return ""
    counted = f"{missing:,} of {payments:,} payment" + "s" * (payments != 1)
    verb, possessive = ("has", "its token") if missing == 1 else ("have", "their tokens")
    price = "has no price" if missing == 1 else "have no price"
    return f"{counted} {verb} no value: {possessive} {price} in the catalogue, or no rate was available yet."


def _compared(now: int, before: int, days: int) -> str:
    if before == 0:
        return f"none in the {days} days before" if now else "none yet"
    if now >= SOARED * before:
        return f"{now // before:,} times as many as in the {days} days before"
    change = (now - before) * 100
    percent = abs(change) // before
    direction = "as many as" if change == 0 else f"{percent:,} % {'more' if change > 0 else 'fewer'} than"
    return f"{direction} in the {days} days before"


def _volume_card(volume: TokenVolume) -> dict[str, Any]:
    token = volume.token
    return {
        "plot": f"volume-{token.pk}",
        "symbol": token.symbol,
        "chain": token.chain.name,
        "amount": short_amount(volume.amount, token.decimals),
        "exact": f"{exact_amount(volume.amount, token.decimals)} {token.symbol}",
        "payments": f"{volume.payments:,} payment" + "s" * (volume.payments != 1),
    }


def _volume_plot(volume: TokenVolume) -> dict[str, Any]:
    decimals = volume.token.decimals
    return {
        "kind": "bars",
        "series": [
            {
                "name": volume.token.symbol,
                "colour": "main",
                "values": [format_amount(amount, decimals) for amount in volume.daily],
                "texts": [
                    f"{exact_amount(amount, decimals)} {volume.token.symbol}" for amount in volume.daily
                ],
            }
        ],
    }


def _value_card(value: CurrencyVolume) -> dict[str, Any]:
    return {
        "plot": f"value-{value.currency}",
        "currency": value.currency,
        "amount": money(value.amount, value.currency),
        "payments": f"{value.payments:,} payment" + "s" * (value.payments != 1),
    }


def _value_plot(value: CurrencyVolume) -> dict[str, Any]:
    return {
        "kind": "bars",
        "series": [
            {
                "name": value.currency,
                "colour": "main",
                "values": [f"{amount:f}" for amount in value.daily],
                "texts": [f"{money(amount, value.currency)} {value.currency}" for amount in value.daily],
            }
        ],
    }


def _line(day: date, statistics: Totals) -> tuple[str, ...]:
    return (
        f"{day:%a %-d %b}",
        f"{statistics.created:,}",
        f"{statistics.paid:,}",
        percentage(*statistics.conversion),
        duration(statistics.median_ms),
        duration(statistics.slowest_ms),
        f"{statistics.delivered:,}",
        f"{statistics.given_up:,}",
    )
