"""If a PostgreSQL connection vanishes without being closed, both ends notice within seconds."""

import sys
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection

from demo.services import postgres
from tests.support.wire import Wire, running_wire

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a socket drop its packets")

# Linux' default is a quarter of an hour.
NOTICED_SECONDS = 45
# A local address on which PostgreSQL's port is free.
ADDRESS = "127.0.91.1"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL that listens on TCP and has a table with one row."""
    settings = {"listen_addresses": ADDRESS}
    running = postgres.start(tmp_path_factory.mktemp("tcp"), durable=False, settings=settings)
    with psycopg.connect(running.url, autocommit=True) as direct:
        direct.execute("CREATE TABLE books (credited int)")
        direct.execute("INSERT INTO books VALUES (0)")
    yield running.url
    running.stop()


@pytest.fixture
def wire(database: str) -> Iterator[Wire]:
    with running_wire((ADDRESS, 5432)) as wire:
        yield wire


def through(wire: Wire) -> "psycopg.Connection[Any]":
    """Return a connection with the service's own settings, over the wire."""
    place = {"host": "127.0.0.1", "port": wire.port, "dbname": "quittance", "user": "postgres"}
    return psycopg.connect(**{**connection.get_connection_params(), **place})


def test_vanished_connection_fails_and_frees_its_locks(database: str, wire: Wire) -> None:
    ours = through(wire)
    ours.execute("UPDATE books SET credited = 1")
    assert wire.vanish() == 1
    vanished_at = time.monotonic()
    with psycopg.connect(database, options=f"-c lock_timeout={NOTICED_SECONDS}s") as other:
        other.execute("UPDATE books SET credited = credited + 2")
        assert other.execute("SELECT credited FROM books").fetchone() == (2,), "the lost one is undone"
    assert time.monotonic() - vanished_at < NOTICED_SECONDS
    with pytest.raises(psycopg.OperationalError):
        ours.execute("SELECT 1")
    assert time.monotonic() - vanished_at < NOTICED_SECONDS
    ours.close()
