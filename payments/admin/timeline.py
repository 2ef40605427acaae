"""The timeline of a request or a payment: status changes, credits, proofs, staff actions, events and
deliveries.

Each query reads one request's rows by an index.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q

from config.admin import portal
from config.admin.cells import ago, ends, exact
from payments.admin.records import in_token
from payments.models import (
    ConsumedTransfer,
    PayerProof,
    Payment,
    PaymentRequest,
    Refund,
    TransferProof,
    Transition,
    delivery_of,
)
from webhooks.models import Attempt, Delivery, Event

MAX_SHOWN = 500
_SAME_ACT = timedelta(seconds=2)
_ID = re.compile(r"\b(?:pay|rf|evt)_[0-9A-Za-z]{24}\b")


@dataclass(frozen=True)
class Entry:
    """`payment_id` is empty if the entry concerns the whole request."""

    at: datetime
    icon: str
    title: str
    tone: str = ""
    detail: str = ""
    actor: str = ""
    subject: str = ""
    url: str = ""
    payment_id: str = ""


def timeline_of_request(
    request: PaymentRequest, payments: Sequence[Payment], *, with_webhooks: bool
) -> list[Entry]:
    """Return the entries of a request and its payments, oldest first (500 at most)."""
    by_id = {payment.pk: payment for payment in payments}
    changes = list(_changes(request, by_id))
    entries = [*changes, *_credits(request, by_id), *_proofs(request), *_by_hand(request, by_id, changes)]
    if with_webhooks:
        entries += _events(request, by_id)
    return sorted(entries, key=lambda entry: entry.at)[:MAX_SHOWN]


def timeline_of_payment(payment: Payment, *, with_webhooks: bool) -> list[Entry]:
    """Return the entries that concern a payment or its whole request, oldest first."""
    entries = timeline_of_request(payment.request, [payment], with_webhooks=with_webhooks)
    return [entry for entry in entries if entry.payment_id in ("", payment.pk)]


def timeline_of_refund(refund: Refund, *, with_webhooks: bool) -> list[Entry]:
    """Return the timeline of a refund and its transactions, oldest first."""
    created_by = named(refund.created_by) if refund.created_by else ""
    entries = [Entry(refund.created_at, "undo", "Refund created", "", refund.reason or "", created_by)]
    if refund.built_at:
        detail = "A transaction was built for the merchant’s wallet."
        entries.append(Entry(refund.built_at, "draw", "Last sent to a wallet to be signed", "", detail))
    if refund.carrier is not None:
        payments = list(
            refund.carrier.payments.select_related("chain", "request__token", "lookup", "swap__delivery")
        )
        carried = timeline_of_request(refund.carrier, payments, with_webhooks=with_webhooks)
        # A refund is sent through an internal payment request. Leave out that request's status changes, which would
        # confuse the reader.
        entries += [entry for entry in carried if entry.payment_id]
    kind = ContentType.objects.get_for_model(Refund)
    for row in LogEntry.objects.filter(content_type=kind, object_id=refund.pk).select_related("user")[
        :MAX_SHOWN
    ]:
        actor = named(f"admin {row.user.get_username()}")
        message = _with_short_ids(row.get_change_message())
        entries.append(Entry(row.action_time, "front_hand", message, "", "", actor))
    if refund.cancelled_at and not any(entry.title == "Cancelled." for entry in entries):
        entries.append(Entry(refund.cancelled_at, "block", "Refund cancelled", "danger"))
    return sorted(entries, key=lambda entry: entry.at)[:MAX_SHOWN]


def _changes(request: PaymentRequest, payments: dict[str, Payment]) -> Iterator[Entry]:
    for row in Transition.objects.filter(request=request).order_by("id")[:MAX_SHOWN]:
        if row.payment_id is None:
            icon, title, tone = _OF_REQUESTS.get(row.to_status, ("circle", row.to_status, ""))
            by = "By " if row.reason.startswith("pay_") else ""
            detail = "" if row.reason in ("created", "") else f"{by}{_with_short_ids(row.reason)}"
            yield Entry(row.created_at, icon, title, tone, detail, actor=named(row.actor))
        elif row.payment_id in payments:
            yield _change_of(payments[row.payment_id], row)


def _change_of(payment: Payment, row: Transition) -> Entry:
    key = "again" if row.from_status == Payment.Status.FAILED else row.to_status
    if row.from_status == row.to_status == Payment.Status.COMPLETED:
        key = "reorganised"
    if not row.from_status:
        key = "submitted"
    icon, title, tone = _OF_PAYMENTS.get(key, ("circle", row.to_status, ""))
    detail = "" if row.reason == "created" else _with_short_ids(row.reason)
    if key == "submitted":
        detail = ends(payment.own_hash, 10)
    if key == Payment.Status.FAILED and row.reason:
        detail = row.reason.replace("_", " ").capitalize()
    return Entry(row.created_at, icon, title, tone, detail, named(row.actor), **_subject(payment))


def _credits(request: PaymentRequest, payments: dict[str, Payment]) -> Iterator[Entry]:
    for row in ConsumedTransfer.objects.filter(payment__in=payments)[:MAX_SHOWN]:
        payment = payments[row.payment_id]
        bound = f"Bound by {payment.bound_by}" if payment.bound_by else ""
        title = f"{in_token(row.amount, request.token)} credited"
        where = f"transfer {row.slot}" if row.slot.isdigit() else row.slot
        delivery = f"Delivered by {ends(row.transaction_hash, 10)}" if delivery_of(payment) else ""
        detail = " · ".join(part for part in (bound, delivery, where) if part)
        yield Entry(row.created_at, "toll", title, "success", detail, **_subject(payment))


def _proofs(request: PaymentRequest) -> Iterator[Entry]:
    for row in PayerProof.objects.filter(request=request)[:MAX_SHOWN]:
        detail = f"Transfers from {row.address} until {exact(row.not_after)} count for this request."
        yield Entry(row.verified_at, "draw", "The customer proved a wallet", "info", detail, "The customer")
    signed = TransferProof.objects.filter(payment__request=request, verified_at__isnull=False)
    for proof in signed.select_related("payment")[:MAX_SHOWN]:
        late = (
            "" if proof.binds else " It came too late to count by itself: accept the payment, or refund it."
        )
        detail = f"{proof.address} signed that the transaction pays this request and no other.{late}"
        title = "The sender signed for this request"
        yield Entry(proof.given_at, "draw", title, "info", detail, "The customer", **_subject(proof.payment))


def _by_hand(
    request: PaymentRequest, payments: dict[str, Payment], changes: Sequence[Entry]
) -> Iterator[Entry]:
    """Yield the staff actions that changed no status. Actions that changed a status are already listed as status
    changes.
    """
    types = ContentType.objects.get_for_models(PaymentRequest, Payment)
    about = Q(content_type=types[PaymentRequest], object_id=str(request.pk))
    about |= Q(content_type=types[Payment], object_id__in=list(payments))
    for row in LogEntry.objects.filter(about).select_related("user")[:MAX_SHOWN]:
        actor = named(f"admin {row.user.get_username()}")
        if any(change.actor == actor and abs(change.at - row.action_time) < _SAME_ACT for change in changes):
            continue
        subject = _subject(payments[row.object_id]) if row.object_id in payments else {}
        message = _with_short_ids(row.get_change_message())
        yield Entry(row.action_time, "front_hand", message, "", "", actor, **subject)


def _events(request: PaymentRequest, payments: dict[str, Payment]) -> Iterator[Entry]:
    """Yield the request's events and their deliveries. Dedupe keys identify the events (see
    payments.requests.events).
    """
    keys = Q(dedupe_key=str(request.pk))
    for payment_id in payments:
        keys |= Q(dedupe_key__startswith=payment_id)
    events = {row.pk: row for row in Event.objects.filter(keys, merchant=request.merchant_id)[:MAX_SHOWN]}
    deliveries = {row.pk: row for row in Delivery.objects.filter(event__in=events)[:MAX_SHOWN]}
    sent = {row.event_id for row in deliveries.values()}
    for event in events.values():
        detail = "" if event.pk in sent else "No endpoint was subscribed to this type of event."
        yield Entry(
            event.created,
            "campaign",
            f"Event {event.type}",
            "",
            detail,
            **_about(event, _payment_in(event, payments)),
        )
    for attempt in Attempt.objects.filter(delivery__in=deliveries).order_by("started_at")[:MAX_SHOWN]:
        yield _attempted(attempt, deliveries[attempt.delivery_id], events, payments)
    for delivery in deliveries.values():
        if delivery.redelivered_at:
            title, actor = f"{delivery.type} is sent again", named(delivery.redelivered_by)
            yield Entry(
                delivery.redelivered_at, "forward_to_inbox", title, "", "", actor, **_about(delivery, "")
            )


def _attempted(
    attempt: Attempt, delivery: Delivery, events: dict[str, Event], payments: dict[str, Payment]
) -> Entry:
    event = events[str(delivery.event_id)]
    result = f"answered {attempt.status_code}" if attempt.status_code else "got no response"
    is_good = attempt.status_code is not None and 200 <= attempt.status_code < 300 and not attempt.error
    took = f" in {attempt.duration_ms} ms" if attempt.duration_ms is not None else ""
    detail = f"Attempt {attempt.number}{took}"
    if not is_good and delivery.due_at and attempt.number == delivery.attempts:
        detail += f"; the next is due {ago(delivery.due_at)}"
    title = f"Webhook {delivery.type} {result}"
    tone = "success" if is_good else "danger"
    return Entry(
        attempt.started_at,
        "outgoing_mail",
        title,
        tone,
        detail,
        **_about(delivery, _payment_in(event, payments)),
    )


def _payment_in(event: Event, payments: dict[str, Payment]) -> str:
    return next((key for key in payments if event.dedupe_key.startswith(key)), "")


def _subject(payment: Payment) -> dict[str, str]:
    return {"subject": ends(payment.pk), "url": portal.change_url(payment), "payment_id": payment.pk}


def _about(row: Event | Delivery, payment_id: str) -> dict[str, str]:
    return {"subject": ends(row.pk), "url": portal.change_url(row), "payment_id": payment_id}


def _with_short_ids(text: str) -> str:
    return _ID.sub(lambda match: ends(match[0]), text)


def named(actor: str) -> str:
    if actor in _ACTORS:
        return _ACTORS[actor]
    kind, _, name = actor.partition(" ")
    if kind in ("admin", "operator") and name:
        return f"{name} (staff)"
    return f"API key {actor.removeprefix('api key ')}…" if actor.startswith("api key ") else actor


_ACTORS = {
    "checkout": "The checkout page",
    "verification": "Verification",
    "discovery": "Search on the chain",
    "expiry": "Expiry",
    "sandbox": "The sandbox",
    "api": "The API",
}
_OF_REQUESTS = {
    "active": ("add_circle", "Request created", ""),
    "completed": ("check_circle", "Request paid in full", "success"),
    "expired": ("timer_off", "Request expired", "warning"),
    "cancelled": ("block", "Request cancelled", "danger"),
}
_OF_PAYMENTS = {
    "submitted": ("upload", "Payment submitted", ""),
    "processing": ("search", "Verification began", ""),
    "completed": ("verified", "Payment completed", "success"),
    "failed": ("error", "Payment failed", "danger"),
    "again": ("autorenew", "Payment retried", "info"),
    "reorganised": ("undo", "Chain reorganised", "warning"),
}
