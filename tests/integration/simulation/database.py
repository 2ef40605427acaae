"""The simulation's PostgreSQL: a simulated clock, a journal of statuses and leases, and empty tables per history."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import psycopg
from django.apps import apps
from django.db import connection

from tests.integration.simulation.environment import CLOCK

# The search path has this schema before pg_catalog. So `statement_timestamp()` in a statement returns the
# simulated time. It reads a sequence, because sequences ignore transactions, as clocks do.
OPTIONS = (
    "-c search_path=simulated,public,pg_catalog "
    # Statements must not depend on earlier histories: no generic plans, no timeouts in real time.
    "-c plan_cache_mode=force_custom_plan -c deadlock_timeout=10min -c synchronous_commit=off"
)
SERVER = {"autovacuum": "off"}
_CLOCK_FUNCTION = """
    CREATE FUNCTION simulated.{name}() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT timestamptz 'epoch' + last_value * interval '1 microsecond' FROM simulated.clock $$;
"""
_JOURNAL = """
    CREATE TABLE simulated.journal (
        id bigserial, name text, key text, old text, new text,
        process text DEFAULT current_setting('application_name')
    );
    CREATE FUNCTION simulated.note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO simulated.journal (name, key, old, new)
        SELECT TG_ARGV[0], NEW.id::text, to_jsonb(OLD) ->> TG_ARGV[1], to_jsonb(NEW) ->> TG_ARGV[1];
        RETURN NULL;
    END $$;
"""
_JOURNALED = (
    ("payment", "status", "payments_payment"),
    ("reorged", "reorged", "payments_payment"),
    ("request", "status", "payments_paymentrequest"),
    ("delivery", "status", "webhooks_delivery"),
    ("claim", "claim_id", "payments_lookup"),
    ("claim", "claim_id", "webhooks_delivery"),
)
# A claim id may stay null, if a process that had lost its lease releases it. Statuses are never null.
_TRIGGER = """
    CREATE TRIGGER simulated_{name} AFTER UPDATE OF {column} ON {table} FOR EACH ROW
    WHEN (OLD.{column} IS DISTINCT FROM NEW.{column} OR NEW.{column} IS NULL)
    EXECUTE FUNCTION simulated.note('{name}', '{column}');
"""
# These tables are filled once for all histories. No history changes them.
_KEPT = ("merchants_", "chains_", "django_", "auth_")
_OF_A_HISTORY = ("merchants_mail", "merchants_noticewatch")


class Database:
    """The simulation's own connection to the database, separate from the product's."""

    def __init__(self, url: str) -> None:
        self._session = psycopg.connect(url, autocommit=True)
        self._is_set_up = False

    def set_up(self) -> None:
        """Add the clock and the journal to the migrated database."""
        statements = ["CREATE SCHEMA simulated; CREATE SEQUENCE simulated.clock;", _JOURNAL]
        for name in ("statement_timestamp", "clock_timestamp", "transaction_timestamp", "now"):
            statements.append(_CLOCK_FUNCTION.format(name=name))
        for name, column, table in _JOURNALED:
            statements.append(_TRIGGER.format(name=name, column=column, table=table))
        for statement in statements:
            self._session.execute(statement)
        self.tell_time()

    def close(self) -> None:
        self._session.close()

    def tell_time(self) -> None:
        """Set PostgreSQL's clock to the simulation's."""
        microseconds = round(CLOCK.time.timestamp() * 1_000_000)
        self._session.execute("SELECT setval('simulated.clock', %s)", [microseconds])

    def is_blocked(self, pid: int) -> bool:
        """Whether the session waits for another session's lock."""
        return bool(self.blockers(pid))

    def blockers(self, pid: int) -> list[int]:
        """Return the sessions that this one waits for: lock holders, and sessions ahead in the queue."""
        [(pids,)] = self._session.execute("SELECT pg_blocking_pids(%s)", [pid]).fetchall()
        return list(pids)

    def end_session(self, pid: int) -> None:
        """End another session, even one that waits for a lock."""
        self._session.execute("SELECT pg_terminate_backend(%s)", [pid])

    def empty(self) -> None:
        """Empty a history's tables and reset their sequences, so that plans and keys are the same in every history."""
        tables = [
            model._meta.db_table
            for model in apps.get_models()
            if model._meta.managed
            and (not model._meta.db_table.startswith(_KEPT) or model._meta.db_table in _OF_A_HISTORY)
        ]
        names = ["simulated.journal", *sorted({*tables} - {"webhooks_endpoint"})]
        # Skip empty tables, because TRUNCATE writes a new file for each.
        filled = self.rows(
            " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})" for name in names)  # noqa: S608
        )
        if filled:
            self._session.execute(
                f"TRUNCATE {', '.join(name for (name,) in filled)} RESTART IDENTITY CASCADE"
            )
        self._session.execute(
            "UPDATE webhooks_endpoint SET failing_since = NULL, warned_at = NULL, is_enabled = true"
        )

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with closing(self._session.execute(query, values)) as cursor:
            return cursor.fetchall()


def use_without_pool() -> None:
    """Give each thread its own connection, with the simulation's options."""
    options = connection.settings_dict["OPTIONS"]
    options.pop("pool", None)
    options["options"] = OPTIONS
