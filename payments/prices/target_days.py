"""The TARGET calendar: the business days on which the European Central Bank publishes rates, at about 16:00."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

FRANKFURT = ZoneInfo("Europe/Berlin")
AGREED_AT = time(14, 15)
"""A day's rates are those of the market at this time."""
# Rates are usually published around 16:00, sometimes later.
_DUE_AT = time(18)


def is_business_day(day: date) -> bool:
    """TARGET is closed at weekends, on 1 January, Good Friday, Easter Monday, 1 May, 25 and 26 December."""
    if day.weekday() >= 5 or (day.month, day.day) in ((1, 1), (5, 1), (12, 25), (12, 26)):
        return False
    return day - easter(day.year) not in (timedelta(days=-2), timedelta(days=1))


def easter(year: int) -> date:
    """Return Easter Sunday of the year, by the anonymous Gregorian algorithm."""
    century, of_century = divmod(year, 100)
    moon = (19 * (year % 19) + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (of_century // 4) - moon - of_century % 4) % 7
    shift = (year % 19 + 11 * moon + 22 * weekday) // 451
    month, day = divmod(moon + weekday - 7 * shift + 114, 31)
    return date(year, month, day + 1)


def is_current(day: date, now: datetime) -> bool:
    """Whether the rates of `day` are the newest that should be published by `now`."""
    local = now.astimezone(FRANKFURT)
    due = local.date() if local.time() >= _DUE_AT else local.date() - timedelta(days=1)
    while not is_business_day(due):
        due -= timedelta(days=1)
    return due <= day <= local.date() and is_business_day(day)
