"""How long a payment waits before it is looked at again, and for how long in all (contract 6). Pure."""

import random
from datetime import datetime, timedelta

from config.backoff import doubled
from payments.models import Payment

MAX_RETRIES_OF_LOOKS = 10
# After this long without an answer, or without an end, the payment fails, and may be retried.
LONGEST_WAIT = timedelta(hours=24)
# After so many looks that missed it, a transaction whose nonce was used counts as replaced by an unknown one.
LOOKS_FOR_REPLACEMENT = 4
_FIRST_RETRY_SECONDS = 5
_LONGEST_UNANSWERED_PAUSE_SECONDS = 300
_SHORTEST_LOOK_SECONDS = 1.0


def before_next_try(attempts: int) -> timedelta:
    """Return the pause after a look that used up one of the retries: 5 s, doubled each time, with jitter."""
    return timedelta(seconds=_FIRST_RETRY_SECONDS * 2**attempts * random.uniform(1, 1.1))  # noqa: S311 - jitter


def before_asking_again(unanswered_looks: int, retry_after: float | None) -> timedelta:
    """Return the pause after a look that nobody answered: doubled each time, or as advised, up to 5 minutes."""
    pause = doubled(1, _LONGEST_UNANSWERED_PAUSE_SECONDS, unanswered_looks)
    return timedelta(seconds=max(pause, min(retry_after or 0, _LONGEST_UNANSWERED_PAUSE_SECONDS)))


def about_a_block(block_time_ms: int) -> timedelta:
    """Return the pause before a transaction is looked at again that does not lie deep enough."""
    return timedelta(seconds=max(block_time_ms / 1000, _SHORTEST_LOOK_SECONDS))


def is_over(payment: Payment, now: datetime) -> bool:
    """Whether the payment has been waited for as long as one is."""
    return now - payment.verifying_since >= LONGEST_WAIT
