"""Weekly partitions for event bodies and attempts: create them 60 days ahead, and drop those that are no longer used.

Dropping a partition takes only milliseconds and leaves nothing to vacuum. There is no default partition, because rows
in it would prevent the creation of the partition for their week. Values that must be unique are in tables without
partitions.
"""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import OperationalError, ProgrammingError, connection, transaction
from django.utils import timezone

logger = logging.getLogger(__name__)

AHEAD = timedelta(days=60)
LEAST_AHEAD = timedelta(days=7)
WEEK = timedelta(days=7)
# For each table: the query for rows that still need the partition that ends at %s.
TABLES = {
    "webhooks_eventbody": "SELECT FROM webhooks_event WHERE created < %s",
    "webhooks_attempt": "SELECT FROM webhooks_delivery WHERE created_at < %s",
}
_LOCK = 0x70617274  # The number of an advisory lock: one process at a time creates and drops partitions.
# If a statement waits for a lock on a table, all other queries wait behind it. So the statement gives up soon, and the
# next run retries.
_LOCK_WAIT = "200ms"
_PARTITIONS = r"""
SELECT parent.relname, child.relname,
       (regexp_match(pg_get_expr(child.relpartbound, child.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz
FROM pg_inherits
JOIN pg_class AS child ON child.oid = inhrelid
JOIN pg_class AS parent ON parent.oid = inhparent
WHERE parent.oid IN (SELECT to_regclass(name) FROM unnest(%s::text[]) AS name)
ORDER BY 1, 3
"""


@dataclass(frozen=True)
class Partition:
    """A partition with rows that are older than `until`."""

    table: str
    name: str
    until: datetime


def partitions() -> list[Partition]:
    """Return the partitions of each table, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTITIONS, [list(TABLES)])
        return [Partition(*row) for row in cursor.fetchall()]


def make_ahead(now: datetime) -> int:
    """Create the missing partitions for the next 60 days. Return how many were created."""
    made = 0
    for table, until in _ends(partitions()).items():
        start = until or monday(now)
        while start < now + AHEAD:
            if not _run(making_of(table, start)):
                break  # A later partition would leave a gap.
            made += 1
            start += WEEK
    return made


def drop_unused(before: datetime) -> int:
    """Drop the partitions that end by `before` and that no event or delivery needs. Return how many were dropped.

    A partition of event bodies is needed while there is an event from before the partition's end. A partition of
    attempts is needed while there is a delivery from before the partition's end, because a delivery is older than its
    attempts.
    """
    dropped = 0
    for partition in partitions():
        if partition.until <= before and not _is_used(partition):
            dropped += _run([f"DROP TABLE {partition.name}"])
    return dropped


def days_ahead(now: datetime) -> float:
    """Return for how many more days every table has partitions. At 0 or less, no rows can be stored now."""
    ends = _ends(partitions()).values()
    return min((end - now).total_seconds() / 86400 if end else 0.0 for end in ends)


def are_ready() -> bool:
    """Whether there are partitions for at least a week. Otherwise `/readyz` fails."""
    return days_ahead(timezone.now()) >= LEAST_AHEAD / timedelta(days=1)


def monday(moment: datetime) -> datetime:
    """Return the start of the week of this moment, in UTC."""
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=day.weekday())


def making_of(table: str, start: datetime) -> list[str]:
    """Return the SQL that creates the partition of one week.

    `CREATE TABLE … PARTITION OF` would block concurrent reads and writes. This SQL doesn't block them.
    """
    name = f"{table}_{start:%Y%m%d}"
    return [
        f"CREATE TABLE {name} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)",
        f"ALTER TABLE {table} ATTACH PARTITION {name}"
        f" FOR VALUES FROM ('{start.isoformat()}') TO ('{(start + WEEK).isoformat()}')",
    ]


def _ends(existing: list[Partition]) -> dict[str, datetime | None]:
    ends: dict[str, datetime | None] = dict.fromkeys(TABLES)
    for partition in existing:
        ends[partition.table] = partition.until  # partitions are in ascending order, so the newest one wins
    return ends


def _is_used(partition: Partition) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT EXISTS ({TABLES[partition.table]})", [partition.until])
        return bool(cursor.fetchone()[0])


def _run(statements: list[str]) -> bool:
    """Run the statements in one transaction. Return False if another process runs them or locks the table."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
            if not cursor.fetchone()[0]:
                return False
            cursor.execute(f"SET LOCAL lock_timeout = '{_LOCK_WAIT}'")
            for statement in statements:
                cursor.execute(statement)
    except (
        OperationalError,
        ProgrammingError,
    ) as error:  # ProgrammingError means that another process has just created the partition.
        logger.warning("a partition could not be made or dropped: %s", error)
        return False
    logger.info("%s", statements[-1])
    return True
