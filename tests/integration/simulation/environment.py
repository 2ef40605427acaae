"""The time and the random numbers of a simulation. Call `install` before importing any module of the product.

Set `PYTHONHASHSEED` too: the order of a set of strings decides the order of some statements.
"""

import os
import random
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import uuid_utils.compat
from django.utils import timezone


class Clock:
    """The time of every process and of PostgreSQL.

    It starts today, because tables have partitions for today's date.
    """

    def __init__(self) -> None:
        self.start = datetime.now(tz=UTC).replace(hour=1, minute=0, second=0, microsecond=0)
        self.time = self.start

    def __call__(self) -> datetime:
        return self.time

    def forward(self, by: timedelta) -> None:
        self.time += by

    @property
    def elapsed(self) -> float:
        """The seconds since the history began."""
        return (self.time - self.start).total_seconds()

    def monotonic(self) -> float:
        """Return the seconds of a monotonic clock."""
        return 1000 + self.elapsed


CLOCK = Clock()
_chance = random.Random(0)


def seed_chance(seed: int) -> None:
    """Derive all random numbers and ids of the product from this seed; reset the clock."""
    _chance.seed(seed)
    random.seed(seed)
    CLOCK.time = CLOCK.start


def _uuid7() -> uuid.UUID:
    milliseconds = round(CLOCK.time.timestamp() * 1000)
    number = (milliseconds << 80) | (7 << 76) | (_chance.getrandbits(12) << 64)
    return uuid.UUID(int=number | (2 << 62) | _chance.getrandbits(62))


def install(sleep: Callable[[float], None]) -> None:
    """Replace the process' clocks, random number sources and `time.sleep`."""
    replaced: list[tuple[Any, str, Any]] = [
        (timezone, "now", CLOCK),
        (time, "monotonic", CLOCK.monotonic),
        (time, "time", lambda: CLOCK.time.timestamp()),
        (time, "time_ns", lambda: round(CLOCK.time.timestamp() * 1000) * 1_000_000),
        (time, "sleep", sleep),
        (os, "urandom", _chance.randbytes),
        (random, "_urandom", _chance.randbytes),  # of `secrets`
        (uuid_utils.compat, "uuid7", _uuid7),
    ]
    for module, name, simulated in replaced:
        setattr(module, name, simulated)
