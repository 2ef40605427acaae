"""PostgreSQL's notifications. A process announces a change, and the other processes learn about it within milliseconds.

A process misses a notification while its connection is down. So never rely on notifications alone. Code that waits for
due rows also polls. Code that caches rows checks `Listener.is_current` before it uses a cached row.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import psycopg
from django.conf import settings
from django.db import Error, connection, transaction
from psycopg import sql

from config.backoff import doubled
from config.environment.keepalives import OURS

logger = logging.getLogger(__name__)

# An idle connection is checked every 0.4 s. For 1 s after a successful check, the connection is considered alive.
PROOF_SECONDS = 0.4
CURRENT_SECONDS = 1.0
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0


class Channel(StrEnum):
    """The kinds of changes. A notification's payload is the ID of the changed object, or empty."""

    SETTINGS = "quittance_settings"
    """A chain, a token or a merchant changed. Triggers in the database send this notification."""
    REQUESTS = "quittance_requests"
    """The checkout of a payment request changed. The payload is the request's ID."""
    PAYMENTS = "quittance_payments"
    """Payments are due for verification. The payload is the ID of the chain on which they are looked up."""
    DELIVERIES = "quittance_deliveries"
    """A webhook delivery is due."""


@dataclass(frozen=True)
class _Notification:
    channel: Channel
    payloads: tuple[str, ...]

    def __call__(self) -> None:
        """Send the notification in its own transaction.

        The commit doesn't wait for the disk: if a notification is lost, the other processes only learn of the change
        later.
        """
        try:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, payload)"
                    " FROM unnest(%s::text[]) AS payload",
                    [self.channel.value, list(self.payloads)],
                )
        except Error:
            # The change is committed, so the caller must not get this error. `on_commit(robust=True)` doesn't work
            # here, because Django would log the `__qualname__` of this object, which has none.
            logger.warning("a notification on %s could not be sent", self.channel, exc_info=True)


def notify(channel: Channel, *payloads: str) -> None:
    """Send a notification for each payload after the current transaction commits.

    Outside a transaction, send it at once.

    Without payloads, send one notification with an empty payload.

    If a transaction repeats a notification, it is sent once. Notifications have a transaction of their own, because
    PostgreSQL commits transactions with notifications one after another. A failure is logged, but not raised.
    """
    notification = _Notification(channel, payloads or ("",))
    savepoints = set(connection.savepoint_ids)
    if not any(entry[:2] == (savepoints, notification) for entry in connection.run_on_commit):
        transaction.on_commit(notification)


class Listener:
    """A thread with its own connection that calls a handler for each notification.

    Handlers run in this thread, so they must return at once. Each time the thread connects, it calls `on_gap`, because
    it may have missed notifications before.
    """

    def __init__(
        self,
        handlers: Mapping[Channel, Callable[[str], None]],
        *,
        on_gap: Callable[[], None] = lambda: None,
    ) -> None:
        self._handlers = dict(handlers)
        self._on_gap = on_gap
        self._current_until = 0.0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failures = 0

    def start(self) -> None:
        """Begin listening. Call it after a fork, because threads do not survive a fork."""
        self._thread = threading.Thread(target=self._run, name="notifications", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and its connection."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._current_until = 0.0

    @property
    def is_current(self) -> bool:
        """Whether all notifications older than a second have been handled."""
        return time.monotonic() < self._current_until

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._listen()
            except psycopg.Error as error:
                if not self._failures:
                    logger.warning("notifications are not received: %s", type(error).__name__)
                self._failures += 1
            self._current_until = 0.0
            self._stopping.wait(doubled(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, self._failures - 1))

    def _listen(self) -> None:
        with connect() as mine:
            require_primary(mine)
            for channel in self._handlers:
                mine.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel.value)))
            self._on_gap()
            if self._failures:
                logger.warning("notifications are received again")
                self._failures = 0
                # After a failure, the server may be a new primary. Close the pool's connections to the old primary.
                connection.drain_pool()  # type: ignore[attr-defined]  # of our own backend
            while not self._stopping.is_set():
                asked_at = time.monotonic()
                require_primary(mine)  # psycopg also receives pending notifications with the response
                self._handle_all(mine, seconds=0)
                self._current_until = asked_at + CURRENT_SECONDS
                self._handle_all(mine, seconds=PROOF_SECONDS)

    def _handle_all(self, mine: psycopg.Connection[Any], *, seconds: float) -> None:
        for notification in mine.notifies(timeout=seconds):
            try:
                self._handlers[Channel(notification.channel)](notification.payload)
            except Exception:
                logger.exception("a notification on %s could not be handled", notification.channel)
            if self._stopping.is_set():
                return


def require_primary(mine: psycopg.Connection[Any]) -> None:
    """Raise OperationalError if the server is read-only.

    A primary that becomes a standby keeps its connections open. But it sends no notifications, and its locks have no
    effect on the new primary.
    """
    row = mine.execute("SHOW transaction_read_only").fetchone()
    if row is None or row[0] != "off":
        raise psycopg.OperationalError("the server is read-only")


def connect() -> psycopg.Connection[Any]:
    """Connect without a pooler, because a transaction pooler would drop LISTEN."""
    if settings.DATABASE_LISTEN_URL:
        return psycopg.connect(settings.DATABASE_LISTEN_URL, autocommit=True, **OURS)
    return psycopg.connect(**{**connection.get_connection_params(), "autocommit": True})
