"""Let a call wait for another call with the same Idempotency-Key.

For each key, only one call may wait at a time. In each process, at most `MAX_WAITING` calls may wait.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import transaction

from config.database.compiled_query import run

# A process has 16 threads, and waiting calls must leave enough threads for other calls.
MAX_WAITING = 4
MAX_SECONDS = 10.0
_PAUSE_SECONDS = 0.05

Result = TypeVar("Result")

_slots = threading.BoundedSemaphore(MAX_WAITING)
_clock = time.monotonic
_pause = time.sleep


def wait_for(attempt: Callable[[], Result], *, lock: int) -> Result | None:
    """Repeat `attempt` until it returns a result. Commit the changes that `attempt` made.

    Returns None after `MAX_SECONDS`. Returns None at once if another call waits with the same `lock`, or if
    `MAX_WAITING` calls of this process are waiting.
    """
    if not _slots.acquire(blocking=False):
        return None
    try:
        # The lock is held until the transaction ends. Even inside the transaction, each statement sees the latest
        # commits of other calls.
        with transaction.atomic():
            if not run("SELECT pg_try_advisory_xact_lock(%s::bigint)", [lock]).fetchall()[0][0]:
                return None
            return _repeat(attempt)
    finally:
        _slots.release()


def _repeat(attempt: Callable[[], Result]) -> Result:
    ends_at = _clock() + MAX_SECONDS
    while (result := attempt()) is None and _clock() < ends_at:
        _pause(_PAUSE_SECONDS)
    return result
