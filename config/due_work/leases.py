"""Leases: rows that one worker holds for a few seconds, renewed by a heartbeat while it works on them.

A leased row carries the holder's `claim_id` and a `lease_until`. To claim a row, write both columns under the
condition `is_free`. To write a result, name the claim id in the WHERE clause of the same UPDATE: a worker that lost
its lease changes nothing.

- The database's clock alone decides when a lease ends. A worker's clock may be wrong, or be set.
- A heartbeat renews only rows that still carry its claim id and whose leases have not ended.
- A worker counts a lease as held for ten seconds after its last successful renewal, by its monotonic clock. Without
  the database, it therefore stops before another worker can start.
"""

import logging
import os
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import connection, connections
from django.db.models import Model, Q
from django.db.models.functions import Now

from config.due_work.statements import STATEMENTS, filled_in

logger = logging.getLogger(__name__)

DURATION = timedelta(seconds=10)
HEARTBEAT_SECONDS = 2.5
# Limits how long hung work holds its rows. Longer than a task's hard time limit.
LONGEST = timedelta(seconds=60)

FREE: dict[str, Any] = {"claim_id": None, "lease_until": None}
"""The columns that release a lease."""


def is_free() -> Q:
    """Return the condition on rows that no worker holds."""
    return Q(lease_until__isnull=True) | Q(lease_until__lte=Now())


class Lease:
    """Rows of one model that this process leases under one claim ID. Thread-safe.

    `keys` are the keys of all rows that it ever leased.
    """

    def __init__(
        self, model: type[Model], claim_id: uuid.UUID, keys: Iterable[Any], *, asked_at: float
    ) -> None:
        """`asked_at` is `time.monotonic()` from before the statement that claimed the rows with these keys."""
        self.claim_id = claim_id
        self.keys = tuple(keys)
        self._model = model
        self._ends_at = asked_at + LONGEST.total_seconds()
        self._held_until = dict.fromkeys(self.keys, asked_at + DURATION.total_seconds())
        self._lock = threading.Lock()

    def holds(self, key: Any) -> bool:
        """Whether this worker certainly holds the row. Check before each external call."""
        with self._lock:
            return time.monotonic() < self._held_until.get(key, 0)

    def end(self, key: Any) -> None:
        """Stop renewing the row's lease."""
        with self._lock:
            self._held_until.pop(key, None)

    @property
    def is_over(self) -> bool:
        """Whether no leased row is left to renew."""
        with self._lock:
            return not self._held_until or time.monotonic() >= self._ends_at

    def renew(self) -> None:
        """Extend the lease of each row that is still held. Raises DatabaseError."""
        with self._lock:
            keys = list(self._held_until)
        asked_at = time.monotonic()
        with connection.cursor() as cursor:
            values: dict[str, Any] = {"keys": keys, "claim_id": self.claim_id, "duration": DURATION}
            cursor.execute(filled_in(STATEMENTS["renew"], self._model), values)
            renewed = {row[0] for row in cursor.fetchall()}
        with self._lock:
            for key in renewed & self._held_until.keys():
                self._held_until[key] = asked_at + DURATION.total_seconds()


class Heartbeat:
    """A thread that renews a process's leases. It runs only while there are any."""

    def __init__(self) -> None:
        self._leases: set[Lease] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def keep(self, lease: Lease) -> None:
        """Renew the lease until it is released or ends."""
        if lease.is_over:
            return
        with self._lock:
            self._leases.add(lease)
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
                thread.start()
                self._thread = thread

    def release(self, lease: Lease) -> None:
        """Stop renewing the lease."""
        with self._lock:
            self._leases.discard(lease)

    def _run(self) -> None:
        while True:
            time.sleep(HEARTBEAT_SECONDS)
            with self._lock:
                self._leases = {lease for lease in self._leases if not lease.is_over}
                leases = list(self._leases)
                if not leases:
                    self._thread = None
                    return
            for lease in leases:
                try:
                    lease.renew()
                except Exception:
                    # The next heartbeat retries; unrenewed leases expire.
                    logger.warning("a lease could not be renewed", exc_info=True)
                    connections.close_all()
            # A new connection per heartbeat, so that none leaks or is stale after an outage.
            connections.close_all()


_heartbeat = Heartbeat()


def _start_over() -> None:
    global _heartbeat
    _heartbeat = Heartbeat()


# A thread does not survive a fork.
os.register_at_fork(after_in_child=_start_over)


def keep(lease: Lease) -> None:
    """Renew the lease until `end` was called for each of its rows, but for at most a minute."""
    _heartbeat.keep(lease)


@contextmanager
def kept(lease: Lease) -> Iterator[None]:
    """Renew the lease inside the block. Rows that are still leased after the block are free within ten seconds."""
    _heartbeat.keep(lease)
    try:
        yield
    finally:
        _heartbeat.release(lease)
