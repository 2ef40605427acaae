"""The database backend (`ENGINE`): Django's own, but for how the pool finds out that a connection was lost.

Django's check sends a statement each time that a request gets a connection. A server that ended the connection has
closed its socket, which can be seen without a round trip. One that vanished without closing it, as a machine without
power does, is found out by the kernel within about ten seconds: Linux by itself would wait for a quarter of an hour, or
for two hours where nothing is under way.
"""

import select
from typing import Any

from django.db.backends.postgresql import base
from django.db.backends.utils import CursorWrapper
from psycopg import Connection, OperationalError

from config.database.keepalives import OURS
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


class DatabaseWrapper(base.DatabaseWrapper):
    """Connections of a pool that looks at the socket instead of sending a statement, and that notice a lost peer."""

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
