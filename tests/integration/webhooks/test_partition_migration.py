"""A database of the version before is brought to partitions and back with all of its rows."""

import os
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from demo.commands import Commands

BEFORE = (("webhooks", "0011"), ("payments", "0021"))
NOW = datetime.now(UTC)
_FILLERS = {
    "boolean": False,
    "timestamp with time zone": NOW,
    "jsonb": "{}",
    "bytea": b"",
    "ARRAY": [],
    "character varying": "",
    "text": "",
}


class Old:
    """A database of its own, migrated by the command as an operator would."""

    def __init__(self, manage: Commands, rows: psycopg.Connection[Any]) -> None:
        self._manage, self.rows = manage, rows

    def migrate(self, *target: str) -> None:
        self._manage("migrate", "-v", "0", *target)

    def insert(self, table: str, **values: Any) -> None:
        """Insert a row; other columns that need a value get an empty one."""
        asked = self.rows.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s"
            " AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'",
            [table],
        )
        values = {name: _FILLERS.get(type_, 0) for name, type_ in asked if name not in values} | values
        query = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join([sql.Placeholder()] * len(values)),
        )
        self.rows.execute(query, list(values.values()))

    def all(self, query: str) -> list[tuple[Any, ...]]:
        return self.rows.execute(query).fetchall()


@pytest.fixture
def old() -> Iterator[Old]:
    name = f"before_{uuid.uuid4().hex[:12]}"
    url = os.environ["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            own = urlsplit(url)._replace(path=f"/{name}").geturl()
            with (
                psycopg.connect(own, autocommit=True) as rows,
                Commands({**os.environ, "DATABASE_URL": own}) as manage,
            ):
                yield Old(manage, rows)
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


ATTEMPTS = "SELECT delivery_id, number, url, status_code FROM webhooks_attempt ORDER BY 1, 2"
BODIES = """
    SELECT event.id, convert_from(coalesce(event.body, stored.body), 'UTF8') FROM webhooks_event AS event
    LEFT JOIN webhooks_eventbody AS stored ON stored.event_id = event.id AND stored.created = event.created ORDER BY 1
"""


def test_attempts_and_bodies_survive_the_way_there_and_back(old: Old) -> None:
    old.migrate()
    for target in BEFORE:
        old.migrate(*target)
    merchant = uuid.uuid4()
    old.insert("merchants_merchant", id=merchant, name="shop")
    for age in (0, 10, 29):
        at = NOW - timedelta(days=age)
        event = f"evt_{age:024}"
        old.insert(
            "webhooks_event",
            id=event,
            merchant_id=merchant,
            type="payment.failed",
            created=at,
            dedupe_key=event,
            body=event.encode(),
        )
        old.insert(
            "webhooks_delivery",
            id=f"del_{age:024}",
            merchant_id=merchant,
            event_id=event,
            public_event_id=event,
            type="payment.failed",
            status="pending",
            due_at=at,
        )
        for number in (1, 2):
            old.insert(
                "webhooks_attempt",
                delivery_id=f"del_{age:024}",
                number=number,
                url="https://shop.example/hook",
                started_at=at - timedelta(minutes=number),
                status_code=503,
            )
    attempts = old.all(ATTEMPTS)
    assert len(attempts) == 6

    old.migrate()
    assert old.all(ATTEMPTS) == attempts
    assert old.all(BODIES) == [(f"evt_{age:024}", f"evt_{age:024}") for age in (0, 10, 29)]
    assert old.all("SELECT DISTINCT tableoid::regclass::text FROM webhooks_attempt") == [
        ("webhooks_attempt_first",)
    ]
    for days in (1, 30, 59):  # new rows find their partition
        at = NOW + timedelta(days=days)
        old.insert("webhooks_attempt", delivery_id="del_" + "0" * 24, number=days + 10, started_at=at)
    event = "evt_" + "n" * 24
    old.insert(
        "webhooks_event", id=event, merchant_id=merchant, type="payment.failed", created=NOW, dedupe_key="new"
    )
    old.insert("webhooks_eventbody", event_id=event, created=NOW, body=b"new")
    old.migrate()  # nothing is left to do

    for target in BEFORE:
        old.migrate(*target)
    assert set(attempts) <= set(old.all(ATTEMPTS))
    assert len(old.all(ATTEMPTS)) == 9
    assert old.all("SELECT convert_from(body, 'UTF8') FROM webhooks_event WHERE id LIKE 'evt_n%'") == [
        ("new",)
    ]
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        old.insert("webhooks_attempt", delivery_id="del_none", number=1, started_at=NOW)
    old.rows.execute("DELETE FROM webhooks_attempt WHERE started_at > now()")
    old.migrate()
    assert old.all(ATTEMPTS) == attempts
