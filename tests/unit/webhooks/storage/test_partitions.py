"""Event bodies and attempts are in weekly partitions.

They are created in advance, and dropped once nothing refers to them.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, connection
from django.test import Client
from django.utils import timezone

from config.health import beat_heart
from webhooks.dispatch.leasing import claim_due
from webhooks.models import Attempt, Delivery, Endpoint, Event, EventBody
from webhooks.storage import partitions
from webhooks.storage.bodies import bodies_of
from webhooks.storage.retention import KEPT, purge

pytestmark = pytest.mark.django_db
Record = Callable[..., Event]
WEEK = timedelta(days=7)


def names(table: str) -> list[str]:
    return [partition.name for partition in partitions.partitions() if partition.table == table]


def drop(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {name}")


def test_there_are_partitions_for_60_days_and_no_default() -> None:
    assert partitions.days_ahead(timezone.now()) > 59
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_partitioned_table WHERE partdefid <> 0")
        assert cursor.fetchone()[0] == 0


def test_missing_weeks_are_made_and_those_that_exist_stay() -> None:
    now = timezone.now()
    for table in partitions.TABLES:
        for name in names(table)[-3:]:
            drop(name)
    before = names("webhooks_attempt")
    assert partitions.days_ahead(now) < 50
    assert partitions.make_ahead(now) == 6
    assert partitions.days_ahead(now) > 59
    assert names("webhooks_attempt")[: len(before)] == before
    assert partitions.make_ahead(now) == 0


def test_a_week_later_one_more_is_made_for_each_table() -> None:
    assert partitions.make_ahead(timezone.now() + WEEK) == 2


def test_what_is_made_later_has_the_same_key_and_checks() -> None:
    now = timezone.now() + timedelta(days=70)
    partitions.make_ahead(now)
    with connection.cursor() as cursor:
        for table in partitions.TABLES:
            cursor.execute(
                "SELECT DISTINCT string_agg(definition, ';' ORDER BY definition) FROM ("
                " SELECT conrelid, pg_get_constraintdef(oid) AS definition FROM pg_constraint"
                " WHERE conrelid = ANY(%s::regclass[])) AS s GROUP BY conrelid",
                [[*names(table), table]],
            )
            assert len(cursor.fetchall()) == 1, table


def test_readyz_fails_when_less_than_a_week_is_left(client: Client) -> None:
    beat_heart()
    assert client.get("/readyz").status_code == 200
    for name in names("webhooks_eventbody")[1:]:
        drop(name)
    first_ends = partitions.partitions()[-1].until
    assert client.get("/readyz").status_code == (200 if first_ends - timezone.now() >= WEEK else 503)
    drop("webhooks_eventbody_first")
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["parts"]["partitions"]) == (503, False)


def test_event_is_stored_only_together_with_its_body(record: Record) -> None:
    event = record()
    assert EventBody.objects.get(event_id=event.pk, created=event.created).body
    for name in names("webhooks_eventbody"):
        drop(name)
    with pytest.raises(IntegrityError, match="no partition"):
        record()


def test_bodies_of_both_kinds_are_read_by_one_query(record: Record) -> None:
    old, new = record(dedupe_key="old"), record(dedupe_key="new")
    EventBody.objects.filter(event_id=old.pk).delete()
    Event.objects.filter(pk=old.pk).update(row_body=b'{"from":"before"}')
    events = list(Event.objects.order_by("created"))
    with connection.execute_wrapper(counted := Counted()):
        assert bodies_of(events) == [b'{"from":"before"}', new.body]
    assert counted.queries == 1


def test_a_body_from_before_the_partitions_is_delivered(endpoint: Endpoint, record: Record) -> None:
    event = record()
    EventBody.objects.all().delete()
    Event.objects.update(row_body=b'{"from":"before"}')
    (claim,) = claim_due(limit=1, now=timezone.now())
    assert (claim.event_id, claim.body) == (event.pk, b'{"from":"before"}')


def test_a_lost_body_fails_its_own_delivery_only(endpoint: Endpoint, record: Record) -> None:
    lost, event = record(dedupe_key="1"), record(dedupe_key="2")
    EventBody.objects.filter(event_id=lost.pk).delete()
    assert [claim.event_id for claim in claim_due(limit=5, now=timezone.now())] == [event.pk]
    assert Delivery.objects.get(event=lost).status == Delivery.Status.FAILED


def test_partition_is_dropped_after_its_events_and_deliveries(endpoint: Endpoint, record: Record) -> None:
    record()
    claim_due(limit=1, now=timezone.now())
    end = max(partition.until for partition in partitions.partitions() if partition.name.endswith("_first"))
    later = end + KEPT + timedelta(seconds=1)
    assert partitions.drop_unused(later - KEPT) == 0
    assert purge(later) == 1
    assert (Attempt.objects.count(), EventBody.objects.count()) == (1, 1)
    assert partitions.drop_unused(later - KEPT) == 2
    assert (Attempt.objects.count(), EventBody.objects.count()) == (0, 0)
    assert "webhooks_attempt_first" not in names("webhooks_attempt")


@pytest.mark.parametrize("status", [Delivery.Status.PENDING, Delivery.Status.FAILED])
def test_a_delivery_keeps_its_attempts_and_its_body(endpoint: Endpoint, record: Record, status: str) -> None:
    record()
    claim_due(limit=1, now=timezone.now())
    if status == Delivery.Status.FAILED:
        Delivery.objects.update(status=status, due_at=None, finished_at=timezone.now())
    assert partitions.drop_unused(datetime(2100, 1, 1, tzinfo=UTC)) == 0
    assert (Attempt.objects.count(), EventBody.objects.count()) == (1, 1)


def test_empty_partition_of_the_last_30_days_is_kept() -> None:
    before = partitions.partitions()
    assert partitions.drop_unused(timezone.now() - KEPT) == 0
    assert partitions.partitions() == before


class Counted:
    def __init__(self) -> None:
        self.queries = 0

    def __call__(self, execute: Callable[..., object], *asked: object) -> object:
        self.queries += 1
        return execute(*asked)
