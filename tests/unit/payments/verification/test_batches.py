"""Payments that are stored in batches leave the same rows as payments that are stored one by one."""

import json
import random
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chains.client import Block, Head, Snapshot, TransactionFacts, Transfer
from chains.models import Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from payments.requests import transitions
from payments.requests.lifecycle import cancel_request, expire_due
from payments.verification import attempts, retry_policy, storing
from payments.verification.consumption import Consumption
from payments.verification.outcomes import Outcome
from tests.support.payments.world import make_request, submit
from tests.threads import at_once
from tests.verifying import verify_due
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Delivery, Event

RECIPIENTS = ("0x" + "11" * 20, "0x" + "22" * 20)
AMOUNT = 10_000_000
HEAD = 1000
NOT_COMPARED = {"id", "created_at", "expires_at", "verifying_since", "lease_until", "expiry_check_at"}
KINDS = (
    *("exact",) * 6,
    "part",
    "over",
    "unbound",
    "unmined",
    "shallow",
    "missing",
    "limited",
    "carrying",
    "shared",
    "used",
    "sighted",
    "accepted",
    "lost",
    "twice",
)
STATES = (*("active",) * 4, "late", "expired", "cancelled", "paid")


@dataclass
class Scripted:
    """A chain that knows these transactions; `on_look` runs while it is asked."""

    known: dict[str, TransactionFacts] = field(default_factory=dict)
    on_look: Callable[[], object] = lambda: None

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        self.on_look()
        return Snapshot(Head(HEAD, finalized=HEAD), {wanted: self.known.get(wanted) for wanted in hashes})

    def transaction_counts(self, senders: Sequence[str]) -> dict[str, int]:
        return {}

    def of(self, chain: object) -> Any:
        return self


@dataclass
class World:
    """Requests with their payments, the chain, and the time of the check."""

    merchants: Sequence[Merchant]
    token: Token
    now: datetime
    chain: Scripted = field(default_factory=Scripted)
    requests: list[PaymentRequest] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def request(self, merchant: Merchant, **more: Any) -> PaymentRequest:
        recipient = RECIPIENTS[len(self.requests) % 2]
        request = make_request(merchant, self.token, "10", recipient, lifetime=timedelta(hours=5), **more)
        self.requests.append(request)
        return request

    def pay(self, request: PaymentRequest, *transfers: Transfer, **facts: Any) -> Payment:
        """Submit a new transaction with these transfers for the request."""
        hash_ = f"0x{len(self.payments) + 1:064x}"
        payment = submit(request, hash_)
        self.payments.append(payment)
        block = Block(HEAD - 10, "0x" + "cd" * 32, self.now - timedelta(minutes=5))
        self.chain.known[hash_] = replace(
            TransactionFacts(
                hash_, "payer", 7, block, succeeded=True, transfers=transfers, effect="0xeffect"
            ),
            **facts,
        )
        return payment

    def transfer(self, request: PaymentRequest, amount: int = AMOUNT, **more: Any) -> Transfer:
        basis = Transfer(
            "0",
            self.token.contract_address,
            "payer",
            request.recipient_address,
            amount,
            (bytes(request.reference),),
        )
        return replace(basis, **more)

    def verify(self) -> int:
        return verify_due(client=self.chain.of, now=lambda: self.now)


def pay_in_some_way(world: World, request: PaymentRequest, kind: str) -> None:
    """Add a payment of this kind for the request."""
    exact = world.transfer(request)
    match kind:
        case "part":
            world.pay(request, world.transfer(request, AMOUNT // 3))
        case "over":
            world.pay(request, world.transfer(request, AMOUNT * 2))
        case "unbound":
            world.pay(request, world.transfer(request, references=()))
        case "unmined":
            world.pay(request, block=None, intended=(exact,))
        case "shallow":
            world.pay(request, exact, block=Block(HEAD, "0x" + "ef" * 32, world.now))
        case "missing":
            world.chain.known.pop(world.pay(request).transaction_hash)
        case "limited":
            parts = [replace(exact, slot=str(n), account="vault", gain=AMOUNT + 5) for n in range(2)]
            world.pay(request, *parts)
        case "carrying":
            other = world.requests[0]
            world.pay(request, exact, world.transfer(other, slot="1", references=()))
        case "shared":
            other = world.request(request.merchant)
            payment = world.pay(request, exact, world.transfer(other, slot="1"))
            world.payments.append(submit(other, payment.transaction_hash))
        case "used":
            payment = world.pay(request, exact)
            earlier = Payment.objects.create(
                request=world.requests[0],
                chain=request.chain,
                transaction_hash=f"0xee{len(world.payments):062x}",
            )
            Payment.objects.filter(pk=earlier.pk).update(next_check_at=world.now + timedelta(days=1))
            world.payments.append(earlier)
            ConsumedTransfer.objects.create(
                chain=request.chain,
                transaction_hash=payment.transaction_hash,
                slot="0",
                payment=earlier,
                amount=1,
            )
        case "sighted":
            payment = world.pay(request, exact)
            earlier_block = {"first_block_time": world.now - timedelta(minutes=20), "first_block_number": 1}
            Payment.objects.filter(pk=payment.pk).update(seen_at=world.now, **earlier_block)
        case "accepted":
            payment = world.pay(request, world.transfer(request, references=()))
            Payment.objects.filter(pk=payment.pk).update(accepted_by="alice", accepted_reason="known")
        case "lost":
            world.lost.append(world.pay(request, exact).pk)
        case "twice":
            world.pay(request, world.transfer(request, AMOUNT // 2))
            world.pay(request, exact)
        case _:
            world.pay(request, exact)


def bring_into_state(world: World, request: PaymentRequest, state: str) -> None:
    """Let the request be late, expired, cancelled or paid before the check."""
    row = PaymentRequest.objects.filter(pk=request.pk)
    if state == "late":
        row.update(expires_at=world.now - timedelta(minutes=10))
    elif state == "paid":
        row.update(amount_paid=AMOUNT)
        request.refresh_from_db()
        with transaction.atomic():
            transitions.move_request(request, PaymentRequest.Status.COMPLETED, actor="test")
    elif state in ("expired", "cancelled"):
        with transaction.atomic():
            transitions.move_request(request, PaymentRequest.Status(state), actor="test")


def random_world(merchants: Sequence[Merchant], token: Token, now: datetime, seed: int) -> World:
    """Return a world with a dozen requests in random states, paid in random ways."""
    choice, world = random.Random(seed), World(merchants, token, now)
    for _ in range(12):
        own_url = choice.choice((None, "https://shop.example/own"))
        request = world.request(choice.choice(merchants), webhook_url=own_url)
        pay_in_some_way(world, request, choice.choice(KINDS))
        bring_into_state(world, request, choice.choice(STATES))
    world.chain.on_look = lambda: Payment.objects.filter(pk__in=world.lost).update(claim_id=uuid.uuid4())
    # The order in which they are claimed.
    for place, payment in enumerate(world.payments):
        due = now - timedelta(minutes=30) + timedelta(seconds=place)
        Payment.objects.filter(pk=payment.pk, next_check_at__lt=now).update(next_check_at=due)
    return world


def rows_of(world: World) -> list[str]:
    """Return all rows as lines, with labels for ids and without the times at which rows were written."""
    labels = {
        **{str(request.pk): f"request {n}" for n, request in enumerate(world.requests)},
        **{request.shortcode: f"shortcode {n}" for n, request in enumerate(world.requests)},
        **{payment.pk: f"payment {n}" for n, payment in enumerate(world.payments)},
    }
    events = {event.pk: event for event in Event.objects.all()}
    lines = [
        *_lines(Payment.objects.all(), "request_id", "transaction_hash"),
        *_lines(PaymentRequest.objects.all(), "shortcode", leave_out={"reference"}),
        *_lines(ConsumedTransfer.objects.all(), "transaction_hash", "slot"),
        # Of each request in the order in which they were written.
        *(
            str(list(Transition.objects.filter(request=request).order_by("id").values_list(*_HISTORY)))
            for request in world.requests
        ),
        *(_of_event(event) for event in events.values()),
        *(
            f"delivery of {_of_event(events[delivery.public_event_id])} to {delivery.url_override!r}"
            for delivery in Delivery.objects.all()
        ),
    ]
    text = "\n".join(lines)
    for value, label in labels.items():
        text = text.replace(value, label)
    return sorted(text.splitlines())


_HISTORY = ("request_id", "payment_id", "from_status", "to_status", "actor", "reason")


def _lines(rows: Any, *first: str, leave_out: Collection[str] = ()) -> Iterator[str]:
    for row in rows.values():
        shown = {name: value for name, value in row.items() if name not in {*NOT_COMPARED, *leave_out}}
        shown["claim_id"] = shown.get("claim_id") is not None
        key = row["id"] if isinstance(row["id"], str | uuid.UUID) else ""
        yield f"{rows.model.__name__} {key} {sorted(shown.items())}"


def _of_event(event: Event) -> str:
    body = json.loads(bytes(event.body))
    assert body.pop("id") == event.pk
    assert body.pop("created") == int(event.created.timestamp())
    return f"{event.merchant_id} {event.type} {event.dedupe_key} {json.dumps(body)}"


@contextmanager
def undone() -> Iterator[None]:
    """Undo everything that is written inside."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def fail_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each batch of several payments fail after it has been written."""
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
        together = rows_of(world)
    fail_together(monkeypatch)
    with undone():
        world = random_world(merchants, usdc, now, seed)
        world.verify()
        one_by_one = rows_of(world)
    assert together == one_by_one


def test_the_events_of_a_merchant_come_in_the_order_of_its_payments(
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
        if any(each.payment.pk == broken.pk for each in consumptions):
            raise RuntimeError("for this test")
        store_credits(consumptions)

    monkeypatch.setattr(storing, "store_credits", store_others)
    world.verify()
    assert PaymentRequest.objects.filter(status="completed", amount_paid=AMOUNT).count() == 2
    assert ConsumedTransfer.objects.count() == Event.objects.count() == 2
    broken.refresh_from_db()
    assert (broken.status, broken.unanswered_looks, broken.claim_id) == ("processing", 1, None)
    assert broken.amount_received is None


@pytest.mark.parametrize("seed", range(3))
def test_each_payment_is_evaluated_once_per_check(
    merchants: list[Merchant], usdc: Token, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    evaluated: list[str] = []
    verdict_of = attempts.verdict_of

    def count(payment: Payment, *more: Any) -> Any:
        evaluated.append(payment.pk)
        return verdict_of(payment, *more)

    monkeypatch.setattr(attempts, "verdict_of", count)
    fail_together(monkeypatch)
    world = random_world(merchants, usdc, timezone.now() + timedelta(minutes=30), seed)
    assert world.verify() == len(evaluated) == len(set(evaluated))


def test_payments_that_depend_on_each_other_go_into_different_batches(
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
        Payment.objects.filter(pk=payment.pk).update(next_check_at=timezone.now() + timedelta(seconds=place))
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
def test_a_transfer_that_is_consumed_meanwhile_fails_only_its_own_payment(
    merchants: list[Merchant], usdc: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(merchants, usdc, timezone.now() + timedelta(minutes=30))
    for _ in range(5):
        request = world.request(merchants[0])
        world.pay(request, world.transfer(request))
    thief = Payment.objects.create(
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
    # As if the hashes had come long ago, so that they hold nothing open.
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
    """Assert that each payment was credited once, and each request ended once and reported success once."""
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
