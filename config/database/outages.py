"""Distinguish outages of PostgreSQL from programming errors, by SQLSTATE.

The codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

import logging
from collections.abc import Iterator

import psycopg
from django.db import InterfaceError, OperationalError
from redis import RedisError

from config.logs import OncePerMinute

# The server is read-only: it became a standby, its disk is full, or an operator made it so.
READ_ONLY = "25006"

# Classes of SQLSTATE codes. 08: lost connections. 40: rolled back transactions (deadlocks). 53: insufficient resources
# (a full disk, too many connections). 57: interventions (shutdowns, starts, cancelled statements). 58: errors of the
# server's operating system.
_CLASSES = frozenset(("08", "40", "53", "57", "58"))
# Codes outside these classes that are outages too. 25P03 and 25P04: a transaction took too long, and the server closed
# its connection.
# 55P03: another transaction held a lock for too long. psycopg's exception doesn't help: for codes in class 25 it is
# InternalError, as for programming errors.
_CODES = frozenset((READ_ONLY, "25P03", "25P04", "55P03"))

_UNAVAILABLE = 503
# Outages that affect every transaction.
_LASTING = (READ_ONLY, "08", "53", "57P", "58")


def is_outage(exception: BaseException | None) -> bool:
    """Return whether a later attempt may succeed.

    The SQLSTATE decides. An error without a SQLSTATE comes from the driver, which raises OperationalError or
    InterfaceError if the connection failed or was lost.
    """
    for error in _driver_errors(exception):
        if error.sqlstate is not None:
            return error.sqlstate in _CODES or error.sqlstate[:2] in _CLASSES
    return isinstance(
        exception, OperationalError | InterfaceError | psycopg.OperationalError | psycopg.InterfaceError
    )


def _driver_errors(exception: BaseException | None) -> Iterator[psycopg.Error]:
    while exception is not None:
        if isinstance(exception, psycopg.Error):
            yield exception
        exception = exception.__cause__


class OutagesInOneLine(OncePerMinute):
    """Log an outage of PostgreSQL or Redis once a minute, in one line without a traceback.

    During an outage, every call, task and thread fails and logs an error. A deadlock or a timeout is different: it
    concerns one transaction, and is logged with its traceback.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", None) == _UNAVAILABLE:
            return super().filter(record)
        exception = record.exc_info[1] if record.exc_info else None
        (*_, cause) = (exception, *_driver_errors(exception))
        state = getattr(cause, "sqlstate", None)
        is_lasting = is_outage(exception) and (state is None or state.startswith(_LASTING))
        if not is_lasting and not isinstance(exception, RedisError):
            return True
        if not super().filter(record):
            return False
        record.msg = f"{record.msg}: {type(cause).__name__}"
        return True
