"""The portal's pages must work with millions of rows. Here, with thousands, each query must use an index and
read few rows.

The tests count rows and don't measure times; `make bench-admin` does. The planner is forced to avoid plans that
only suit small tables. Lists count up to 100 rows instead of 10,000.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client

from bench.admin_data import Size, chains_at_work, generate
from bench.admin_pages import OF_MERCHANT_STAFF, admin_paths, api_paths
from config.admin import portal
from merchants.models import Merchant
from merchants.services import issue_key
from merchants.staff.roles import assign_role
from payments.models import DailyFigures, Payment, PaymentRequest
from payments.stats import daily
from payments.stats.daily import update_statistics
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

SIZE = Size(requests=3000, deliveries=6000, merchants=20, keys=60)
LARGE = {
    "payments_paymentrequest",
    "payments_payment",
    "payments_lookup",
    "payments_consumedtransfer",
    "payments_transition",
    "webhooks_event",
    "webhooks_delivery",
    "webhooks_attempt",
}
# The maximum number of rows of a search, or of rows that need attention. The tables have far more.
MAX_ROWS = 1100
MAX_QUERIES = 40  # includes chains, tokens and merchants, which a web process caches


@pytest.fixture(scope="module")
def filled(django_db_setup: None, django_db_blocker: Any) -> Iterator[Merchant]:
    """A small database made by the benchmark, and its busiest merchant. It is rolled back at the end."""
    with django_db_blocker.unblock(), transaction.atomic():
        generate(SIZE, lambda _: None, vacuum=False)
        chains_at_work()
        with pytest.MonkeyPatch.context() as patch:
            # Without a limit: after a time, a run leaves days to the next one, even on a busy machine.
            patch.setattr(daily, "WORK_SECONDS", float("inf"))
            update_statistics()
        busiest = Merchant.objects.order_by("name").first()
        assert busiest is not None
        yield busiest
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def _counts_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portal, "COUNTED_AT_MOST", 100)


def asked_by(client: Client, path: str) -> list[tuple[str, Any]]:
    """Return one page's queries. Fails if the page doesn't exist."""
    asked: list[tuple[str, Any]] = []

    def listen(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        asked.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(listen):
        response = client.get(path)
        if response.streaming:
            next(iter(response.streaming_content))
    assert response.status_code == 200, f"{path}: {response.status_code}"
    return asked


def rows_read(sql: str, params: Any) -> int:
    """Return the maximum number of rows that the query reads from one large table, with the better of two plans."""
    if not sql.startswith("SELECT"):
        return 0
    ways = ("seqscan", "hashjoin", "mergejoin"), ("seqscan", "hashjoin", "mergejoin", "sort")
    return min(_rows_read(sql, params, without) for without in ways)


def _rows_read(sql: str, params: Any, without: tuple[str, ...]) -> int:
    with connection.cursor() as cursor:
        for way in without:
            cursor.execute(f"SET LOCAL enable_{way} = off")
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
        (answer,) = cursor.fetchone()
        for way in without:
            cursor.execute(f"SET LOCAL enable_{way} = on")
    plan = answer if isinstance(answer, list) else json.loads(answer)
    return max(_scans(plan[0]["Plan"]), default=0)


def _scans(node: Any) -> Iterator[int]:
    """Yield the number of rows that each scan of a large table reads, including those that its filter removes."""
    if node.get("Relation Name") in LARGE:
        dropped = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
        yield round((node["Actual Rows"] + dropped) * node["Actual Loops"])
    for below in node.get("Plans", []):
        yield from _scans(below)


def held(asked: list[tuple[str, Any]]) -> None:
    assert len(asked) <= MAX_QUERIES, [sql for sql, _ in asked]
    for sql, params in asked:
        assert rows_read(sql, params) <= MAX_ROWS, f"{sql}, {params}"


def test_the_generator_makes_what_the_service_would_have_written(filled: Merchant) -> None:
    assert PaymentRequest.objects.count() == SIZE.requests
    assert Delivery.objects.count() == SIZE.deliveries
    paid = PaymentRequest.objects.filter(status="completed")
    assert SIZE.requests // 2 < paid.count() < SIZE.requests
    for request in paid[:50]:
        assert sum(payment.amount_received or 0 for payment in request.payments.all()) == request.amount_paid
        assert request.transitions.filter(payment=None, to_status="completed").exists()
    figures = DailyFigures.objects.filter(merchant=None)
    assert sum(row.requests_created for row in figures) == SIZE.requests
    assert (
        sum(row.deliveries_delivered for row in figures)
        == Delivery.objects.filter(status="delivered").count()
    )
    assert (
        sum(sum(row.confirmation_times) for row in figures)
        == Payment.objects.filter(status="completed").count()
    )


def test_no_page_of_the_portal_reads_a_large_table_whole(filled: Merchant) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("bench"))
    for path in admin_paths(filled.pk).values():
        held(asked_by(client, path))


def test_nor_does_any_page_of_one_merchants_staff(filled: Merchant) -> None:
    user = User.objects.create_user("staff", is_staff=True)
    assign_role(user, "merchant", filled)
    client = Client()
    client.force_login(user)
    for name in OF_MERCHANT_STAFF:
        held(asked_by(client, admin_paths(filled.pk)[name]))


def test_nor_does_any_list_of_the_api(filled: Merchant) -> None:
    _, key = issue_key(merchant=filled, permissions=["create_payments", "manage_webhooks"], name="bench")
    client = Client(headers={"X-API-Key": key})
    for path in api_paths(filled.pk).values():
        held(asked_by(client, path))
