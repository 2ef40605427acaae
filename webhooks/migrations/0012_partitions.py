"""Store event bodies and attempts in weekly partitions (docs/decisions/0035-partitioned-bodies-and-attempts.md).

Attempts: the existing table becomes the first partition. What takes long, an index and a check of all rows, is made
beside the running service; the swap itself takes milliseconds. Bodies: new events store theirs in the new table, older
ones keep theirs in their row until it is removed after 30 days. An interrupted migration can be run again.
"""

# ruff: noqa: S608 - the SQL is put together from this file's own words and dates

from datetime import UTC, datetime, timedelta
from typing import Any

import django.db.models.deletion
from django.db import migrations, models, transaction

WEEK = timedelta(days=7)
AHEAD = timedelta(days=60)
TABLES = {"webhooks_attempt": "started_at", "webhooks_eventbody": "created"}


def forwards(apps: Any, schema_editor: Any) -> None:
    """Make both partitioned tables, and their partitions for the next 60 days."""
    now = datetime.now(UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    # Far enough away that all rows written until the end of this migration are from before it.
    boundary = today - timedelta(days=now.weekday()) + 2 * WEEK
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0; SET lock_timeout = 0")
        if not _is_partitioned(cursor, "webhooks_attempt"):
            _prepare(cursor, boundary)
            with transaction.atomic(using=connection.alias):
                _swap(cursor, boundary)
                _make_partitions(cursor, "webhooks_attempt", boundary, now)
        if not _is_partitioned(cursor, "webhooks_eventbody"):
            with transaction.atomic(using=connection.alias):
                _make_bodies(cursor, boundary)
                _make_partitions(cursor, "webhooks_eventbody", boundary, now)
        cursor.execute("RESET statement_timeout; RESET lock_timeout")


def _is_partitioned(cursor: Any, table: str) -> bool:
    cursor.execute("SELECT FROM pg_class WHERE oid = to_regclass(%s) AND relkind = 'p'", [table])
    return cursor.fetchone() is not None


def _prepare(cursor: Any, boundary: datetime) -> None:
    """Make what the existing table needs as a partition, without keeping others from reading or writing it."""
    cursor.execute("DROP INDEX CONCURRENTLY IF EXISTS webhooks_attempt_first_pkey")
    cursor.execute(
        "CREATE UNIQUE INDEX CONCURRENTLY webhooks_attempt_first_pkey"
        " ON webhooks_attempt (delivery_id, number, started_at)"
    )
    # With this check, attaching the partition reads no rows.
    cursor.execute("ALTER TABLE webhooks_attempt DROP CONSTRAINT IF EXISTS webhooks_attempt_first")
    cursor.execute(
        "ALTER TABLE webhooks_attempt ADD CONSTRAINT webhooks_attempt_first"
        f" CHECK (started_at < '{boundary.isoformat()}') NOT VALID"
    )
    cursor.execute("ALTER TABLE webhooks_attempt VALIDATE CONSTRAINT webhooks_attempt_first")


def _swap(cursor: Any, boundary: datetime) -> None:
    cursor.execute("SET LOCAL lock_timeout = '10s'")
    # In the order in which the dispatcher locks them.
    cursor.execute("LOCK TABLE webhooks_delivery, webhooks_attempt IN ACCESS EXCLUSIVE MODE")
    cursor.execute(
        "SELECT conname FROM pg_constraint"
        " WHERE conrelid = 'webhooks_attempt'::regclass AND contype IN ('f', 'p', 'u')"
    )
    for (name,) in cursor.fetchall():
        cursor.execute(f'ALTER TABLE webhooks_attempt DROP CONSTRAINT "{name}"')
    for statement in (
        "ALTER TABLE webhooks_attempt DROP COLUMN id",
        "ALTER TABLE webhooks_attempt RENAME TO webhooks_attempt_first",
        "ALTER TABLE webhooks_attempt_first"
        " ADD CONSTRAINT webhooks_attempt_first_pkey PRIMARY KEY USING INDEX webhooks_attempt_first_pkey",
        "CREATE TABLE webhooks_attempt"
        " (LIKE webhooks_attempt_first INCLUDING CONSTRAINTS, PRIMARY KEY (delivery_id, number, started_at))"
        " PARTITION BY RANGE (started_at)",
        "ALTER TABLE webhooks_attempt DROP CONSTRAINT webhooks_attempt_first",
        "ALTER TABLE webhooks_attempt ATTACH PARTITION webhooks_attempt_first"
        f" FOR VALUES FROM (MINVALUE) TO ('{boundary.isoformat()}')",
        "ALTER TABLE webhooks_attempt_first DROP CONSTRAINT webhooks_attempt_first",
    ):
        cursor.execute(statement)


def _make_bodies(cursor: Any, boundary: datetime) -> None:
    cursor.execute("SET LOCAL lock_timeout = '10s'")
    cursor.execute("ALTER TABLE webhooks_event ALTER COLUMN body DROP NOT NULL")
    cursor.execute(
        "CREATE TABLE webhooks_eventbody"
        " (event_id varchar(28) NOT NULL, created timestamptz NOT NULL, body bytea NOT NULL,"
        " PRIMARY KEY (event_id, created)) PARTITION BY RANGE (created)"
    )
    cursor.execute(
        "CREATE TABLE webhooks_eventbody_first PARTITION OF webhooks_eventbody"
        f" FOR VALUES FROM (MINVALUE) TO ('{boundary.isoformat()}')"
    )


def _make_partitions(cursor: Any, table: str, start: datetime, now: datetime) -> None:
    while start < now + AHEAD:
        cursor.execute(
            f"CREATE TABLE {table}_{start:%Y%m%d} PARTITION OF {table}"
            f" FOR VALUES FROM ('{start.isoformat()}') TO ('{(start + WEEK).isoformat()}')"
        )
        start += WEEK


def backwards(apps: Any, schema_editor: Any) -> None:
    """Copy the rows back into plain tables. Nothing can be delivered meanwhile."""
    connection = schema_editor.connection
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
        cursor.execute(
            "LOCK TABLE webhooks_delivery, webhooks_event, webhooks_attempt IN ACCESS EXCLUSIVE MODE"
        )
        for statement in (
            "UPDATE webhooks_event AS event SET body = stored.body FROM webhooks_eventbody AS stored"
            " WHERE stored.event_id = event.id AND stored.created = event.created AND event.body IS NULL",
            "ALTER TABLE webhooks_event ALTER COLUMN body SET NOT NULL",
            "DROP TABLE webhooks_eventbody",
            "CREATE TABLE webhooks_attempt_plain"
            " (id bigint GENERATED BY DEFAULT AS IDENTITY, LIKE webhooks_attempt INCLUDING CONSTRAINTS)",
            "INSERT INTO webhooks_attempt_plain (delivery_id, number, url, started_at, duration_ms, status_code,"
            " error, response_excerpt)"
            " SELECT delivery_id, number, url, started_at, duration_ms, status_code, error, response_excerpt"
            " FROM webhooks_attempt WHERE delivery_id IN (SELECT id FROM webhooks_delivery)",
            "DROP TABLE webhooks_attempt",
            "ALTER TABLE webhooks_attempt_plain RENAME TO webhooks_attempt",
            "ALTER TABLE webhooks_attempt"
            " ADD CONSTRAINT webhooks_attempt_pkey PRIMARY KEY (id),"
            " ADD CONSTRAINT attempt_number_is_used_once UNIQUE (delivery_id, number),"
            " ADD CONSTRAINT webhooks_attempt_delivery_id_fk FOREIGN KEY (delivery_id)"
            " REFERENCES webhooks_delivery (id) DEFERRABLE INITIALLY DEFERRED",
        ):
            cursor.execute(statement)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0011_portal_labels")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(forwards, backwards)],
            state_operations=[
                migrations.CreateModel(
                    name="EventBody",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "event_id",
                                "created",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("event_id", models.CharField(max_length=28)),
                        ("created", models.DateTimeField()),
                        ("body", models.BinaryField()),
                    ],
                    options={"default_permissions": ()},
                ),
                migrations.RemoveField("event", "body"),
                migrations.AddField("event", "row_body", models.BinaryField(db_column="body", null=True)),
                migrations.RemoveConstraint("attempt", "attempt_number_is_used_once"),
                migrations.RemoveField("attempt", "id"),
                migrations.AddField(
                    "attempt",
                    "pk",
                    models.CompositePrimaryKey(
                        "delivery_id",
                        "number",
                        "started_at",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                migrations.AlterField(
                    "attempt",
                    "delivery",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="webhooks.delivery",
                    ),
                ),
            ],
        ),
    ]
