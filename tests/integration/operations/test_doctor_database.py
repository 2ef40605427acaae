"""`manage.py doctor` in its own process, with a PostgreSQL that really has the problems that doctor reports."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from demo.services import postgres
from tests.processes import REPOSITORY, eventually

CONNECTIONS = 20
_CLOCK = REPOSITORY / "tests/integration/chaos/clock"


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server") / "pg" / "works"


@pytest.fixture(scope="module")
def server(works: Path) -> Iterator[postgres.Postgres]:
    """A server with few connections. Its archive_command fails until the file `works` exists."""
    settings = {"archive_mode": "on", "archive_command": f"test -e {works}"}
    running = postgres.start(works.parent, durable=False, max_connections=CONNECTIONS, settings=settings)
    try:
        yield running
    finally:
        running.stop()


def doctor(server: postgres.Postgres, check: str, **more: str) -> dict[str, tuple[str, str]]:
    """Return the level and summary of each finding, by subject."""
    environment = {**os.environ, "DATABASE_URL": server.url, "BACKUP_FOLDER": "", **more}
    command = [sys.executable, "manage.py", "doctor", "--json", "--only", check]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    assert done.stdout, done.stderr
    findings = json.loads(done.stdout)["findings"]
    return {each["subject"]: (each["level"], each["summary"]) for each in findings}


def test_doctor_names_connections_that_are_almost_used_up(server: postgres.Postgres) -> None:
    with ExitStack() as stack:
        for _ in range(CONNECTIONS * 80 // 100):
            stack.enter_context(psycopg.connect(server.url))
        level, summary = doctor(server, "database")["connections"]
    assert level == "warning"
    assert summary.endswith(f"of {CONNECTIONS} used")


def test_doctor_names_a_wrong_clock(server: postgres.Postgres, tmp_path: Path) -> None:
    """Only the process' clock is wrong, as in the chaos run. To set the machine's clock would disturb other tests."""
    (file := tmp_path / "clock").write_text("-90")
    found = doctor(server, "database", PYTHONPATH=str(_CLOCK), CLOCK_FILE=str(file))
    assert found["clock"][0] == "failed"
    assert found["connections"][0] == "ok"


def test_doctor_names_wal_until_it_is_archived(server: postgres.Postgres, works: Path) -> None:
    with psycopg.connect(server.url, autocommit=True) as database:

        def archiver(column: str) -> int:
            row = database.execute(f"SELECT {column} FROM pg_stat_archiver".encode()).fetchone()
            assert row is not None
            return int(row[0])

        database.execute("CREATE TABLE orders (name text)")
        database.execute("SELECT pg_switch_wal()")
        eventually(lambda: archiver("failed_count") > 0, "archiving failed")
        level, summary = doctor(server, "backups")["WAL archive"]
        assert level == "failed"
        assert summary.startswith("0000000100000000")
        works.touch()
        # The archiver retries a minute after its last failure, or when the next segment is full.
        database.execute("CREATE TABLE refunds (name text)")
        database.execute("SELECT pg_switch_wal()")
        eventually(lambda: archiver("archived_count") > 0, "archiving worked", 90)
        assert doctor(server, "backups")["WAL archive"][0] == "ok"
