"""Make Python's clock wrong by the number of seconds in the file CLOCK_FILE.

Applies to each Python process with this folder on its PYTHONPATH. The monotonic clock stays right, as it does
when a machine's clock is set.
"""

import os
import time
from datetime import UTC, datetime, timedelta

from django.utils import timezone

_READ_SECONDS = 0.2
_right = time.time
_state = {"read_at": float("-inf"), "seconds": 0.0}


def _wrong_by() -> float:
    if time.monotonic() - _state["read_at"] >= _READ_SECONDS:
        with open(os.environ["CLOCK_FILE"]) as file:
            _state["seconds"] = float(file.read() or 0)
        _state["read_at"] = time.monotonic()
    return _state["seconds"]


def _time() -> float:
    return _right() + _wrong_by()


def _now() -> datetime:
    return datetime.now(tz=UTC) + timedelta(seconds=_wrong_by())


time.time = _time
timezone.now = _now
