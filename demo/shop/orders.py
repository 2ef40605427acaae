"""Orders and the events that changed them, in one SQLite file."""

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from demo.shop.goods import Good
from demo.shop.webhook import Event

SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY,
    good TEXT NOT NULL,
    amount TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'awaiting' CHECK (status IN ('awaiting', 'paid', 'expired')),
    created_at TEXT NOT NULL,
    payment_request TEXT NOT NULL DEFAULT '',
    payment_url TEXT NOT NULL DEFAULT '',
    problem TEXT NOT NULL DEFAULT '',
    transaction_hash TEXT NOT NULL DEFAULT '',
    settled_by TEXT NOT NULL DEFAULT '',
    settled_at TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, type TEXT NOT NULL, received_at TEXT NOT NULL);
"""

NUMBER_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True)
class Order:
    """An order.

    `settled_by` is the event that made the order paid or expired. `problem` is the reason why the last payment failed.
    """

    id: str
    good: str
    amount: str
    status: str
    created_at: str
    payment_request: str
    payment_url: str
    problem: str
    transaction_hash: str
    settled_by: str
    settled_at: str


COLUMNS = ", ".join(field.name for field in fields(Order))


class Orders:
    def __init__(self, path: str) -> None:
        self._path = path
        with self._database() as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(SCHEMA)

    def open(self, good: Good) -> Order:
        """Store a new order, before its payment request is created. The order number can't be guessed."""
        number = "HC-" + "".join(secrets.choice(NUMBER_ALPHABET) for _ in range(10))
        with self._database() as database:
            database.execute(
                "INSERT INTO orders (id, good, amount, created_at) VALUES (?, ?, ?, ?)",
                (number, good.slug, good.price, _now()),
            )
        return self[number]

    def __getitem__(self, number: str) -> Order:
        """Return the order. Raises KeyError if there is none."""
        orders = self._select("WHERE id = ?", number)
        if not orders:
            raise KeyError(number)
        return orders[0]

    def latest(self, count: int) -> list[Order]:
        """Return the newest orders first."""
        return self._select("ORDER BY created_at DESC, rowid DESC LIMIT ?", count)

    def keep_payment_request(self, number: str, payment_request: str, payment_url: str) -> None:
        """Store the order's payment request."""
        with self._database() as database:
            database.execute(
                "UPDATE orders SET payment_request = ?, payment_url = ? WHERE id = ?",
                (payment_request, payment_url, number),
            )

    def apply(self, event: Event) -> bool:
        """Apply a verified event to its order. If it was applied before, do nothing and return False.

        One transaction stores the event's id and the change. Events may arrive in any order. `paid` is final, and a
        late payment also makes an expired order paid.
        """
        with self._database() as database:
            new = database.execute(
                "INSERT OR IGNORE INTO events (id, type, received_at) VALUES (?, ?, ?)",
                (event.id, event.type, _now()),
            )
            if new.rowcount == 0:
                return False
            self._change_order(database, event)
        return True

    def _change_order(self, database: sqlite3.Connection, event: Event) -> None:
        about = event.object
        if about.get("test"):
            return
        number = about.get("reference")
        if event.type == "payment.succeeded":
            database.execute(
                "UPDATE orders SET status = 'paid', problem = '', transaction_hash = ?, settled_by = ?,"
                " settled_at = ? WHERE id = ? AND status != 'paid'",
                (about.get("transaction_hash") or "", event.id, _now(), number),
            )
        elif event.type == "payment.expired":
            database.execute(
                "UPDATE orders SET status = 'expired', settled_by = ?, settled_at = ?"
                " WHERE id = ? AND status = 'awaiting'",
                (event.id, _now(), number),
            )
        elif event.type == "payment.failed":
            database.execute(
                "UPDATE orders SET problem = ? WHERE id = ? AND status = 'awaiting'",
                (about.get("failure_message") or "The payment could not be confirmed.", number),
            )

    def _select(self, clause: str, value: str | int) -> list[Order]:
        with self._database() as database:
            rows = database.execute(f"SELECT {COLUMNS} FROM orders {clause}", (value,)).fetchall()  # noqa: S608
        return [Order(*row) for row in rows]

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._path, timeout=5)
        try:
            with database:
                yield database
        finally:
            database.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
