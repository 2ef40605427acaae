"""Decide whether and when a call is retried."""

import random
from email.utils import parsedate_to_datetime

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 8.0
LONGEST_RETRY_AFTER_SECONDS = 60.0
"""If the service asks for a longer pause, the call is not retried and the error is raised."""


def is_temporary(status: int, code: str | None) -> bool:
    """Return whether a retry may succeed."""
    return status == 429 or status >= 500 or (status == 409 and code == "idempotency_key_in_use")


def delay(attempt: int, retry_after: float | None = None, *, longest: float | None = None) -> float:
    """Return how many seconds to wait after attempt number `attempt` has failed. The first attempt has number 1.

    The delay doubles each time, up to `longest` (8 s). Half of it is random, so that many callers don't retry at the
    same time. The delay is at least `retry_after`, the service's own delay.
    """
    longest = LONGEST_DELAY_SECONDS if longest is None else longest
    full = min(longest, FIRST_DELAY_SECONDS * 2.0 ** min(attempt - 1, 30))
    return max(retry_after or 0.0, random.uniform(full / 2, full))  # noqa: S311 - no secret is made of it


def parse_retry_after(header: str | None, now: float) -> float | None:
    """Return the seconds in a Retry-After header, which is a number or a date. Return None if it is neither."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None
