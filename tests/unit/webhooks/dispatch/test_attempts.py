"""The order in which deliveries are leased, and the effect of a stored attempt on its endpoint's health."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from merchants.models import Merchant
from tests.support.webhooks.delivering import store_result
from tests.support.webhooks.fixtures import Clock
from webhooks.dispatch.attempts import Outcome, store_results
from webhooks.dispatch.http_client import Answer
from webhooks.dispatch.leasing import MAX_IN_FLIGHT_PER_MERCHANT, claim_due, release
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Attempt, Delivery, Endpoint, Event

pytestmark = pytest.mark.django_db
Record = Callable[..., Event]
DELIVERED = Answer(200, "", "", 12)
FAILED = Answer(500, "Answered 500.", "", 12)


def test_everybodys_first_comes_before_anybodys_second(
    merchant: Merchant, other_merchant: Merchant, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    configure(other_merchant, Change(url=endpoint.url))
    mine = [record() for _ in range(4)]
    theirs = [record(merchant=other_merchant) for _ in range(2)]
    events = [claim.event_id for claim in claim_due(limit=4, now=clock.now)]
    assert events == [mine[0].id, theirs[0].id, mine[1].id, theirs[1].id]


def test_an_endpoint_that_fails_has_one_attempt_in_flight(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    for _ in range(MAX_IN_FLIGHT_PER_MERCHANT + 1):
        record()
    Endpoint.objects.update(failing_since=clock.now)
    [claim] = claim_due(limit=10, now=clock.now)
    assert claim.is_slow
    assert claim_due(limit=10, now=clock.now) == []
    assert store_result(claim, DELIVERED, ended_at=clock.now)
    assert len(claim_due(limit=10, now=clock.now)) == MAX_IN_FLIGHT_PER_MERCHANT


def test_retries_to_own_urls_do_not_hide_first_attempts(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    hanging = [record(webhook_url="https://hangs.example/hook").id for _ in range(MAX_IN_FLIGHT_PER_MERCHANT)]
    for claim in claim_due(limit=10, now=clock.now):
        assert store_result(claim, FAILED, ended_at=clock.now)
    clock.forward(timedelta(days=1))
    fresh = [record().id, record(webhook_url="https://elsewhere.example/hook").id]
    claims = claim_due(limit=10, now=clock.now)
    assert {claim.event_id for claim in claims} >= set(fresh)
    assert [claim.event_id in hanging for claim in claims if claim.is_slow] == [True]


def test_slow_own_urls_do_not_hide_deliveries_to_the_endpoint(
    merchant: Merchant, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    for _ in range(MAX_IN_FLIGHT_PER_MERCHANT + 1):
        record(webhook_url="https://hangs.example/hook")
    fresh = [record().id for _ in range(MAX_IN_FLIGHT_PER_MERCHANT)]
    claims = claim_due(limit=10, now=clock.now, slow_own_urls=[merchant.pk])
    assert [claim.is_slow for claim in claims].count(True) == 1
    assert {claim.event_id for claim in claims if not claim.is_slow} == set(fresh[:-1])
    assert len(claims) == MAX_IN_FLIGHT_PER_MERCHANT
    assert claim_due(limit=10, now=clock.now, slow_own_urls=[merchant.pk]) == []


def test_first_attempt_in_slow_lane_comes_before_due_retries(
    merchant: Merchant, record: Record, clock: Clock
) -> None:
    for _ in range(2):
        record(webhook_url="https://hangs.example/hook")
    for claim in claim_due(limit=10, now=clock.now):
        assert store_result(claim, FAILED, ended_at=clock.now)
    clock.forward(timedelta(days=1))
    fresh = record(webhook_url="https://elsewhere.example/hook")
    [claim] = claim_due(limit=10, now=clock.now, slow_own_urls=[merchant.pk])
    assert (claim.event_id, claim.is_slow) == (fresh.id, True)


def test_failing_since_is_first_failure_until_a_success(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    first_failure = clock.now
    for _ in range(2):
        record()
        [claim] = claim_due(limit=1, now=clock.now)
        store_result(claim, FAILED, ended_at=clock.now)
        clock.forward(timedelta(seconds=30))
        assert Endpoint.objects.get().failing_since == first_failure
    clock.forward(timedelta(hours=1))
    [claim] = claim_due(limit=1, now=clock.now)
    store_result(claim, DELIVERED, ended_at=clock.now)
    assert Endpoint.objects.get().failing_since is None


def test_later_success_ends_failing_even_if_claimed_earlier(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    for _ in range(3):
        record()
    failed, early, arrived = claim_due(limit=3, now=clock.now)
    assert store_result(failed, FAILED, ended_at=clock.now)
    assert store_result(early, DELIVERED, ended_at=clock.now - timedelta(seconds=1))
    assert Endpoint.objects.get().failing_since == clock.now
    assert store_result(arrived, DELIVERED, ended_at=clock.now + timedelta(seconds=1))
    assert Endpoint.objects.get().failing_since is None


def test_a_requests_own_url_says_nothing_of_the_endpoint(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    record(webhook_url="https://elsewhere.example/hook")
    [claim] = claim_due(limit=1, now=clock.now)
    store_result(claim, FAILED, ended_at=clock.now)
    assert Endpoint.objects.get().failing_since is None


def test_claiming_and_storing_many_takes_no_more_statements(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    def statements(limit: int) -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            claims = claim_due(limit=limit, now=clock.now)
            assert len(claims) == limit
            assert store_results([Outcome(claim, DELIVERED, clock.now) for claim in claims]) == limit
        return len(seen)

    for _ in range(MAX_IN_FLIGHT_PER_MERCHANT + 1):
        record()
    assert statements(MAX_IN_FLIGHT_PER_MERCHANT) == statements(1)


def test_a_released_claim_counts_for_nothing(endpoint: Endpoint, record: Record, clock: Clock) -> None:
    record()
    claims = claim_due(limit=1, now=clock.now)
    release(claims)
    row = Delivery.objects.get()
    assert (row.attempts, row.claim_id, row.lease_until, row.status) == (0, None, None, "pending")
    assert not Attempt.objects.exists()
    assert not store_result(claims[0], DELIVERED, ended_at=clock.now)
    assert len(claim_due(limit=1, now=clock.now)) == 1


def test_claims_are_released_in_the_order_of_stored_results(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    for _ in range(3):
        record()
    claims = claim_due(limit=3, now=clock.now)
    with CaptureQueriesContext(connection) as seen:
        release(claims[::-1])
    changes = [query["sql"] for query in seen if "webhooks_delivery" in query["sql"]]
    assert "ORDER BY id FOR NO KEY UPDATE" in changes[0]
    assert all("ORDER BY id" not in change for change in changes[1:])
    assert Delivery.objects.filter(claim_id=None, attempts=0).count() == 3


def test_held_deliveries_of_disabled_endpoint_do_not_slow_claims(
    merchant: Merchant, other_merchant: Merchant, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO webhooks_delivery
                   (id, merchant_id, public_event_id, type, url_override, own_body, is_test, status, attempts, due_at,
                    created_at)
               SELECT 'del_held' || n, %s, 'evt_held', 'payment.succeeded', '', 'x'::bytea, false, 'pending', 1,
                      %s::timestamptz - interval '1 hour', now()
               FROM generate_series(1, 5000) n""",
            [merchant.pk, clock.now],
        )
        cursor.execute("ANALYZE webhooks_delivery")
    configure(merchant, Change(url=endpoint.url, is_enabled=False))
    configure(other_merchant, Change(url=endpoint.url))
    own, theirs = record(webhook_url="https://elsewhere.example/hook"), record(merchant=other_merchant)

    with CaptureQueriesContext(connection) as seen:
        claimed = {claim.event_id for claim in claim_due(limit=32, now=clock.now)}
    assert claimed == {own.id, theirs.id}
    [claiming] = [
        query["sql"] for query in seen if "lease_until" in query["sql"] and "UPDATE" in query["sql"]
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {claiming}")
        [[[explained]]] = cursor.fetchall()
    assert rows_left_out(explained["Plan"]) < 100


def rows_left_out(node: dict[str, Any]) -> int:
    """Return the number of rows that the plan read and then filtered out."""
    mine = node.get("Rows Removed by Filter", 0) * node.get("Actual Loops", 1)
    return int(mine) + sum(rows_left_out(child) for child in node.get("Plans", ()))
