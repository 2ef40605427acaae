"""When a failed delivery is tried again (spec 6.4). Pure."""

from collections.abc import Callable
from datetime import datetime, timedelta

DELAYS = tuple(timedelta(seconds=seconds) for seconds in (60, 180, 300, 600, 1800, 7200, 21600))
MAX_ATTEMPTS = 1 + len(DELAYS)
JITTER = 0.1
"""Up to a tenth of the delay is added, never taken off, so that what failed together comes back apart."""


def next_due(attempts: int, ended_at: datetime, random: Callable[[], float]) -> datetime | None:
    """Return when the attempt after `attempts` failed ones is due, the last of which ended at `ended_at`.

    None after the eighth: it is given up. `random` gives numbers from 0 to 1.
    """
    if attempts >= MAX_ATTEMPTS:
        return None
    delay = DELAYS[attempts - 1]
    return ended_at + delay + delay * (JITTER * random())
