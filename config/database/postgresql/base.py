"""Django's database backend, with a cheaper check for lost pool connections, and without read-only connections.

Django's check sends a statement each time a request gets a connection. A server that ended the connection has closed
its socket, which this backend sees without a round trip. The kernel notices a lost server within about ten seconds
(`config.environment.keepalives`).

A primary that becomes a standby keeps its connections open and rejects their writes. After such an error, all
connections of the pool are closed, and new ones reach the new primary by DNS, a proxy or `target_session_attrs`.
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
    """Django's translation of errors, which also closes connections to a read-only server."""

    wrapper: "DatabaseWrapper"

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if getattr(exc_value, "sqlstate", None) == READ_ONLY:
            self.wrapper.leave_server()
        super().__exit__(exc_type, exc_value, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    """Connections of a pool that checks the socket instead of sending a statement."""

    # While every server is read-only, each write would otherwise replace all connections.
    _DRAIN_PAUSE_SECONDS = 1.0
    _drained_at: ClassVar[float] = 0.0

    @cached_property
    def wrap_database_errors(self) -> _ErrorWrapper:
        return _ErrorWrapper(self)

    def leave_server(self) -> None:
        """Close this connection and those of the pool. The thread gets a new one when it next needs one."""
        if self.connection is not None:
            # Closed in the driver, so that Django treats it as closed by the server.
            self.connection.close()
        if time.monotonic() - DatabaseWrapper._drained_at > self._DRAIN_PAUSE_SECONDS:
            self.drain_pool()

    def drain_pool(self) -> None:
        """Close the connections of the pool; those in use are closed when they are returned."""
        DatabaseWrapper._drained_at = time.monotonic()
        if self.pool is not None:
            self.pool.drain()

    def get_connection_params(self) -> dict[str, Any]:
        """Return libpq's parameters; `DATABASE_URL` overrides them."""
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
