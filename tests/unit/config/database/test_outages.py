"""The SQLSTATE decides whether a PostgreSQL error is an outage, not the exception's class."""

import logging

import psycopg
import pytest
from django.db import InterfaceError, InternalError, OperationalError, ProgrammingError
from psycopg import errors
from psycopg_pool import PoolTimeout
from redis.exceptions import ConnectionError as RedisConnectionError

from config.database.outages import OutagesInOneLine, is_outage

OUTAGES = (
    "25006 25P03 25P04 57P01 57P02 57P03 57P05 57014 53000 53100 53200 53300 40001 40P01 55P03 58030 08006"
)
MISTAKES = "25P02 25001 54001 55000 22P02 23505 42601 42P01 XX000 P0001"


@pytest.mark.parametrize("sqlstate", OUTAGES.split())
def test_error_that_passes_is_an_outage(sqlstate: str) -> None:
    assert is_outage(errors.lookup(sqlstate)("secret"))


@pytest.mark.parametrize("sqlstate", MISTAKES.split())
def test_error_that_repeats_is_no_outage(sqlstate: str) -> None:
    assert not is_outage(errors.lookup(sqlstate)("secret"))


@pytest.mark.parametrize(
    "error",
    [psycopg.OperationalError("lost"), PoolTimeout(), OperationalError("lost"), InterfaceError("lost")],
)
def test_lost_connection_without_sqlstate_is_an_outage(error: Exception) -> None:
    assert is_outage(error)


@pytest.mark.parametrize("error", [None, ValueError(), ProgrammingError("text"), psycopg.ProgrammingError()])
def test_other_error_is_no_outage(error: Exception | None) -> None:
    assert not is_outage(error)


def test_sqlstate_of_the_cause_decides_over_the_class() -> None:
    passing, lasting = InternalError("secret"), OperationalError("secret")
    passing.__cause__, lasting.__cause__ = errors.ReadOnlySqlTransaction(), errors.StatementTooComplex()
    assert is_outage(passing)
    assert not is_outage(lasting)


def lines(*exceptions: BaseException) -> list[str]:
    """Return the log lines if calls fail with these errors, one after another."""
    once, logged = OutagesInOneLine(clock=lambda: 0.0), []
    for exception in exceptions:
        info = (type(exception), exception, None)
        record = logging.LogRecord("calls", logging.ERROR, __file__, 1, "%s failed", ("a call",), info)
        if once.filter(record):
            logged.append(logging.Formatter().format(record))
    return logged


def in_django(error: psycopg.Error) -> InternalError:
    wrapped = InternalError("secret")
    wrapped.__cause__ = error
    return wrapped


def test_outage_is_logged_in_one_line_a_minute() -> None:
    read_only = in_django(errors.ReadOnlySqlTransaction("secret"))
    assert lines(read_only, read_only, read_only) == ["a call failed: ReadOnlySqlTransaction"]
    refused = RedisConnectionError("secret")
    assert lines(refused, refused) == ["a call failed: ConnectionError"]


@pytest.mark.parametrize("error", [ValueError("a bug"), in_django(errors.DeadlockDetected("who with"))])
def test_error_of_one_call_keeps_its_traceback(error: Exception) -> None:
    logged = lines(error, error)
    assert len(logged) == 2
    assert all(str(error) in each for each in logged)


@pytest.mark.parametrize(("status", "shown"), [(503, 1), (500, 2)])
def test_unavailable_responses_are_logged_once_a_minute(status: int, shown: int) -> None:
    once, fields = OutagesInOneLine(clock=lambda: 0.0), {"msg": "Path", "status_code": status, "levelno": 40}
    assert sum(once.filter(logging.makeLogRecord(fields)) for _ in range(2)) == shown
