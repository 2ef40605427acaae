"""Payments stored in batches leave the same rows as payments stored one by one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chains.models import Token
from merchants.models import Merchant
from payments.evaluation import retry_policy
from payments.models import ConsumedTransfer, Lookup, Payment, PaymentRequest, Transition
from payments.requests.lifecycle import cancel_request, expire_due
from payments.verification import attempts, storing
from payments.verification.consumption import Consumption
from payments.verification.outcomes import Outcome
from tests.support.payments.rows import assert_one_thing_is_due, change, new_payment
from tests.support.payments.scripted_world import AMOUNT, World, pay_in_some_way, random_world, rows_of
from tests.threads import at_once
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Event


@contextmanager
def undone() -> Iterator[None]:
    """Roll back everything written in the block."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def fail_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each batch of several payments fail after it was written."""
    store = storing.store

    def store_one(outcomes: Sequence[Outcome], *more: Any) -> set[str]:
        with transaction.atomic():
            written = store(outcomes, *more)
            if len(outcomes) > 1:
                raise RuntimeError("not together")
            return written

    monkeypatch.setattr(storing, "store", store_one)


@pytest.fixture
def merchants(merchant: Merchant, other_merchant: Merchant) -> list[Merchant]:
    configure(merchant, Change(url="https://shop.example/hooks", enabled_events=list(ALL_TYPES)))
    return [merchant, other_merchant]


ALL_TYPES = ("payment.succeeded", "payment.failed", "payment.partially_paid", "payment.overpaid")


@pytest.mark.parametrize("seed", range(12))
def test_both_ways_write_the_same_rows(
    merchants: list[Merchant], usdc: Token, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(retry_policy.random, "uniform", lambda *_: 1)
    now = timezone.now() + timedelta(minutes=30)
    with undone():
        world = random_world(merchants, usdc, now, seed)
        assert world.verify() >= 12
        assert_one_thing_is_due()
        together = rows_of(world)
    fail_together(monkeypatch)
    with undone():
        world = random_world(merchants, usdc, now, seed)
        world.verify()
        one_by_one = rows_of(world)
    assert together == one_by_one


def test_batched_events_keep_the_order_of_merchant_payments(
    merchants: list[Merchant], usdc: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "AT_ONCE", 7)
    world = World(merchants, usdc, timezone.now() + timedelta(minutes=30))
    for number in range(20):
        request = world.request(merchants[number % 2])
        world.pay(request, world.transfer(request))
    world.verify()
    for index, merchant in enumerate(merchants):
        events = Event.objects.filter(merchant=merchant).order_by("created", "id")
        assert [event.dedupe_key for event in events] == [str(r.pk) for r in world.requests[index::2]]
        assert len({event.created for event in events}) == len(events)


def test_a_batch_takes_as_many_statements_as_one_payment(merchants: list[Merchant], usdc: Token) -> None:
    def statements(count: int) -> int:
        world = World(merchants, usdc, timezone.now() + timedelta(minutes=30))
        with undone():
            for _ in range(count):
                request = world.request(merchants[0])
                world.pay(request, world.transfer(request))
            with CaptureQueriesContext(
                connection,
            ) as captured:
                world.verify()
            assert Payment.objects.filter(status="completed").count() == count
        return len(captured)

    assert statements(30) == statements(1)


def test_payment_that_fails_to_store_delays_no_others(
    merchants: list[Merchant], usdc: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(merchants, usdc, timezone.now() + timedelta(minutes=30))
    for _ in range(3):
        request = world.request(merchants[0])
        world.pay(request, world.transfer(request))
    store_credits, broken = storing.store_credits, world.payments[1]

    def store_others(consumptions: Sequence[Consumption]) -> None:
        if any(each.lookup.payment_id == broken.pk for each in consumptions):
            raise RuntimeError("for this test")
        store_credits(consumptions)

    monkeypatch.setattr(storing, "store_credits", store_others)
    world.verify()
    assert PaymentRequest.objects.filter(status="completed", amount_paid=AMOUNT).count() == 2
    assert ConsumedTransfer.objects.count() == Event.objects.count() == 2
    broken.refresh_from_db()
    assert (broken.status, broken.unanswered_looks, broken.lookup.claim_id) == ("processing", 1, None)
    assert broken.amount_received is None


@pytest.mark.parametrize("seed", range(3))
def test_each_payment_is_evaluated_once_per_check(
    merchants: list[Merchant], usdc: Token, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    evaluated: list[str] = []
    verdict_of = attempts.verdict_of

    def count(lookup: Lookup, *more: Any) -> Any:
        evaluated.append(lookup.payment_id)
        return verdict_of(lookup, *more)

    monkeypatch.setattr(attempts, "verdict_of", count)
    fail_together(monkeypatch)
    world = random_world(merchants, usdc, timezone.now() + timedelta(minutes=30), seed)
    assert world.verify() == len(evaluated) == len(set(evaluated))


def test_dependent_payments_go_into_different_batches(
    merchants: list[Merchant], usdc: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[list[int]] = []
    store = storing.store

    def note(outcomes: Sequence[Outcome], *more: Any) -> set[str]:
        batches.append([world.payments.index(each.payment) for each in outcomes])
        return store(outcomes, *more)

    world = World(merchants, usdc, timezone.now() + timedelta(minutes=30))
    for kind in ("twice", "shared", "exact", "unmined", "unbound", "missing"):
        pay_in_some_way(world, world.request(merchants[0]), kind)
    for place, payment in enumerate(world.payments):
        change(payment, next_check_at=timezone.now() + timedelta(seconds=place))
    monkeypatch.setattr(storing, "store", note)
    world.verify()
    assert batches == [[5, 7], [0, 2, 4, 6], [1, 3]]


def test_large_transactions_are_stored_in_batches_of_their_own(
    merchants: list[Merchant], usdc: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    store = storing.store

    def note(outcomes: Sequence[Outcome], *more: Any) -> set[str]:
        sizes.append(len(outcomes))
        return store(outcomes, *more)

    monkeypatch.setattr(storing, "store", note)
    monkeypatch.setattr(storing, "_TRANSFERS_AT_ONCE", 5)
    world = World(merchants, usdc, timezone.now() + timedelta(minutes=30))
    for count in (1, 9, 2, 3):
        request = world.request(merchants[0])
        parts = [world.transfer(request, AMOUNT // count + 1, slot=str(n)) for n in range(count)]
        world.pay(request, *parts)
    world.verify()
    assert sizes == [2, 1, 1]
    assert PaymentRequest.objects.filter(status="completed").count() == 4


@pytest.mark.django_db(transaction=True)
def test_transfer_consumed_meanwhile_fails_only_its_payment(
    merchants: list[Merchant], usdc: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(merchants, usdc, timezone.now() + timedelta(minutes=30))
    for _ in range(5):
        request = world.request(merchants[0])
        world.pay(request, world.transfer(request))
    thief = new_payment(
        request=world.requests[0],
        chain=usdc.chain,
        transaction_hash="0x" + "ee" * 32,
        next_check_at=world.now + timedelta(days=1),
    )
    plan = storing.plan_credits

    def plan_and_lose_one(wanted: Any) -> Any:
        planned = plan(wanted)

        def take() -> None:
            ConsumedTransfer.objects.get_or_create(
                chain=usdc.chain,
                transaction_hash=world.payments[2].transaction_hash,
                slot="0",
                defaults={"payment": thief, "amount": 1},
            )

        at_once([take])
        return planned

    monkeypatch.setattr(storing, "plan_credits", plan_and_lose_one)
    world.verify()
    statuses = [Payment.objects.get(pk=payment.pk).status for payment in world.payments]
    assert statuses == ["completed", "completed", "failed", "completed", "completed"]
    assert Payment.objects.get(pk=world.payments[2].pk).failure_code == "transaction_already_used"
    assert Event.objects.filter(type="payment.succeeded").count() == 4


@pytest.mark.django_db(transaction=True)
def test_many_workers_complete_batches_once(merchants: list[Merchant], usdc: Token) -> None:
    world = World(merchants, usdc, timezone.now() + timedelta(minutes=30))
    for number in range(60):
        request = world.request(merchants[number % 2])
        world.pay(request, world.transfer(request))
    at_once([world.verify] * 200)
    check_once(world, completed=60)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("rival", ["expiry", "cancellation"])
def test_a_batch_against_the_end_of_its_requests_has_one_winner(
    merchants: list[Merchant], usdc: Token, rival: str
) -> None:
    world = World(merchants, usdc, timezone.now() + timedelta(minutes=30))
    for number in range(50):
        request = world.request(merchants[number % 2])
        world.pay(request, world.transfer(request))
    # The payments are so old that they hold no request.
    Payment.objects.update(created_at=timezone.now() - timedelta(hours=1))
    PaymentRequest.objects.update(expires_at=timezone.now(), expiry_check_at=timezone.now())
    ending: list[Callable[[], object]] = (
        [expire_due] * 100
        if rival == "expiry"
        else [lambda r=r: cancel_request(r.pk, actor="test") for r in world.requests * 2]
    )
    at_once([*ending, *[world.verify] * 100])
    world.verify()
    check_once(world, completed=50)


def check_once(world: World, *, completed: int) -> None:
    """Check that each payment was credited once, and each request ended once and reported success once."""
    assert Payment.objects.filter(status="completed", amount_received=AMOUNT).count() == completed
    assert ConsumedTransfer.objects.count() == completed
    for request in PaymentRequest.objects.all():
        assert request.amount_paid == AMOUNT
        ends = list(
            Transition.objects.filter(request=request, payment=None).values_list("to_status", flat=True)
        )
        assert ends in (["active", "completed"], ["active", "expired", "completed"], ["active", "cancelled"])
        assert Event.objects.filter(type="payment.succeeded", dedupe_key=str(request.pk)).count() == 1
        steps = Transition.objects.filter(payment__request=request).values_list("to_status", flat=True)
        assert list(steps) == ["pending", "processing", "completed"]
    assert Event.objects.filter(type="payment.succeeded").count() == completed
    for merchant in world.merchants:
        created = list(Event.objects.filter(merchant=merchant).values_list("created", flat=True))
        assert len(set(created)) == len(created)
        assert all(each.tzinfo == UTC for each in created)
