"""Compile ORM queries once, and execute their SQL with new values as prepared statements.

The rows become model instances as usual. Without this module, reading a payment request takes 0.86 ms of CPU. With it,
a read takes 0.04 ms, and a whole create takes 0.82 ms.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Generic, TypeVar
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.db.models import (
    AutoField,
    BooleanField,
    CharField,
    DateTimeField,
    Model,
    QuerySet,
    TextField,
    UUIDField,
)
from django.db.models.base import ModelState

from config.database.prepared_cursor import PreparedCursor
from config.tracing import recording

M = TypeVar("M", bound=Model)

Read = Callable[[Any], Any]

# For each class of fields: a type of values that Django stores unchanged. Skipping Django's conversion saves time.
_STORED_AS_THEY_ARE: dict[type[Any], type[Any]] = {
    BooleanField: bool,
    CharField: str,
    DateTimeField: datetime,
    TextField: str,
    UUIDField: UUID,
}


def run(sql: str, values: Sequence[Any] | Mapping[str, Any]) -> psycopg.Cursor[Any]:
    """Execute a statement on this thread's connection and return its cursor.

    The statement is prepared, except behind a pooler (DATABASE_LISTEN_URL). Raises Django's database errors.
    """
    ours = connections[DEFAULT_DB_ALIAS]  # faster than `connection`, a proxy with a lookup per attribute
    if ours.execute_wrappers or ours.queries_logged:  # only Django's cursor supports wrappers and the log
        watched: Any = ours.cursor()
        watched.execute(sql, values)
        return watched  # type: ignore[no-any-return]
    ours.ensure_connection()
    ours.validate_no_broken_transaction()
    try:
        with ours.wrap_database_errors, recording.statement(sql):
            cursor = PreparedCursor(ours.connection)
            if settings.DATABASE_LISTEN_URL:
                return cursor.execute(sql, values)
            cursor.execute_prepared(sql, values)
            return cursor
    except DatabaseError:
        # The next statement gets a new connection.
        if not ours.in_atomic_block and ours.connection.closed:
            ours.close()
        raise


class CompiledQuery(Generic[M]):
    """A query that returns instances of one model, also with `select_related` and annotations.

    `build` gets `examples` as keyword arguments and returns the query. An example is any value of its parameter's type.
    The query must contain this value nowhere else, because each occurrence in the SQL becomes a placeholder of the
    parameter.
    """

    def __init__(self, build: Callable[..., QuerySet[M]], **examples: Any) -> None:
        self._build = build
        self._examples = examples
        self._compiled: _Compiled[M] | None = None
        self._lock = threading.Lock()

    def rows(self, **values: Any) -> list[M]:
        """Return the rows for these values of the parameters."""
        compiled = self._compiled or self._compile()
        return compiled.rows(values)

    def first(self, **values: Any) -> M | None:
        return next(iter(self.rows(**values)), None)

    def _compile(self) -> "_Compiled[M]":
        with self._lock:
            if self._compiled is None:
                self._compiled = _Compiled(self._build(**self._examples), self._examples)
            return self._compiled


class _Compiled(Generic[M]):
    def __init__(self, queryset: QuerySet[M], examples: dict[str, Any]) -> None:
        compiler = queryset.query.get_compiler(using=queryset.db)
        self.sql, parameters = compiler.as_sql()
        self._places = [_place(parameter, examples) for parameter in parameters]
        missing = set(examples) - {name for name, _ in self._places}
        if missing:
            raise ValueError(f"the query does not use {', '.join(sorted(missing))} as it is")
        selected = [column for column, _, _ in compiler.select]
        self._row = _Row(compiler.klass_info, selected)
        self._annotations = dict(compiler.annotation_col_map or {})
        converters: Any = compiler.get_converters(selected)
        self._converters: list[tuple[int, list[Any], Any]] = [
            (place, functions, expression) for place, (functions, expression) in converters.items()
        ]

    def rows(self, values: dict[str, Any]) -> list[M]:
        parameters = [adapt(values[name]) if name else adapt for name, adapt in self._places]
        return [self._instance(row) for row in run(self.sql, parameters).fetchall()]

    def _instance(self, row: Sequence[Any]) -> M:
        values = list(row)
        for place, functions, expression in self._converters:
            value = values[place]
            for function in functions:
                value = function(value, expression, connection)
            values[place] = value
        instance: M = self._row.instance(values)
        for name, place in self._annotations.items():
            instance.__dict__[name] = values[place]
        return instance


class _Row:
    """Where the columns of a model and of its joined models are in a row."""

    def __init__(self, info: Any, selected: Sequence[Any]) -> None:
        self._model: Any = info["model"]
        self._places: list[int] = info["select_fields"]
        self._fields = [selected[place].target.attname for place in self._places]
        self._key = self._places[self._fields.index(self._model._meta.pk.attname)]
        self._joined = [
            (_Row(each, selected), each["local_setter"], each["remote_setter"])
            for each in info.get("related_klass_infos", ())
        ]

    def instance(self, values: Sequence[Any]) -> Any:
        # Set all fields at once, as unpickling does. Model.__init__ is slower, because it sets the fields one by one.
        instance = self._model.__new__(self._model)
        instance.__dict__.update(zip(self._fields, map(values.__getitem__, self._places), strict=True))
        instance._state = ModelState()
        instance._state.adding = False
        instance._state.db = DEFAULT_DB_ALIAS
        for row, set_local, set_remote in self._joined:
            joined = row.instance(values) if values[row._key] is not None else None
            set_local(instance, joined)
            if joined is not None:
                set_remote(joined, instance)
        return instance


class CompiledInsert:
    """The columns and values of a new row, for a handwritten INSERT."""

    def __init__(self, model: type[Model]) -> None:
        fields: list[Any] = [each for each in model._meta.concrete_fields if not isinstance(each, AutoField)]
        self._read = attrgetter(*(field.attname for field in fields))
        self._fields = [
            (field, _STORED_AS_THEY_ARE.get(type(field.target_field if field.is_relation else field)))
            for field in fields
        ]
        self.columns = ", ".join(connection.ops.quote_name(field.column) for field in fields)
        self.values = ", ".join(f"%s::{_type_of(field)}" for field in fields)

    def of(self, row: object) -> list[Any]:
        """Return the values to store. `row` is an instance of the model, or an object with the same attributes."""
        ours = connections[DEFAULT_DB_ALIAS]
        return [
            value if value is None or type(value) is plain else field.get_db_prep_save(value, ours)
            for value, (field, plain) in zip(self._read(row), self._fields, strict=True)
        ]


def _type_of(field: Any) -> str:
    """Return the column's type. Values in a SELECT are cast to it.

    The type has no length, because a cast to varchar(n) cuts off a longer text without an error.
    """
    return re.sub(r"\([0-9, ]+\)", "", str(field.db_type(connection))).replace("varchar", "text")


def _place(parameter: Any, examples: dict[str, Any]) -> tuple[str, Any]:
    """Return the parameter's name and the function that adapts its value.

    For a constant, return "" and the constant.
    """
    for name, example in examples.items():
        if isinstance(parameter, psycopg.Binary) and parameter.obj == example:
            return name, psycopg.Binary
        if isinstance(parameter, type(example)) and not isinstance(parameter, bool) and parameter == example:
            # For example, an int may be psycopg's Int8, which has the size of the column.
            return name, type(parameter) if type(parameter) is not type(example) else _as_it_is
    return "", parameter


def _as_it_is(value: Any) -> Any:
    return value
