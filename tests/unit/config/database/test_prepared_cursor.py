"""Statements are prepared once per connection. They still work after a migration changes a table."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings
from django.db import NotSupportedError, connection, transaction

from config.database.compiled_query import run
from merchants.models import Merchant

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = "SELECT name FROM changing"


@pytest.fixture
def table() -> Iterator[None]:
    run("CREATE TEMPORARY TABLE changing (name varchar(10))", [])
    yield
    run("DROP TABLE changing", [])


def widen() -> None:
    """Change the column as another connection would. psycopg doesn't recognise this as ALTER, so it keeps its
    statements.
    """
    run("DO $$ BEGIN ALTER TABLE changing ALTER name TYPE varchar(20); END $$", [])


def prepared() -> list[str]:
    """Return the statements that PostgreSQL has prepared for this connection."""
    connection.ensure_connection()
    plain: psycopg.Cursor[Any] = psycopg.Cursor(connection.connection)
    return [row[0] for row in plain.execute("SELECT statement FROM pg_prepared_statements").fetchall()]


def test_a_statement_is_prepared_once_and_the_orms_never_are() -> None:
    for _ in range(10):
        assert run("SELECT 2 * %s::int", [6]).fetchone() == (12,)
        list(Merchant.objects.filter(name="One"))
    kept = prepared()
    assert kept.count("SELECT 2 * $1::int") == 1
    assert not [sql for sql in kept if "'One'" in sql]


def test_nothing_is_prepared_where_there_is_a_pooler(settings: LazySettings) -> None:
    settings.DATABASE_LISTEN_URL = "postgresql://past-the-pooler/quittance"
    assert run("SELECT 3 * %s::int", [6]).fetchone() == (18,)
    assert "SELECT 3 * $1::int" not in prepared()


def test_statement_still_works_after_its_column_type_changes(table: None) -> None:
    run(NAMES, [])
    run("INSERT INTO changing VALUES ('One')", [])
    widen()
    for _ in range(2):
        assert run(NAMES, []).fetchall() == [("One",)]


def test_changed_statement_fails_in_transaction_until_rollback(table: None) -> None:
    run(NAMES, [])
    widen()
    with pytest.raises(NotSupportedError), transaction.atomic():
        run(NAMES, [])
    with transaction.atomic():
        assert run(NAMES, []).fetchall() == []


def test_a_time_is_in_utc_as_the_orm_reads_it() -> None:
    (read,) = run("SELECT '2026-11-25 23:59:59.25+05'::timestamptz", []).fetchone() or ()
    assert read == datetime(2026, 11, 25, 18, 59, 59, 250_000, tzinfo=UTC)
    assert read.tzinfo is UTC
