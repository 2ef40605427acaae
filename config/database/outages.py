"""Distinguish outages of PostgreSQL from programming errors, by SQLSTATE.

The codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

from collections.abc import Iterator

import psycopg
from django.db import InterfaceError, OperationalError

# A primary that became a standby, or that an operator or a full disk made read-only. psycopg raises InternalError for
# it, as for programming errors.
READ_ONLY = "25006"


def is_outage(exception: BaseException | None) -> bool:
    """Return whether a later attempt may succeed.

    True for a lost connection, a server that stops, starts or lacks resources, a deadlock, and a read-only server.
    """
    if isinstance(exception, OperationalError | InterfaceError):
        return True
    return any(error.sqlstate == READ_ONLY for error in _driver_errors(exception))


def _driver_errors(exception: BaseException | None) -> Iterator[psycopg.Error]:
    while exception is not None:
        if isinstance(exception, psycopg.Error):
            yield exception
        exception = exception.__cause__
