"""Decide when a payment is checked next, and when its verification times out. Pure functions."""

import random
from datetime import datetime, timedelta

from config.backoff import doubled
from payments.models import Payment

MAX_MISSED_CHECKS = 10
# If a payment has no result after this time, it fails as `verification_timed_out` and can be retried.
LONGEST_WAIT = timedelta(hours=24)
# A missing transaction whose nonce was used counts as replaced after this many checks.
CHECKS_UNTIL_REPLACED = 4
# A transaction of unknown form makes the payment fail as not verifiable after this many checks (about half a minute).
# Before that, the nodes may be the cause.
CHECKS_UNTIL_UNREADABLE = 5
_FIRST_RETRY_SECONDS = 5
_LONGEST_UNANSWERED_PAUSE_SECONDS = 300
_SHORTEST_PAUSE_SECONDS = 1.0


def pause_after_miss(attempts: int) -> timedelta:
    """The first pause is about 5 seconds. Each further pause is twice as long, with jitter."""
    return timedelta(seconds=_FIRST_RETRY_SECONDS * 2**attempts * random.uniform(1, 1.1))  # noqa: S311 - jitter


def pause_after_no_answer(unanswered_looks: int, retry_after: float | None) -> timedelta:
    """Return the pause after a check without a response.

    Each pause is twice as long as the one before. A longer `retry_after` counts instead. The maximum is 5 minutes.
    """
    pause = doubled(1, _LONGEST_UNANSWERED_PAUSE_SECONDS, unanswered_looks)
    return timedelta(seconds=max(pause, min(retry_after or 0, _LONGEST_UNANSWERED_PAUSE_SECONDS)))


def pause_for_confirmations(block_time_ms: int) -> timedelta:
    """Return the pause between two checks of a transaction that waits for more confirmations."""
    return timedelta(seconds=max(block_time_ms / 1000, _SHORTEST_PAUSE_SECONDS))


def is_timed_out(payment: Payment, now: datetime) -> bool:
    """Whether the payment has had no result for `LONGEST_WAIT`."""
    return now - payment.verifying_since >= LONGEST_WAIT
