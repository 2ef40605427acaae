"""The European Central Bank's calendar."""

from datetime import UTC, date, datetime

import pytest

from payments.prices.target_days import easter, is_business_day, is_current


@pytest.mark.parametrize(
    "day", ["2024-03-31", "2025-04-20", "2026-04-05", "2027-03-28", "2038-04-25", "2285-03-22"]
)
def test_easter_is_computed(day: str) -> None:
    assert easter(int(day[:4])) == date.fromisoformat(day)


@pytest.mark.parametrize(
    ("day", "is_open"),
    [
        ("2026-11-27", True),
        ("2026-11-28", False),
        ("2026-11-29", False),
        ("2026-01-01", False),
        ("2026-04-02", True),
        ("2026-04-03", False),  # Good Friday
        ("2026-04-06", False),  # Easter Monday
        ("2026-04-07", True),
        ("2026-05-01", False),
        ("2026-12-24", True),
        ("2026-12-25", False),
        ("2024-12-26", False),
        ("2026-12-31", True),
    ],
)
def test_closing_days_of_target_are_known(day: str, is_open: bool) -> None:
    assert is_business_day(date.fromisoformat(day)) is is_open


@pytest.mark.parametrize(
    ("day", "now", "is_good"),
    [
        # Over Easter, Thursday's rates are valid until Tuesday 18:00 in Frankfurt.
        ("2026-04-02", datetime(2026, 4, 7, 15, 59, tzinfo=UTC), True),
        ("2026-04-02", datetime(2026, 4, 7, 16, 0, tzinfo=UTC), False),
        ("2026-04-01", datetime(2026, 4, 3, 12, tzinfo=UTC), False),
        # The list is published early, late or never.
        ("2026-04-07", datetime(2026, 4, 7, 14, 5, tzinfo=UTC), True),
        ("2026-11-26", datetime(2026, 11, 27, 16, 59, tzinfo=UTC), True),
        ("2026-11-26", datetime(2026, 11, 27, 17, 0, tzinfo=UTC), False),
        # There is no list for holidays and future days.
        ("2026-11-28", datetime(2026, 11, 28, 20, tzinfo=UTC), False),
        ("2026-12-01", datetime(2026, 11, 30, 20, tzinfo=UTC), False),
        ("9999-12-31", datetime(2026, 11, 30, 20, tzinfo=UTC), False),
    ],
)
def test_rates_are_good_until_the_next_are_due(day: str, now: datetime, is_good: bool) -> None:
    assert is_current(date.fromisoformat(day), now) is is_good
