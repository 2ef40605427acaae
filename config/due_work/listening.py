"""PostgreSQL notifications: processes learn within milliseconds of a change that another one made.

A notification is only a hint: a process that is not listening misses it. Code that acts on notifications also polls
for due rows, or uses its copy only while `Listener.is_current` shows that no change was missed.
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

# The interval at which an idle connection proves that it is alive, and the validity of that proof.
PROOF_SECONDS = 0.4
CURRENT_SECONDS = 1.0
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0


class Channel(StrEnum):
    """The kinds of changes that notifications announce. The payload is the ID of the changed object, or empty."""

    SETTINGS = "quittance_settings"
    """A chain, a token or a merchant was changed. Sent by triggers, in the transaction of the change."""
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
        """Send it in a separate transaction that doesn't wait for the disk: a lost notification only costs time."""
        try:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, payload)"
                    " FROM unnest(%s::text[]) AS payload",
                    [self.channel.value, list(self.payloads)],
                )
        except Error:
            # The change is committed, so the error must not be raised. `robust=True` of `on_commit` can't suppress it:
            # Django would log this object's `__qualname__`, which it doesn't have.
            logger.warning("a notification on %s could not be sent", self.channel, exc_info=True)


def notify(channel: Channel, *payloads: str) -> None:
    """Notify all listeners of each payload once the current transaction commits, or at once outside one.

    Without a payload, it announces the channel alone.

    Repeating a notification within a transaction sends it once. It is sent after the commit, in a transaction of its
    own: PostgreSQL serialises the commits of transactions that notify. A failure is logged and changes nothing else.
    """
    notification = _Notification(channel, payloads or ("",))
    savepoints = set(connection.savepoint_ids)
    if not any(entry[:2] == (savepoints, notification) for entry in connection.run_on_commit):
        transaction.on_commit(notification)


class Listener:
    """A thread with its own connection that calls a handler for each notification.

    Handlers run in that thread and must return at once. `on_gap` is called when notifications may have been missed:
    after each new connection.
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
        """Begin listening. Call it in the process that uses it: a thread does not survive a fork."""
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
        """Whether each notification up to a second ago has been handled."""
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
                # This may be a new primary. The pool may still have connections to the old one, which became a standby.
                connection.drain_pool()  # type: ignore[attr-defined]  # of our own backend
            while not self._stopping.is_set():
                asked_at = time.monotonic()
                require_primary(mine)  # PostgreSQL sends pending notifications with the response
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

    A primary that became a standby keeps its connections open. It sends no notifications, and its locks exclude no one.
    """
    row = mine.execute("SHOW transaction_read_only").fetchone()
    if row is None or row[0] != "off":
        raise psycopg.OperationalError("the server is read-only")


def connect() -> psycopg.Connection[Any]:
    """Connect without a pooler: a transaction pooler would drop the session's LISTEN."""
    if settings.DATABASE_LISTEN_URL:
        return psycopg.connect(settings.DATABASE_LISTEN_URL, autocommit=True, **OURS)
    return psycopg.connect(**{**connection.get_connection_params(), "autocommit": True})
