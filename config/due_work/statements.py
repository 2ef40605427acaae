"""Read SQL statements from files. Each statement has a name and a comment."""

import re
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import Model
from psycopg import sql

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)


def read_statements(file: Path) -> dict[str, str]:
    """Return the statements of the file by name, without comments. Call it once, when a module is loaded."""
    _, *parts = _NAME.split(file.read_text())
    return {name: _COMMENT.sub("", body).strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def filled_in(statement: str, model: type[Model], **expressions: str) -> str:
    """Replace the words in braces by the model's table, its key, and these SQL expressions."""
    key: Any = model._meta.pk
    composed = sql.SQL(statement).format(
        key=sql.Identifier(key.column),
        table=sql.Identifier(model._meta.db_table),
        type=sql.SQL(key.rel_db_type(connection)),
        **{name: sql.SQL(expression) for name, expression in expressions.items()},
    )
    return composed.as_string()


STATEMENTS = read_statements(Path(__file__).with_name("statements.sql"))
