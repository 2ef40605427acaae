"""Check PostgreSQL: version, migrations, clock, timeouts, locks, dead rows, connections and notifications."""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from config.doctor.finding import Finding, by_limits, failed, fine, warning
from config.due_work.listening import connect

OLDEST = 14
SKEW_SECONDS = (2.0, 30.0)
# The service's own statements time out earlier (`settings.DATABASES`). Longer statements are from other programs.
LOCKED_SECONDS = 5.0
OPEN_SECONDS = 300.0
MIN_DEAD_ROWS = 100_000
_MAX_CONNECTIONS_PERCENT = 80
_NOTIFIED_WITHIN_SECONDS = 2.0
_MAX_NAMED = 5
_START = "Start PostgreSQL, and compare DATABASE_URL with its address, user, password and database."
_PROMOTE = (
    "Let DATABASE_URL lead to the primary: by target_session_attrs=read-write if it names several hosts, or by the "
    "proxy. A full disk, or default_transaction_read_only, also makes a primary read-only."
)
_POOL_TIMEOUT_WHEN_DOWN = 0.1


def check() -> Iterator[Finding]:
    """Yield the findings on the database. If it doesn't respond or is read-only, the other checks are skipped."""
    try:
        version = int(_one("SELECT current_setting('server_version_num')::int"))
    except DatabaseError as error:
        summary = f"does not respond ({type(error).__name__})"
        yield failed("PostgreSQL", summary, _START)
        return
    yield version_of(version // 10_000)
    if _one("SHOW transaction_read_only") == "on":
        yield failed("PostgreSQL", "rejects writes: it is read-only", _PROMOTE)
        return
    yield from check_migrations()
    yield check_clock()
    yield check_timeouts()
    yield from check_locks()
    yield from check_dead_rows()
    yield check_connections()
    yield check_notifications()


def is_down(findings: Iterable[Finding]) -> bool:
    """Return whether `check` found that the database doesn't respond."""
    return any(each.advice == _START for each in findings)


@contextmanager
def no_waiting() -> Iterator[None]:
    """Inside the block, queries fail at once if there is no connection.

    Otherwise each check would wait for the pool's full timeout.
    """
    pool = connection.pool  # type: ignore[attr-defined]  # only in PostgreSQL's backend
    before, pool.timeout = pool.timeout, _POOL_TIMEOUT_WHEN_DOWN
    try:
        yield
    finally:
        pool.timeout = before


def version_of(major: int) -> Finding:
    if major < OLDEST:
        return failed("PostgreSQL", f"version {major}", f"Upgrade PostgreSQL to {OLDEST} or newer.")
    return fine("PostgreSQL", f"responds, version {major}")


def check_migrations() -> Iterator[Finding]:
    """Yield migrations that are not applied, and applied migrations that this version of the service doesn't know."""
    loader = (executor := MigrationExecutor(connection)).loader
    missing = [str(each) for each, _ in executor.migration_plan(loader.graph.leaf_nodes())]
    replaced = {each for migration in loader.disk_migrations.values() for each in migration.replaces}
    unknown = [
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if (app, name) not in replaced and _is_unknown(loader, app, name)
    ]
    if missing:
        summary = f"{len(missing)} not applied: {_listed(missing)}"
        yield failed(
            "migrations", summary, "Run manage.py migrate (the Procfile's release) before web and worker."
        )
    if unknown:
        summary = f"the database is newer than this version of the service: {_listed(unknown)}"
        yield warning(
            "migrations", summary, "Deploy the version that applied them, unless you are rolling back."
        )
    if not missing and not unknown:
        yield fine("migrations", "all applied")


def check_clock(now: Callable[[], float] = time.time) -> Finding:
    """Return whether this machine's clock agrees with the database's clock. Deadlines use both clocks."""
    began = now()
    theirs = float(_one("SELECT extract(epoch FROM clock_timestamp())"))
    skew = abs(theirs - (began + now()) / 2)
    summary = f"differs from the database's by {skew:.1f} s"
    return by_limits("clock", skew, SKEW_SECONDS, summary, "Run a time service (NTP) on both machines.")


def check_timeouts() -> Finding:
    """Return whether statements, locks and idle transactions time out. A pooler may drop these settings."""
    names = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
    without = [name for name in names if _one("SELECT current_setting(%s)", [name]) == "0"]
    if without:
        summary = f"a pooler drops {', '.join(without)}: a forgotten lock can block payments forever"
        return warning("timeouts", summary, "Set them for the database's user (docs/scaling.md).")
    return fine("timeouts", "statements, locks and idle transactions time out")


def check_locks(
    *, locked_seconds: float = LOCKED_SECONDS, open_seconds: float = OPEN_SECONDS
) -> Iterator[Finding]:
    """Yield sessions that block others, and transactions that stay open too long."""
    sql = """
        SELECT blocker.pid, coalesce(nullif(blocker.application_name, ''), 'unnamed'), count(*),
               max(extract(epoch FROM now() - waiting.state_change))
        FROM pg_stat_activity AS waiting
        CROSS JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) AS blocked_by
        JOIN pg_stat_activity AS blocker ON blocker.pid = blocked_by
        WHERE waiting.datname = current_database() AND waiting.wait_event_type = 'Lock'
              AND now() - waiting.state_change > make_interval(secs => %s)
        GROUP BY 1, 2"""
    blockers = _all(sql, [locked_seconds])
    for pid, program, count, seconds in blockers:
        summary = f"session {pid} ({program}) has blocked {count} others for {seconds:.0f} s"
        yield failed("locks", summary, f"Stop that program, or run: SELECT pg_terminate_backend({pid})")
    old = _all(
        """SELECT pid, extract(epoch FROM now() - xact_start) FROM pg_stat_activity
           WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
                 AND now() - xact_start > make_interval(secs => %s)""",
        [open_seconds],
    )
    for pid, seconds in old:
        summary = (
            f"a transaction of session {pid} has been open for {seconds:.0f} s, so dead rows can't be removed"
        )
        yield warning("locks", summary, "End it, unless it is a backup (pg_dump).")
    if not blockers and not old:
        yield fine("locks", "no session holds one for long")


def check_dead_rows(minimum: int = MIN_DEAD_ROWS) -> Iterator[Finding]:
    """Yield tables with more dead rows than live rows. Autovacuum should have removed the dead rows."""
    sql = """
        SELECT relname, n_dead_tup FROM pg_stat_user_tables
        WHERE n_dead_tup >= %s AND n_dead_tup > n_live_tup ORDER BY n_dead_tup DESC LIMIT 5"""
    bloated = _all(sql, [minimum])
    for table, dead in bloated:
        advice = f"Run VACUUM (ANALYZE) {table}, and check that autovacuum is on and not throttled too much."
        yield warning("dead rows", f"{table} has {dead:,}, more than live rows", advice)
    if not bloated:
        yield fine("dead rows", "autovacuum keeps up")


def check_connections(max_percent: int = _MAX_CONNECTIONS_PERCENT) -> Finding:
    used = int(_one("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"))
    maximum = int(_one("SELECT current_setting('max_connections')::int"))
    summary = f"{used} of {maximum} used"
    if used * 100 > maximum * max_percent:
        advice = (
            "Raise max_connections, lower DATABASE_POOL_SIZE, or put a pooler in front (docs/scaling.md)."
        )
        return warning("connections", summary, advice)
    return fine("connections", summary)


def check_notifications(within: float = _NOTIFIED_WITHIN_SECONDS) -> Finding:
    """Send a notification over DATABASE_URL, and return whether a listener receives it."""
    channel = f"quittance_doctor_{secrets.token_hex(8)}"
    try:
        with connect() as listening:
            listening.execute(f"LISTEN {channel}".encode())
            _one("SELECT pg_notify(%s, '')::text", [channel])
            arrived = next(iter(listening.notifies(timeout=within, stop_after=1)), None)
    except psycopg.Error as error:
        summary, arrived = f"can't be received ({type(error).__name__})", None
    else:
        summary = "don't arrive, so the service notices changed settings and due payments late"
    if arrived is not None:
        return fine("notifications", "arrive")
    advice = "If DATABASE_URL is a pooler, set DATABASE_LISTEN_URL to the same database on PostgreSQL itself."
    return failed("notifications", summary, advice)


def _is_unknown(loader: Any, app: str, name: str) -> bool:
    return app in loader.migrated_apps and (app, name) not in loader.graph.nodes


def _listed(names: list[str]) -> str:
    more = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _one(sql: str, values: list[Any] | None = None) -> Any:
    return _all(sql, values)[0][0]


def _all(sql: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
