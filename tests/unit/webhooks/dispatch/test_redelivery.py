"""A redelivery starts a new series of attempts with the same bytes. The history is kept."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from config.api.errors import ApiError
from merchants.models import Merchant
from tests.leases import end_leases
from tests.support.webhooks.delivering import deliver_next, store_result
from tests.support.webhooks.fixtures import Clock
from tests.support.webhooks.receiver import Receiver, answer
from webhooks.dispatch.http_client import Answer
from webhooks.dispatch.leasing import claim_due
from webhooks.dispatch.redelivery import MAX_ATTEMPTS, redeliver, redeliver_failed
from webhooks.dispatch.retry_schedule import DELAYS
from webhooks.dispatch.testing import record_test_event, send_test_event
from webhooks.endpoints.configuration import Change, configure
from webhooks.event_types import EventType
from webhooks.models import Delivery, Endpoint, Event

Record = Callable[..., Event]
FAILED = Answer(500, "Answered 500.", "", 12)
ALICE = "api key quitt_012345"


def again() -> Delivery:
    return redeliver(Delivery.objects.get(), ALICE)


def state() -> dict[str, object]:
    return Delivery.objects.values().get()


def test_redelivery_after_failure_has_eight_attempts(
    receiver: Receiver, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    record()
    receiver.answers = [answer(500)] * 16
    for _ in range(8):
        assert deliver_next(clock=clock)
        clock.forward(timedelta(hours=7))
    assert not deliver_next(clock=clock)
    assert again().status == "pending"
    for delay in DELAYS:
        assert deliver_next(clock=clock)
        due_at = Delivery.objects.get().due_at
        assert due_at is not None
        assert delay <= due_at - clock.now <= delay * 1.1
        clock.now = due_at
    assert deliver_next(clock=clock)
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.attempts, delivery.due_at) == ("failed", 16, None)
    assert [attempt.number for attempt in delivery.attempt_set.all()] == list(range(1, 17))
    assert len(receiver.received) == 16


def test_redelivered_pending_delivery_is_due_with_all_attempts(
    receiver: Receiver, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    record()
    receiver.answers = [answer(500)] * 20
    for _ in range(6):
        assert deliver_next(clock=clock)
        clock.forward(timedelta(hours=2, minutes=13))
    hours_away = clock.now - timedelta(hours=2)
    clock.now = hours_away
    assert not deliver_next(clock=clock)
    again()
    made = 0
    while deliver_next(clock=clock):
        made += 1
        clock.forward(timedelta(hours=7))
    assert made == 8
    assert Delivery.objects.get().status == "failed"


def test_second_redelivery_request_sends_once(
    receiver: Receiver, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    record()
    deliver_next(clock=clock)
    again()
    again()
    assert Delivery.objects.count() == 1
    clock.forward(timedelta(seconds=5))
    assert deliver_next(clock=clock)
    assert not deliver_next(clock=clock)
    assert len(receiver.received) == 2


def test_running_attempt_is_first_of_the_new_series(endpoint: Endpoint, record: Record) -> None:
    record()
    now = timezone.now()
    for _ in range(7):
        [claim] = claim_due(limit=1, now=now)
        now += timedelta(hours=7)
        store_result(claim, FAILED, ended_at=now)
        Delivery.objects.update(due_at=timezone.now())
        now = timezone.now()
    [claim] = claim_due(limit=1, now=now)
    assert claim.attempt == 8
    again()
    assert claim_due(limit=1, now=timezone.now()) == []
    assert store_result(claim, FAILED, ended_at=timezone.now())
    delivery = Delivery.objects.get()
    assert delivery.status == "pending"
    assert delivery.due_at is not None
    assert delivery.due_at <= timezone.now() + timedelta(seconds=66)


def test_worker_with_an_expired_lease_keeps_the_new_series(endpoint: Endpoint, record: Record) -> None:
    record()
    [late] = claim_due(limit=1, now=timezone.now())
    Delivery.objects.update(lease_until=timezone.now())
    again()
    assert not store_result(late, FAILED, ended_at=timezone.now())
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.claim_id, delivery.attempts) == ("pending", None, 1)
    [first] = claim_due(limit=1, now=timezone.now())
    assert store_result(first, FAILED, ended_at=(ended_at := timezone.now()))
    due_at = Delivery.objects.values_list("due_at", flat=True).get()
    assert due_at is not None
    assert timedelta() <= due_at - ended_at - DELAYS[0] <= DELAYS[0] / 10


def lose_each_attempt(clock: Clock) -> None:
    """Let the worker of each attempt die. From the second one on, check that the delivery then waits."""
    for number in range(1, 9):
        assert len(claim_due(limit=1, now=clock.now)) == 1
        end_leases()
        if 1 < number < 8:
            assert claim_due(limit=1, now=clock.now) == []
            due_at = Delivery.objects.get().due_at
            assert due_at is not None
            assert DELAYS[number - 1] <= due_at - clock.now <= DELAYS[number - 1] * 1.1
            clock.now = due_at


def test_a_series_whose_last_attempt_lost_its_worker_is_given_up(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    record()
    lose_each_attempt(clock)
    assert claim_due(limit=1, now=clock.now) == []
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.attempts, delivery.lease_until) == ("failed", 8, None)
    again()
    clock.forward(timedelta(seconds=5))
    lose_each_attempt(clock)
    assert claim_due(limit=1, now=clock.now) == []
    assert Delivery.objects.get().status == "failed"
    assert Delivery.objects.get().attempt_set.count() == 16


def test_lost_attempt_after_a_failed_one_is_repeated_at_once(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    record()
    [claim] = claim_due(limit=1, now=clock.now)
    assert store_result(claim, FAILED, ended_at=clock.now)
    clock.forward(timedelta(seconds=70))
    assert len(claim_due(limit=1, now=clock.now)) == 1
    end_leases()
    [claim] = claim_due(limit=1, now=clock.now)
    assert claim.attempt == 3


def test_a_test_is_sent_again_like_any_other(
    receiver: Receiver, merchant: Merchant, endpoint: Endpoint, clock: Clock
) -> None:
    record_test_event(send_test_event(merchant, EventType.PAYMENT_SUCCEEDED))
    again()
    clock.forward(timedelta(seconds=5))
    assert deliver_next(clock=clock)
    first, second = receiver.received
    assert first.body == second.body


def test_there_is_an_end_to_it(endpoint: Endpoint, record: Record) -> None:
    record()
    Delivery.objects.update(
        attempts=MAX_ATTEMPTS,
        earlier_attempts=92,
        status="failed",
        due_at=None,
        finished_at=timezone.now(),
    )
    before = state()
    with pytest.raises(ApiError) as refused:
        again()
    assert refused.value.problems[0].code == "retry_limit_reached"
    assert state() == before


def give_up(record: Record, clock: Clock, **different: object) -> Delivery:
    """Return a delivery whose last attempt has just failed."""
    record(**different)
    delivery = Delivery.objects.latest("created_at")
    Delivery.objects.filter(pk=delivery.pk).update(
        status="failed", attempts=8, due_at=None, finished_at=clock.now
    )
    return delivery


def test_everything_given_up_since_a_time_is_sent_again(
    merchant: Merchant, receiver: Receiver, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    before = give_up(record, clock)
    clock.forward(timedelta(hours=1))
    since = clock.now
    after = [give_up(record, clock), give_up(record, clock)]
    assert redeliver_failed(merchant, since, ALICE) == 2
    assert redeliver_failed(merchant, since, ALICE) == 0
    while deliver_next(clock=clock):
        pass
    assert {d.pk for d in Delivery.objects.filter(status="delivered")} == {d.pk for d in after}
    assert Delivery.objects.get(pk=before.pk).status == "failed"


def test_bulk_redelivery_skips_other_merchants(
    merchant: Merchant, other_merchant: Merchant, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    configure(other_merchant, Change(url=endpoint.url))
    theirs = give_up(record, clock, merchant=other_merchant)
    assert redeliver_failed(merchant, clock.now, ALICE) == 0
    assert Delivery.objects.get(pk=theirs.pk).status == "failed"
