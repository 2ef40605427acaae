"""Requests paid in every way on a scripted chain, and the rows that the service stores for them."""

import json
import random
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from chains.client import Block, Head, Snapshot, TransactionFacts, Transfer
from chains.models import Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Lookup, Payment, PaymentRequest, Transition
from payments.requests import transitions
from tests.support.payments.rows import change, new_payment
from tests.support.payments.world import make_request, submit
from tests.verifying import verify_due
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
    """A chain with these transactions. `on_look` runs during each lookup."""

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
    """Requests with their payments, the chain, and the current time."""

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
            earlier = new_payment(
                request=world.requests[0],
                chain=request.chain,
                transaction_hash=f"0xee{len(world.payments):062x}",
            )
            change(earlier, next_check_at=world.now + timedelta(days=1))
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
            change(payment, seen_at=world.now, **earlier_block)
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
    """Make the request late, expired, cancelled or paid before the check."""
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
    """Return a world of twelve requests with random states and random payments."""
    choice, world = random.Random(seed), World(merchants, token, now)
    for _ in range(12):
        own_url = choice.choice((None, "https://shop.example/own"))
        request = world.request(choice.choice(merchants), webhook_url=own_url)
        pay_in_some_way(world, request, choice.choice(KINDS))
        bring_into_state(world, request, choice.choice(STATES))
    world.chain.on_look = lambda: change(Payment.objects.filter(pk__in=world.lost), claim_id=uuid.uuid4())
    # The order in which workers lease the payments.
    for place, payment in enumerate(world.payments):
        due = now - timedelta(minutes=30) + timedelta(seconds=place)
        change(Payment.objects.filter(pk=payment.pk, lookup__next_check_at__lt=now), next_check_at=due)
    return world


def rows_of(world: World) -> list[str]:
    """Return all rows as text lines. Ids are replaced by labels, and times of writing are left out."""
    labels = {
        **{str(request.pk): f"request {n}" for n, request in enumerate(world.requests)},
        **{request.shortcode: f"shortcode {n}" for n, request in enumerate(world.requests)},
        **{payment.pk: f"payment {n}" for n, payment in enumerate(world.payments)},
    }
    events = {event.pk: event for event in Event.objects.all()}
    lines = [
        *_lines(Payment.objects.all(), "request_id", "transaction_hash"),
        *_lines(Lookup.objects.all(), "of_payment_id"),
        *_lines(PaymentRequest.objects.all(), "shortcode", leave_out={"reference"}),
        *_lines(ConsumedTransfer.objects.all(), "transaction_hash", "slot"),
        # Per request, in the order of writing.
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
