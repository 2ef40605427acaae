"""Each index of the large tables serves a query that is listed here. No frequent query reads a whole large table.

The planner chooses freely, with 60,000 requests and their payments, events and deliveries.
"""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from merchants.models import IdempotencyKey
from payments.models import (
    ConsumedTransfer,
    Lookup,
    Payment,
    PaymentRequest,
    Route,
    Transition,
)
from tests.integration.payments.query_plans.conftest import Sample
from tests.integration.payments.query_plans.queries import NAMED, PREPARED, Query
from webhooks.models import Attempt, Delivery, Event, EventBody
from webhooks.storage.partitions import partitions

pytestmark = pytest.mark.django_db

LARGE = {
    model._meta.db_table
    for model in (
        PaymentRequest,
        Payment,
        Lookup,
        ConsumedTransfer,
        Transition,
        Route,
        Event,
        EventBody,
        Delivery,
        Attempt,
        IdempotencyKey,
    )
}


def asked(query: Query, at: Sample) -> list[tuple[str, Any]]:
    """Return the SQL statements of a query or a sweep; roll back its changes."""
    statements: list[tuple[str, Any]] = []

    def listen(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append((sql, params))
        return execute(sql, params, many, context)

    with transaction.atomic(), connection.execute_wrapper(listen):
        rows = query(at)
        if hasattr(rows, "_fetch_all"):
            list(rows)
        transaction.set_rollback(True)
    return statements


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def planned(sql: str, params: Any) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        (answer,) = cursor.fetchone()
    return list(nodes((answer if isinstance(answer, list) else json.loads(answer))[0]["Plan"]))


@pytest.mark.parametrize(
    ("index", "name", "query"), NAMED, ids=[f"{name} ({index})" for index, name, _ in NAMED]
)
def test_the_query_uses_its_index_and_reads_no_table_whole(
    sample: Sample, index: str, name: str, query: Query
) -> None:
    statements = [
        (sql, params)
        for sql, params in asked(query, sample)
        if sql.lstrip().startswith(("SELECT", "WITH", "UPDATE", "DELETE"))
    ]
    used: set[str] = set()
    for sql, params in statements:
        for node in planned(sql, params):
            used.add(node.get("Index Name", ""))
            is_whole = node["Node Type"] == "Seq Scan" and table_of(node) in LARGE
            assert not is_whole or is_small(node["Relation Name"]), (
                f"{name}: {node['Relation Name']} in {sql}"
            )
    assert any(each == index or (index.endswith("_") and each.startswith(index)) for each in used), used


@pytest.mark.parametrize(("name", "query"), PREPARED, ids=[name for name, _ in PREPARED])
def test_generic_plan_of_a_statement_reads_no_table_whole(sample: Sample, name: str, query: Query) -> None:
    statements = [sql for sql, _ in asked(query, sample) if 'FROM "payments_' in sql]
    assert statements
    for sql in statements:
        first, *others = sql.split("%s")
        generic = first + "".join(f"${place}{part}" for place, part in enumerate(others, 1))
        cursor: psycopg.Cursor[Any] = psycopg.Cursor(connection.connection)
        (row,) = cursor.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {generic}").fetchall()  # type: ignore[arg-type]
        found = list(nodes(row[0][0]["Plan"]))
        assert not [node for node in found if node["Node Type"] == "Seq Scan" and table_of(node) in LARGE], (
            sql
        )


def is_small(table: str) -> bool:
    """Return whether the table is the partition of this week, which has just begun, or of a later one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [table])
        return table not in LARGE and cursor.fetchone()[0] < 5000


def table_of(node: dict[str, Any]) -> str:
    """Return the table that the node reads. For a partition, return the partitioned table."""
    relation = str(node["Relation Name"])
    return next((part.table for part in partitions() if part.name == relation), relation)


def test_every_index_of_the_large_tables_has_its_query() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, indisunique FROM pg_index JOIN pg_class ON oid = indexrelid"
            " WHERE indrelid = ANY(%s::regclass[])",
            [sorted(LARGE - {"webhooks_attempt", "webhooks_eventbody"})],
        )
        existing = dict(cursor.fetchall())
    named = {index for index, _, _ in NAMED if not index.endswith("_")}
    assert named <= existing.keys()
    assert {index for index, is_unique in existing.items() if not is_unique} <= named


def test_a_partitioned_table_has_no_index_but_its_key() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE tablename IN ('webhooks_attempt', 'webhooks_eventbody') ORDER BY 1"
        )
        assert [name for (name,) in cursor.fetchall()] == ["webhooks_attempt_pkey", "webhooks_eventbody_pkey"]


def test_a_body_is_read_from_one_partition(sample: Sample) -> None:
    ((sql, params),) = asked(
        lambda at: EventBody.objects.filter(event_id=at.event.pk, created=at.event.created), sample
    )
    read = [node["Relation Name"] for node in planned(sql, params) if "Relation Name" in node]
    assert len(read) == 1, read


def test_creating_a_request_writes_thirteen_indexes() -> None:
    """Eleven cover all requests, one covers those with an order number, and one covers active requests."""
    partial = ["payment_request_by_order", "payment_request_due_for_expiry"]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_index JOIN pg_class ON oid = indexrelid"
            " WHERE indrelid = 'payments_paymentrequest'::regclass AND (indpred IS NULL OR relname = ANY(%s))",
            [partial],
        )
        assert len(cursor.fetchall()) == 13
