"""Rules for the end of a history, checked with the chain, the receiver and the database's rows."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from payments.models.payment import IS_ANYONES
from tests.integration.simulation.database import Database
from tests.integration.simulation.outside import Nodes, Receiver, moved
from webhooks.models import Delivery, Event

_CREDITED = ("payment.succeeded", "payment.partially_paid", "payment.overpaid")
_LEASED = ("payments_lookup", "payments_swap", "payments_discoverycursor", "webhooks_delivery")


def violations(nodes: Nodes, receiver: Receiver, database: Database) -> list[str]:
    """Return the errors; empty if every transfer counts once, for the right request, and was reported once."""
    return [
        *_credits(nodes),
        *_consumption(nodes),
        *_histories(database),
        *_events(database),
        *_deliveries(receiver, database),
        *_claims(database),
        *_leases(database),
    ]


def _credits(nodes: Nodes) -> Iterator[str]:
    """Each request was credited with exactly the amount that the chain moved with its reference."""
    for request in PaymentRequest.objects.order_by("created_at"):
        completed = request.payments.filter(status=Payment.Status.COMPLETED)
        credited = {p.transaction_hash: p.amount_received or 0 for p in completed.filter(reorged=False)}
        paid = nodes.paid(bytes(request.reference), request.recipient_address)
        if credited != paid:
            rows = request.payments.values_list("status", "failure_code", "retries", "reorged")
            yield f"{request}: credited {credited}, and the chain paid {paid}; its payments are {[*rows]}"
        if request.amount_paid - request.amount_reorged != sum(credited.values()):
            yield f"request {request.shortcode}: {request.amount_paid} are not the sum of {credited}"
        is_paid = sum(credited.values()) >= request.amount
        if is_paid and request.status in (PaymentRequest.Status.ACTIVE, PaymentRequest.Status.EXPIRED):
            is_refunded = request.has_refunds or request.amount_reorged or _was_reorged(request)
            if not is_refunded:
                yield f"request {request.shortcode}: paid in full, and {request.status}"


def _was_reorged(request: PaymentRequest) -> bool:
    """Whether a payment was reorganised away for a time. Then the merchant decides."""
    return Transition.objects.filter(request=request, actor="finality").exists()


def _consumption(nodes: Nodes) -> Iterator[str]:
    """A payment is completed if and only if it consumed transfers that are on the chain for its request."""
    used: dict[str, int] = Counter()
    for row in ConsumedTransfer.objects.select_related("payment__request"):
        request, sent = row.payment.request, nodes.sent[row.transaction_hash]
        used[row.payment_id] += row.amount
        if row.amount > moved(sent, bytes(request.reference), request.recipient_address):
            yield f"payment {row.payment_id} consumed a transfer that is not its own"
    for payment in Payment.objects.all():
        received = payment.amount_received if payment.status == Payment.Status.COMPLETED else None
        if received != used.get(payment.pk):
            yield f"payment {payment.pk} is {payment.status} with {received}, and consumed {used.get(payment.pk)}"


def _histories(database: Database) -> Iterator[str]:
    """Each status change has one row in the history, in the right order."""
    written: dict[str, list[tuple[str, str]]] = defaultdict(list)
    rows = Transition.objects.order_by("id").values_list(
        "request_id", "payment_id", "from_status", "to_status"
    )
    for request_id, payment_id, old, new in rows:
        if old and old != new:
            written[payment_id or str(request_id)].append((old, new))
    changed: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, old, new in _journal(database, "payment", "request"):
        changed[key].append((old, new))
    for key in sorted(written.keys() | changed.keys()):
        if written[key] != changed[key]:
            yield f"{key} changed {changed[key]}, and its history says {written[key]}"


def _events(database: Database) -> Iterator[str]:
    """Each fact that a merchant must know has one event."""
    sent: dict[str, Counter[str]] = defaultdict(Counter)
    for event in Event.objects.all():
        body: dict[str, Any] = json.loads(bytes(event.body))
        if body["id"] != event.pk:
            yield f"event {event.pk} has the body of {body['id']}"
        about = body["data"]["object"]
        sent[event.type][about["transaction_hash"] if event.type.startswith("refund") else about["id"]] += 1
        sent[event.type][about["payment_request"]] += 1
    moves = Counter((key, new) for key, _, new in _journal(database, "payment"))
    reorged = Counter(key for key, _, _ in _journal(database, "reorged"))
    anyones = set(Payment.objects.filter(IS_ANYONES).values_list("pk", flat=True))
    for payment in Payment.objects.select_related("request"):
        pk, request = payment.pk, payment.request
        completed, failed = moves[pk, "completed"], moves[pk, "failed"]
        if request.is_refund:
            continue
        credited = sum(sent[name][pk] for name in _CREDITED)
        if credited != completed:
            yield f"payment {pk} was completed {completed} times, with {credited} events"
        if sent["payment.reorged"][pk] != reorged[pk]:
            yield f"payment {pk} was flagged {reorged[pk]} times, with {sent['payment.reorged'][pk]} events"
        if sent["payment.failed"][pk] != failed and pk not in anyones:
            yield f"payment {pk} failed {failed} times, with {sent['payment.failed'][pk]} events"
    requests = Counter((key, new) for key, _, new in _journal(database, "request"))
    for carrier in PaymentRequest.objects.filter(is_refund=True).prefetch_related("payments"):
        hashes = [payment.transaction_hash for payment in carrier.payments.all()]
        count = sum(sent["refund.completed"][each] for each in hashes)
        if count != requests[str(carrier.pk), "completed"]:
            yield f"refund {carrier.pk} was completed, with {count} events"
    for request in PaymentRequest.objects.filter(is_refund=False):
        expired = requests[str(request.pk), "expired"]
        if sent["payment.expired"][str(request.pk)] != expired:
            yield f"request {request.pk} expired {expired} times, and has another number of events"


def _deliveries(receiver: Receiver, database: Database) -> Iterator[str]:
    """Each event arrived with one id and one body. An event that arrived was not sent again."""
    delivered = Counter(Delivery.objects.values_list("public_event_id", flat=True))
    for event in Event.objects.all():
        bodies = receiver.received.get(event.pk, [])
        if delivered[event.pk] != 1:
            yield f"event {event.pk} has {delivered[event.pk]} deliveries"
        if not bodies or set(bodies) != {bytes(event.body)}:
            yield f"event {event.pk} arrived {len(bodies)} times"
    unknown = receiver.received.keys() - delivered.keys()
    if unknown:
        yield f"{len(unknown)} events arrived that are not stored"
    for status in Delivery.objects.exclude(status=Delivery.Status.DELIVERED).values_list("status", flat=True):
        yield f"a delivery is {status}"
    for key, old, new in _journal(database, "delivery"):
        if old == Delivery.Status.DELIVERED:
            yield f"delivery {key} was delivered and became {new}"


def _claims(database: Database) -> Iterator[str]:
    """A worker ends only its own leases. Web processes may end workers' leases."""
    holders: dict[str, str] = {}
    query = "SELECT process, old, new FROM simulated.journal WHERE name = 'claim' ORDER BY id"
    for process, old, new in database.rows(query):
        if new is not None:
            holders[new] = process
        elif process.startswith("worker") and holders.get(old) != process:
            yield f"{process} stored a result after it had lost its lease to {holders.get(old, 'another')}"


def _leases(database: Database) -> Iterator[str]:
    """No lease is endless, and each open row has a time for its next check."""
    for table in _LEASED:
        query = f"SELECT count(*) FROM {table} WHERE lease_until > simulated.now() + interval '10 s'"  # noqa: S608
        if database.rows(query) != [(0,)]:
            yield f"rows of {table} are leased for long"
    for payment in Payment.objects.filter(status__in=Payment.OPEN):
        yield f"payment {payment.pk} is still {payment.status}"


def _journal(database: Database, *names: str) -> list[tuple[str, str, str]]:
    query = "SELECT key, old, new FROM simulated.journal WHERE name = ANY(%s) ORDER BY id"
    return database.rows(query, [list(names)])
