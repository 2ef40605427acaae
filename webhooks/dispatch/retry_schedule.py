"""The times of retries. Pure functions."""

from collections.abc import Callable
from datetime import datetime, timedelta

DELAYS = tuple(timedelta(seconds=seconds) for seconds in (60, 180, 300, 600, 1800, 7200, 21600))
MAX_ATTEMPTS = 1 + len(DELAYS)
JITTER = 0.1
"""Up to a tenth of the delay is added, so that deliveries that failed together don't retry together."""


def schedule_text() -> str:
    """Return the delays as text, such as `1, 3 and 5 minutes, 2 and 6 hours`."""
    hour = timedelta(hours=1)
    minutes = [str(delay // timedelta(minutes=1)) for delay in DELAYS if delay < hour]
    hours = [str(delay // hour) for delay in DELAYS if delay >= hour]
    return f"{_listed(minutes)} minutes, {_listed(hours)} hours"


def _listed(numbers: list[str]) -> str:
    return f"{', '.join(numbers[:-1])} and {numbers[-1]}"


def next_due(attempts: int, ended_at: datetime, random: Callable[[], float]) -> datetime | None:
    """Return the time of the next attempt. Return None after the eighth attempt.

    `attempts` is the number of failed attempts. `ended_at` is when the last attempt ended. `random` returns numbers
    from 0 to 1.
    """
    if attempts >= MAX_ATTEMPTS:
        return None
    delay = DELAYS[attempts - 1]
    return ended_at + delay + delay * (JITTER * random())
