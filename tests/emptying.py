"""Empty the tables after a test that commits. Only tables with rows are emptied; Django's own rows stay.

TRUNCATE writes new files for each of 50 tables, even for empty ones. That takes longer than most of these
tests.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.core.management.commands import flush
from django.db import OperationalError, connections, transaction

# Content types and permissions. Migrations write these rows, and no test changes them.
_KEPT = frozenset({"django_content_type", "auth_permission", "django_migrations"})
_MAX_DEADLOCKS = 5
# `replica` turns the checks of foreign keys off, so the order doesn't matter.
_EMPTY = """
DO $$
DECLARE
    name text;
    has_rows boolean;
BEGIN
    SET LOCAL session_replication_role = replica;
    SET LOCAL lock_timeout = '20s';
    FOREACH name IN ARRAY ARRAY[{names}]::text[] LOOP
        EXECUTE format('LOCK TABLE %I IN SHARE ROW EXCLUSIVE MODE', name);
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', name) INTO has_rows;
        IF has_rows THEN
            EXECUTE format('DELETE FROM %I', name);
        END IF;
    END LOOP;
END
$$
"""


@pytest.fixture(scope="session", autouse=True)
def empty_tables_quickly() -> Iterator[None]:
    """Replace the statements of Django's `flush`, which runs after each test that commits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flush, "sql_flush", _statements)
        patch.setattr(flush, "emit_post_migrate_signal", _nothing_to_fill)
        patch.setattr("django.db.backends.base.operations.BaseDatabaseOperations.execute_sql_flush", _execute)
        yield


def _statements(_style: object, connection: Any, **_options: bool) -> list[str]:
    names = sorted(set(connection.introspection.django_table_names(only_existing=True)) - _KEPT)
    return [_EMPTY.format(names=", ".join(f"'{name}'" for name in names))]


def _execute(operations: Any, statements: list[str]) -> None:
    """Run the statements. Retry after a deadlock: a closed page's request may still be reading."""
    for _ in range(_MAX_DEADLOCKS):
        with suppress(OperationalError):
            return _execute_once(operations, statements)
    return _execute_once(operations, statements)


def _execute_once(operations: Any, statements: list[str]) -> None:
    alias = operations.connection.alias
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _nothing_to_fill(*_arguments: object, **_options: object) -> None:
    """Do nothing, because the rows that the signal's receivers write are still there."""
