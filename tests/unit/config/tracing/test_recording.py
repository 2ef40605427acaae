"""Traces record work and its statements, but no parameters. If tracing is off, nothing is recorded."""

import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest
from django.db import DataError, connection, transaction
from django.test import Client
from psycopg import sql

from chains.models import Token
from config.database.compiled_query import run
from config.tracing import recording
from config.tracing.recording import MAX_STATEMENTS, Work, describe, traced
from merchants.models import ApiKey, Merchant
from tests.processes import REPOSITORY, environment

WALLET = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture
def works() -> Iterator[list[Work]]:
    """The work that is recorded during the test."""
    works: list[Work] = []
    recording.start(works.append)
    yield works
    recording.stop()


def test_without_a_collector_nothing_is_recorded() -> None:
    asked = []
    with traced("a check", about=lambda: asked.append(1) or []):
        assert recording.current() is None
    assert asked == []


@pytest.mark.django_db
def test_without_a_collector_no_process_imports_opentelemetry() -> None:
    code = (
        "import sys, config.wsgi, config.celery; from webhooks import tasks; from payments import tasks; "
        # If the other modules are installed, redis-py imports them for metrics.
        "sys.exit(any(name in sys.modules for name in ('config.observe.spans', 'opentelemetry.sdk.trace')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, env=environment()).returncode == 0


def test_work_records_times_error_type_and_later_details(works: list[Work]) -> None:
    def fail() -> None:
        with traced("first", "server"):
            describe({"http.route": "pay"}, name="GET pay")
            raise ValueError("a secret")

    with pytest.raises(ValueError, match="secret"):
        fail()
    (work,) = works
    assert (work.name, work.kind, work.error, work.details) == (
        "GET pay", "server", "ValueError", {"http.route": "pay"},
    )  # fmt: skip
    assert work.began <= work.ended


def test_work_inside_other_work_is_a_piece_of_its_own(works: list[Work]) -> None:
    with traced("outer"):
        with traced("inner"):
            describe({"is": "inner"})
        describe({"is": "outer"})
    assert [(work.name, work.details) for work in works] == [
        ("inner", {"is": "inner"}), ("outer", {"is": "outer"}),
    ]  # fmt: skip


def test_a_writer_that_fails_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(work: Work) -> None:
        raise RuntimeError

    recording.start(fail)
    try:
        with traced("a check"):
            done = True
    finally:
        recording.stop()
    assert done
    assert "a trace could not be written" in caplog.text


@pytest.mark.django_db
def test_statements_are_recorded_without_their_values(works: list[Work], merchant: Merchant) -> None:
    with traced("a check"):
        Merchant.objects.filter(name="a customer's name").first()
        run("SELECT id FROM merchants_merchant WHERE id = %s::uuid", [uuid.uuid4()])
        with connection.cursor() as cursor:
            cursor.execute(
                sql.SQL("SELECT {}").format(sql.Identifier("id")) + sql.SQL(" FROM payments_payment")
            )
            cursor.executemany("SELECT %s", [("first value",), ("second value",)])
    Merchant.objects.first()  # outside
    (work,) = works
    statements = [str(each.sql) for each in work.statements]
    assert len(statements) == 4
    assert 'FROM "merchants_merchant" WHERE "merchants_merchant"."name" = %s' in statements[0]
    assert not any("customer" in each or "value" in each for each in statements)
    assert all(work.began <= each.began <= each.ended <= work.ended for each in work.statements)


@pytest.mark.django_db
def test_a_statement_that_fails_has_the_name_of_its_error_alone(works: list[Work], db: None) -> None:
    with traced("a check"), pytest.raises(DataError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT %s::int", ["a customer's name"])
    assert "DataError" in [each.error for each in works[0].statements]
    assert "customer" not in repr(works)


@pytest.mark.django_db
def test_of_very_many_statements_the_rest_is_counted(works: list[Work]) -> None:
    with traced("a batch"), connection.cursor() as cursor:
        for _ in range(MAX_STATEMENTS + 5):
            cursor.execute("SELECT 1")
    assert (len(works[0].statements), works[0].statements_left_out) == (MAX_STATEMENTS, 5)


def test_api_call_is_named_by_route_without_url_or_body(
    works: list[Work], client: Client, api_key: tuple[ApiKey, str], usdc: Token
) -> None:
    key = {"X-API-Key": api_key[1]}
    order = {"amount": "10", "token_id": usdc.pk, "chain_id": usdc.chain_id, "recipient_address": WALLET}
    created = client.post("/api/payment-requests", order, content_type="application/json", headers=key)
    assert created.status_code == 201
    client.get("/api/payment-requests?api_key=in-the-query", headers=key)
    assert [(work.name, work.kind, work.joins) for work in works] == [
        ("POST api/payment-requests", "server", True), ("GET api/payment-requests", "server", False),
    ]  # fmt: skip
    assert works[0].details == {
        "http.request.method": "POST", "http.route": "api/payment-requests", "http.response.status_code": 201,
    }  # fmt: skip
    assert any("INSERT INTO" in str(each.sql) for each in works[0].statements)
    assert api_key[1] not in repr(works)
    assert "in-the-query" not in repr(works)
    assert WALLET not in repr(works)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/readyz", "/static/no.js", "/no/such/page"])
def test_monitoring_and_unknown_routes_are_not_traced(works: list[Work], client: Client, path: str) -> None:
    client.get(path)
    assert works == []
