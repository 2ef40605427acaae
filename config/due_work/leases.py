"""Leases of rows. A worker holds a row for ten seconds at a time. A heartbeat renews the lease during the work.

A leased row has two columns: the holder's `claim_id`, and `lease_until`. A worker claims a row by setting both columns,
if `is_free` is true for the row. To store a result, put the claim ID into the UPDATE's WHERE clause. Then an UPDATE by
a worker that lost its lease changes nothing.

- The database's clock decides when a lease ends, because a worker's clock may be wrong.
- A heartbeat renews a row only if it still has the worker's claim ID and its lease has not ended.
- A worker that can't reach the database stops ten seconds after the last renewal, by its own monotonic clock. In the
  database, the lease ends slightly later, so no other worker starts before this worker stops.
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
# If the work hangs, its rows are free after this time, which is longer than a task's hard time limit.
LONGEST = timedelta(seconds=60)

FREE: dict[str, Any] = {"claim_id": None, "lease_until": None}
"""The columns that release a lease."""


def is_free() -> Q:
    """Return the condition on rows that no worker holds."""
    return Q(lease_until__isnull=True) | Q(lease_until__lte=Now())


class Lease:
    """A lease of some rows of one model, under one claim ID. Thread-safe.

    `keys` are the keys of all rows that were claimed, even if the lease of some rows has ended since.
    """

    def __init__(
        self, model: type[Model], claim_id: uuid.UUID, keys: Iterable[Any], *, asked_at: float
    ) -> None:
        """`asked_at` is the value of `time.monotonic()` before the rows were claimed."""
        self.claim_id = claim_id
        self.keys = tuple(keys)
        self._model = model
        self._ends_at = asked_at + LONGEST.total_seconds()
        self._held_until = dict.fromkeys(self.keys, asked_at + DURATION.total_seconds())
        self._lock = threading.Lock()

    def holds(self, key: Any) -> bool:
        """Whether this worker still holds the row. Check it before each external call."""
        with self._lock:
            return time.monotonic() < self._held_until.get(key, 0)

    def end(self, key: Any) -> None:
        """Stop renewing the row's lease."""
        with self._lock:
            self._held_until.pop(key, None)

    @property
    def is_over(self) -> bool:
        """Whether there is no row left to renew."""
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
    """The thread that renews a process's leases, and runs only while the process has leases."""

    def __init__(self) -> None:
        self._leases: set[Lease] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def keep(self, lease: Lease) -> None:
        """Renew the lease until `release`, or until the lease is over."""
        if lease.is_over:
            return
        with self._lock:
            self._leases.add(lease)
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
                thread.start()
                self._thread = thread

    def release(self, lease: Lease) -> None:
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
                    # The next heartbeat tries again. Without renewal, the lease expires.
                    logger.warning("a lease could not be renewed", exc_info=True)
                    connections.close_all()
            # Each heartbeat uses a new connection. An old connection could leak, or be broken after an outage.
            connections.close_all()


_heartbeat = Heartbeat()


def _start_over() -> None:
    global _heartbeat
    _heartbeat = Heartbeat()


# Threads do not survive a fork.
os.register_at_fork(after_in_child=_start_over)


def keep(lease: Lease) -> None:
    """Renew the lease until `end` has been called for each row, but for at most a minute."""
    _heartbeat.keep(lease)


@contextmanager
def kept(lease: Lease) -> Iterator[None]:
    """Renew the lease inside the block. If a row is still leased after the block, its lease ends within ten seconds."""
    _heartbeat.keep(lease)
    try:
        yield
    finally:
        _heartbeat.release(lease)
