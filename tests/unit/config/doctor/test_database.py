"""Doctor reports problems of the database. The tests cause each problem for real."""

import threading
from collections.abc import Iterator
from importlib import import_module

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from pytest_django import Settings

from config.doctor import database
from config.doctor.finding import Level
from config.due_work.listening import connect
from tests.processes import eventually
from tests.support.operations.findings import found, levels
from tests.support.operations.read_only import read_only

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_sound_database_has_nothing_wrong() -> None:
    findings = [*database.check_migrations(), database.check_clock(), database.check_notifications()]
    assert set(levels(findings).values()) == {"ok"}
    assert levels(database.check())["PostgreSQL"] == "ok"


def test_read_only_database_is_named() -> None:
    with read_only(**connection.get_connection_params()):
        (summary,) = found(database.check(), Level.FAILED)
    assert summary == "PostgreSQL: rejects writes: it is read-only"


def test_an_old_version_is_named() -> None:
    """This only tests the version number, because the tests can't install PostgreSQL 13 or older."""
    assert database.version_of(13).level is Level.FAILED
    assert database.version_of(14).level is Level.OK


def test_a_migration_that_is_not_applied_is_named() -> None:
    ((_, newest),) = MigrationLoader(connection).graph.leaf_nodes("payments")
    MigrationRecorder.Migration.objects.filter(app="payments", name=newest).delete()
    try:
        (summary,) = found(database.check_migrations(), Level.FAILED)
    finally:
        MigrationRecorder(connection).record_applied("payments", newest)
    assert f"1 not applied: payments.{newest}" in summary


def test_a_database_of_a_newer_version_is_named() -> None:
    MigrationRecorder(connection).record_applied("payments", "9999_of_tomorrow")
    try:
        (summary,) = found(database.check_migrations(), Level.WARNING)
    finally:
        MigrationRecorder(connection).record_unapplied("payments", "9999_of_tomorrow")
    assert "payments.9999_of_tomorrow" in summary


def test_database_with_the_replaced_migrations_needs_no_other() -> None:
    """A database of 0.1.0, upgraded to the last version before 0.2.0, already has the tables of the new first
    migrations.
    """
    recorder, baselines = MigrationRecorder(connection), MigrationLoader(connection).replacements
    assert {app for app, _ in baselines} == {"chains", "merchants", "payments", "webhooks"}
    steps = [each for baseline in baselines.values() for each in baseline.replaces]
    for each in baselines:
        recorder.record_unapplied(*each)
    for each in steps:
        recorder.record_applied(*each)
    try:
        call_command("migrate", verbosity=0)
        assert levels(database.check_migrations()) == {"migrations": "ok"}
        assert set(baselines) <= set(recorder.applied_migrations())
    finally:
        for each in steps:
            recorder.record_unapplied(*each)


def test_database_older_than_the_baseline_is_not_migrated() -> None:
    migration = import_module("payments.migrations.0002_no_prefix_indexes")
    with connection.schema_editor() as editor:
        migration.require_baseline(None, editor)
        editor.execute("ALTER TABLE payments_lookup RENAME TO another")
        with pytest.raises(RuntimeError, match=r"older than the baseline 0\.2\.0"):
            migration.require_baseline(None, editor)
        editor.execute("ALTER TABLE another RENAME TO payments_lookup")


def test_timeouts_that_a_pooler_dropped_are_named() -> None:
    assert database.check_timeouts().level is Level.OK
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")
        try:
            finding = database.check_timeouts()
        finally:
            cursor.execute("RESET lock_timeout")
    assert finding.level is Level.WARNING
    assert "lock_timeout" in finding.summary
    assert "statement_timeout" not in finding.summary


@pytest.mark.parametrize(("ahead", "level"), [(0.0, Level.OK), (10.0, Level.WARNING), (-90.0, Level.FAILED)])
def test_a_clock_that_differs_from_the_databases_is_named(ahead: float, level: Level) -> None:
    import time

    assert database.check_clock(lambda: time.time() + ahead).level is level


@pytest.fixture
def blocking() -> Iterator[psycopg.Connection]:
    """A session that holds a lock, and another one that waits for it."""
    with connect() as holder, connect() as waiter:
        holder.execute("SET application_name = 'a console'")
        holder.execute("BEGIN")
        holder.execute("SELECT pg_advisory_xact_lock(731)")

        def wait() -> None:
            with waiter.transaction():
                waiter.execute("SELECT pg_advisory_xact_lock(731)")

        waiting = threading.Thread(target=wait)
        waiting.start()
        try:
            eventually(_somebody_waits, "a session waits for the lock")
            yield holder
        finally:
            holder.execute("ROLLBACK")
            waiting.join()


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0")
        return bool(cursor.fetchone()[0])


def test_blocking_session_is_named_with_command_to_end_it(blocking: psycopg.Connection) -> None:
    (finding,) = (each for each in database.check_locks(locked_seconds=0) if each.level is Level.FAILED)
    pid = blocking.info.backend_pid
    assert finding.summary.startswith(f"session {pid} (a console) has blocked 1 others")
    assert f"pg_terminate_backend({pid})" in finding.advice


def test_a_transaction_that_stays_open_is_named() -> None:
    with connect() as session:
        session.execute("BEGIN")
        session.execute("SELECT 1")
        (summary,) = found(database.check_locks(open_seconds=0), Level.WARNING)
        assert f"session {session.info.backend_pid} " in summary
        session.execute("ROLLBACK")
    assert found(database.check_locks(open_seconds=3600), Level.WARNING) == []


def test_a_table_of_dead_rows_is_named() -> None:
    with connect() as session:
        session.execute("CREATE TABLE full_of_dead_rows (id int) WITH (autovacuum_enabled = off)")
        try:
            session.execute("INSERT INTO full_of_dead_rows SELECT generate_series(1, 50000)")
            session.execute("DELETE FROM full_of_dead_rows")
            session.execute("SELECT pg_stat_force_next_flush()")
            session.execute("SELECT 1")
            summaries = found(database.check_dead_rows(minimum=400), Level.WARNING)
        finally:
            session.execute("DROP TABLE full_of_dead_rows")
    # More than other tests leave in any table.
    assert "dead rows: full_of_dead_rows has 50,000, more than live rows" in summaries


def test_connections_that_run_out_are_named() -> None:
    assert database.check_connections(max_percent=100).level is Level.OK
    assert database.check_connections(max_percent=0).level is Level.WARNING


def test_notifications_that_go_elsewhere_are_named(settings: Settings) -> None:
    parameters = connection.get_connection_params()
    host = parameters.get("host", "")
    settings.DATABASE_LISTEN_URL = f"postgresql://{parameters['user']}@/postgres?host={host}"
    finding = database.check_notifications(within=0.2)
    assert finding.level is Level.FAILED
    assert "DATABASE_LISTEN_URL" in finding.advice


def test_a_database_that_does_not_answer_is_the_only_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.close()
    pool = connection.settings_dict["OPTIONS"].pop("pool", None)
    monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
    monkeypatch.setitem(connection.settings_dict, "PORT", "1")
    try:
        (finding,) = database.check()
    finally:
        connection.settings_dict["OPTIONS"]["pool"] = pool
        connection.close()
    assert (finding.subject, finding.level) == ("PostgreSQL", Level.FAILED)
    assert "DATABASE_URL" in finding.advice
