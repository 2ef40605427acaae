"""Update many rows with one statement. Each row gets its own values."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.db import connection
from django.db.models import Field, Model
from psycopg import sql


def update_each(
    model: type[Model], rows: Mapping[Any, Mapping[str, Any]], *, guard: Mapping[str, Any]
) -> set[Any]:
    """Write each row's fields, by primary key. Return the keys of the rows that were written.

    A row is written only if its values in the database match `guard`. Rows with the same fields share one
    statement.
    """
    by_fields: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    for key, fields in rows.items():
        by_fields[tuple(sorted(fields))].append(key)
    written: set[Any] = set()
    for names, keys in by_fields.items():
        # Write in the order of the keys. So concurrent statements lock rows in the same order.
        written |= _update(model, names, {key: rows[key] for key in sorted(keys)}, guard)
    return written


def _update(
    model: type[Model],
    names: tuple[str, ...],
    rows: Mapping[Any, Mapping[str, Any]],
    guard: Mapping[str, Any],
) -> set[Any]:
    key: Any = model._meta.pk
    values: dict[str, Any] = {"key": [_prepared(key, each) for each in rows]}
    arrays, assignments = [(key, "key")], []
    for name in names:
        field: Any = model._meta.get_field(name)
        column = [_prepared(field, fields[name]) for fields in rows.values()]
        if column.count(column[0]) == len(column):
            values[name] = column[0]
            value = sql.SQL("{}::{}").format(sql.Placeholder(name), _type(field))
        else:
            values[name] = column
            arrays.append((field, name))
            value = sql.SQL("{}").format(sql.Identifier("new", name))
        assignments.append(sql.SQL("{} = {}").format(sql.Identifier(field.column), value))
    conditions = [sql.SQL("target.{} = new.key").format(sql.Identifier(key.column))]
    for name, expected in guard.items():
        field = model._meta.get_field(name)
        values[f"guard {name}"] = _prepared(field, expected)
        conditions.append(
            sql.SQL("target.{} = {}").format(sql.Identifier(field.column), sql.Placeholder(f"guard {name}"))
        )
    statement = sql.SQL(
        "UPDATE {table} AS target SET {assignments} FROM unnest({arrays}) AS new ({names})"
        " WHERE {conditions} RETURNING target.{key}"
    ).format(
        table=sql.Identifier(model._meta.db_table),
        assignments=sql.SQL(", ").join(assignments),
        arrays=sql.SQL(", ").join(
            sql.SQL("{}::{}[]").format(sql.Placeholder(name), _type(field)) for field, name in arrays
        ),
        names=sql.SQL(", ").join(sql.Identifier(name) for _, name in arrays),
        conditions=sql.SQL(" AND ").join(conditions),
        key=sql.Identifier(key.column),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return {each for (each,) in cursor.fetchall()}


def _prepared(field: Field[Any, Any], value: Any) -> Any:
    """Return the value as the driver sends it. For a related object, return the object's key."""
    if hasattr(value, "prepare_database_save"):
        return value.prepare_database_save(field)
    return field.get_db_prep_save(value, connection)


def _type(field: Field[Any, Any]) -> sql.SQL:
    """Return the column's type without its length. A cast to `varchar(16)` would truncate without an error."""
    return sql.SQL((field.db_type(connection) or "").partition("(")[0])
