"""Django's PostgreSQL backend with two changes: a cheaper check of connections, and no connections to a standby.

Django checks a pool's connection with a statement, each time a request gets one. This backend only checks whether the
server has closed the socket, without a round trip. If the server is unreachable, the kernel notices it within about ten
seconds (`config.environment.keepalives`).

A primary that becomes a standby keeps its connections open, but rejects writes. After such an error, this backend
closes all connections of the pool. New connections reach the new primary by DNS, a proxy or `target_session_attrs`.
"""

import select
import time
from typing import Any, ClassVar

from django.db.backends.postgresql import base
from django.db.backends.utils import CursorWrapper
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property
from psycopg import Connection, OperationalError

from config.database.outages import READ_ONLY
from config.environment.keepalives import OURS
from config.tracing import recording


def check_socket(connection: Connection[Any]) -> None:
    """Raise OperationalError if the server has closed the connection or sent unexpected data."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    if poll.poll(0):
        connection.close()
        raise OperationalError("the server closed the connection")


class _TracedCursor(CursorWrapper):
    """A cursor that records its statements in the current trace."""

    def execute(self, sql: Any, params: Any = None) -> Any:
        with recording.statement(sql):
            return super().execute(sql, params)

    def executemany(self, sql: Any, param_list: Any) -> Any:
        with recording.statement(sql):
            return super().executemany(sql, param_list)


class _ErrorWrapper(DatabaseErrorWrapper):
    """Translates errors as Django does. If the server is read-only, it also closes the connections."""

    wrapper: "DatabaseWrapper"

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if getattr(exc_value, "sqlstate", None) == READ_ONLY:
            self.wrapper.leave_server()
        super().__exit__(exc_type, exc_value, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper, with a pool that checks the socket instead of sending a statement."""

    # The minimum time between two replacements of all connections. Otherwise, if every server is read-only, each failed
    # write would replace all connections.
    _DRAIN_PAUSE_SECONDS = 1.0
    _drained_at: ClassVar[float] = 0.0

    @cached_property
    def wrap_database_errors(self) -> _ErrorWrapper:
        return _ErrorWrapper(self)

    def leave_server(self) -> None:
        """Close this connection and those of the pool. The thread's next statement opens a new connection."""
        if self.connection is not None:
            # Close the connection in the driver. Django then handles it like a connection that the server closed.
            self.connection.close()
        if time.monotonic() - DatabaseWrapper._drained_at > self._DRAIN_PAUSE_SECONDS:
            self.drain_pool()

    def drain_pool(self) -> None:
        """Close the connections of the pool. A connection in use is closed when its thread returns it."""
        DatabaseWrapper._drained_at = time.monotonic()
        if self.pool is not None:
            self.pool.drain()

    def get_connection_params(self) -> dict[str, Any]:
        """Return the parameters for libpq. `DATABASE_URL` overrides ours."""
        return {**OURS, **super().get_connection_params()}

    def make_cursor(self, cursor: Any) -> CursorWrapper:
        return _TracedCursor(cursor, self) if recording.current() else super().make_cursor(cursor)

    @property
    def pool(self) -> Any:
        is_new = self.alias not in self._connection_pools  # type: ignore[attr-defined]
        pool = super().pool
        if pool is not None and is_new:
            pool._check = check_socket
        return pool
