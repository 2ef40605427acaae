"""How far a run of many histories has come, for those who wait for it."""

import os
import sys
import time

_started = time.monotonic()
_done = 0
_EVERY = 250


def note() -> None:
    """Count a history; with PROGRESS in the environment, say so now and then."""
    global _done
    _done += 1
    name = os.environ.get("PROGRESS")
    if name and _done % _EVERY == 0:
        rate = _done / (time.monotonic() - _started)
        print(f"{name}: {_done} histories, {rate:.1f} a second", file=sys.__stderr__, flush=True)
