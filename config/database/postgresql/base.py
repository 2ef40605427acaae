"""The database backend (`ENGINE`): Django's, with a cheaper check for lost connections, and without read-only ones.

Django's check sends a statement each time that a request gets a connection. A server that ended the connection has
closed its socket, which can be seen without a round trip. One that vanished without closing it, as a machine without
power does, is found out by the kernel within about ten seconds: Linux by itself would wait for a quarter of an hour, or
for two hours where nothing is under way.

A primary that becomes a standby keeps its connections open and rejects their writes. A connection that says so is
closed, and so are all others of its pool: new ones reach the new primary, by DNS, a proxy or `target_session_attrs`.
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
    """Raise OperationalError if the server has closed the connection, or sent what was not asked for."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    if poll.poll(0):
        connection.close()
        raise OperationalError("the server closed the connection")


class _TracedCursor(CursorWrapper):
    """A cursor whose statements are part of the piece of work that executes them."""

    def execute(self, sql: Any, params: Any = None) -> Any:
        """Execute the statement."""
        with recording.statement(sql):
            return super().execute(sql, params)

    def executemany(self, sql: Any, param_list: Any) -> Any:
        """Execute the statement with each of the parameters."""
        with recording.statement(sql):
            return super().executemany(sql, param_list)


class _ErrorWrapper(DatabaseErrorWrapper):
    """Django's translation of errors, which also leaves a read-only server."""

    wrapper: "DatabaseWrapper"

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        """Close the connections to a server that rejects writes, and translate the error."""
        if getattr(exc_value, "sqlstate", None) == READ_ONLY:
            self.wrapper.leave_server()
        super().__exit__(exc_type, exc_value, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    """Connections of a pool that looks at the socket instead of sending a statement, and that notice a lost peer."""

    # While every server is read-only, each write would otherwise replace all connections.
    _DRAIN_PAUSE_SECONDS = 1.0
    _drained_at: ClassVar[float] = 0.0

    @cached_property
    def wrap_database_errors(self) -> _ErrorWrapper:
        """The translation of errors."""
        return _ErrorWrapper(self)

    def leave_server(self) -> None:
        """Close this connection and those of the pool. The thread gets a new one when it next needs one."""
        if self.connection is not None:
            # The driver's own close: Django finds it closed later, as if the server had closed it.
            self.connection.close()
        now = time.monotonic()
        if self.pool is not None and now - DatabaseWrapper._drained_at > self._DRAIN_PAUSE_SECONDS:
            DatabaseWrapper._drained_at = now
            self.pool.drain()

    def get_connection_params(self) -> dict[str, Any]:
        """Return libpq's parameters; those of `DATABASE_URL` win."""
        return {**OURS, **super().get_connection_params()}

    def make_cursor(self, cursor: Any) -> CursorWrapper:
        """Return Django's cursor, traced while a piece of work is."""
        return _TracedCursor(cursor, self) if recording.current() else super().make_cursor(cursor)

    @property
    def pool(self) -> Any:
        """The pool, made by Django."""
        is_new = self.alias not in self._connection_pools  # type: ignore[attr-defined]
        pool = super().pool
        if pool is not None and is_new:
            pool._check = check_socket
        return pool
