"""Queues decide which rows are due, in which order, and which of them a worker gets."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from chains.models import Token
from config.due_work.leases import DURATION
from config.due_work.queue import Queue
from merchants.models import Merchant
from payments.models import Lookup, PaymentRequest
from tests.leases import end_leases
from tests.support.payments.rows import new_payment
from tests.support.payments.world import make_request

Make = Callable[..., PaymentRequest]

# The lane is a text column that these tests don't use otherwise.
QUEUE = Queue(
    model=Lookup, due="next_check_at", owner="merchant_id", lane="block_hash", waiting="attempts = 0"
)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def make(request_for: Make, now: datetime) -> Callable[..., int]:
    """Return a function that makes a lookup which was due `late` seconds ago, and returns its key."""
    own = request_for()

    def make(late: int = 1, request: PaymentRequest = own, lane: str = "a") -> int:
        payment = new_payment(
            request=request,
            chain=request.chain,
            transaction_hash=f"0x{Lookup.objects.count():064x}",
            block_hash=lane,
            next_check_at=now - timedelta(seconds=late),
        )
        return payment.lookup.pk

    return make


def test_owners_take_turns_and_the_longest_overdue_come_first(
    make: Callable[..., int], other_merchant: Merchant, usdc: Token, request_for: Make, now: datetime
) -> None:
    others = make_request(other_merchant, usdc, "10", request_for().recipient_address)
    own = [make(late) for late in (90, 70, 80)]
    theirs = make(5, others)
    assert QUEUE.pick(now, 4, "a") == [own[0], theirs, own[2], own[1]]
    assert QUEUE.pick(now, 2, "a") == [own[0], theirs]
    newest_first = replace(QUEUE, order="next_check_at DESC")
    assert newest_first.pick(now, 2, "a") == [theirs, own[1]]


def test_only_due_rows_of_the_lane_are_picked(make: Callable[..., int], now: datetime) -> None:
    due, other, _, decided = make(), make(lane="b"), make(-60), make()
    Lookup.objects.filter(pk=decided).update(attempts=1)
    assert QUEUE.pick(now, 10, "a") == [due]
    assert QUEUE.pick(now, 10, "b") == [other]
    assert sorted(QUEUE.lanes(now)) == ["a", "b"]
    assert QUEUE.lanes(now - timedelta(hours=1)) == []


def test_queue_without_lanes_has_one_while_rows_are_due(make: Callable[..., int], now: datetime) -> None:
    queue = replace(QUEUE, lane="NULL::text")
    assert queue.lanes(now) == []
    keys = {make(lane="a"), make(lane="b")}
    assert queue.lanes(now) == [None]
    assert set(queue.claim(now, 10).keys) == keys
    assert queue.lanes(now) == []


def test_rows_of_a_dead_worker_are_taken_over_with_a_warning(
    make: Callable[..., int], now: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    keys = {make() for _ in range(3)}
    assert set(QUEUE.claim(now, 10, "a").keys) == keys
    assert QUEUE.claim(now, 10, "a").keys == ()
    assert "took over" not in caplog.text
    end_leases()
    assert set(QUEUE.claim(now, 10, "a").keys) == keys
    assert "took over 3 rows of payments_lookup" in caplog.text


def test_row_that_changed_after_it_was_picked_is_not_leased(make: Callable[..., int], now: datetime) -> None:
    moved, decided, leased, due = (make() for _ in range(4))
    keys = QUEUE.pick(now, 10, "a")
    Lookup.objects.filter(pk=moved).update(next_check_at=now + timedelta(minutes=1))
    Lookup.objects.filter(pk=decided).update(attempts=1)
    Lookup.objects.filter(pk=leased).update(claim_id=uuid.uuid4(), lease_until=Now() + DURATION)
    assert QUEUE.lease(now, keys).keys == (due,)


def test_unleased_queue_picks_rows_whoever_holds_them(make: Callable[..., int], now: datetime) -> None:
    key = make()
    QUEUE.claim(now, 10, "a")
    assert replace(QUEUE, has_lease=False).pick(now, 10, "a") == [key]
