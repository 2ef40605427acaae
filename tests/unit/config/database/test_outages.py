"""Which errors of PostgreSQL are outages, by SQLSTATE and not by exception class."""

import psycopg
import pytest
from django.db import InternalError, OperationalError, ProgrammingError
from psycopg import errors
from psycopg_pool import PoolTimeout

from config.database.outages import is_outage

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


@pytest.mark.parametrize("error", [psycopg.OperationalError("lost"), PoolTimeout(), OperationalError("lost")])
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
