"""PostgreSQL after a failover: open connections can no longer write.

`default_transaction_read_only` rejects writes with SQLSTATE 25006, as a standby does. A database's own value
overrides the server's, but only for new connections. So new connections behave like those to the new primary.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from tests.processes import eventually

_NAME = sql.SQL("default_transaction_read_only")


@contextmanager
def read_only(**parameters: Any) -> Iterator[None]:
    """Reject the writes of all connections to the server with these libpq parameters, until the block ends."""
    with _connect(parameters, "off") as operator, _connect(parameters) as witness:
        _switch(operator, witness, "on")
        try:
            yield
        finally:
            _switch(operator, witness, "off")


@contextmanager
def demoted(**parameters: Any) -> Iterator[None]:
    """Reject the writes of all connections that are open now, until the block ends. New connections can write."""
    with _connect(parameters, "off") as operator, _connect(parameters) as witness:
        database = sql.Identifier(operator.info.dbname)
        operator.execute(sql.SQL("ALTER DATABASE {} SET {} = off").format(database, _NAME))
        try:
            _switch(operator, witness, "on")
            yield
        finally:
            _switch(operator, witness, "off")
            operator.execute(sql.SQL("ALTER DATABASE {} RESET {}").format(database, _NAME))


def _connect(parameters: dict[str, Any], value: str = "") -> "psycopg.Connection[Any]":
    options = f"-c {_NAME.as_string()}={value}" if value else ""
    return psycopg.connect(**{**parameters, "options": options, "autocommit": True})


def _switch(operator: "psycopg.Connection[Any]", witness: "psycopg.Connection[Any]", value: str) -> None:
    operator.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(_NAME, sql.SQL(value)))
    operator.execute("SELECT pg_reload_conf()")
    shown = sql.SQL("SHOW {}").format(_NAME)
    eventually(lambda: witness.execute(shown).fetchone() == (value,), "open connections follow")
