"""Statements are read from `.sql` files by name, without their comments."""

from pathlib import Path

import pytest

from config.due_work.statements import filled_in, read_statements
from payments.models import Payment


def test_each_statement_is_read_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "two.sql"
    file.write_text(
        "-- About both: 100%.\n\n-- name: first\n-- Why {so}.\nSELECT 1\n  -- within\nFROM a\n\n"
        "-- name: second\nSELECT 2\n"
    )
    assert read_statements(file) == {"first": "SELECT 1\nFROM a", "second": "SELECT 2"}


def test_table_and_key_are_filled_in_as_identifiers() -> None:
    statement = "SELECT {key}::{type} FROM {table} WHERE {due} <= %(now)s"
    assert filled_in(statement, Payment, due="next_check_at") == (
        'SELECT "id"::varchar(28) FROM "payments_payment" WHERE next_check_at <= %(now)s'
    )


def test_unknown_place_is_an_error() -> None:
    with pytest.raises(KeyError, match="nothing"):
        filled_in("SELECT {nothing}", Payment)
