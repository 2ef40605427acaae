"""Decide which event a credited payment sends, and whether it completes its request.

A request is paid in full if `PaymentRequest.net` covers its amount. Only a credited payment or the merchant's
acceptance completes a request.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Sum

from payments.models import Payment, PaymentRequest
from payments.requests.events import has_succeeded
from payments.staging import has_sandbox
from webhooks.event_types import EventType

Status = PaymentRequest.Status

# After a price has expired, a transfer still completes the request if it is mined within this time.
PRICE_GRACE = timedelta(seconds=120)


def is_after_price(request: PaymentRequest, payment: Payment, paid_at: datetime) -> bool:
    """Whether the transfer came too late for the request's price.

    A late transfer completes the request only if the merchant accepts it. Otherwise, the customer could wait, and pay
    only if the market has moved in their favour.
    """
    return (
        request.price is not None and not payment.accepted_by and paid_at > request.expires_at + PRICE_GRACE
    )


def time_limits(request: PaymentRequest) -> tuple[datetime, ...]:
    """Return until when a transfer is not late and, if the request has a price, until when it is in time for it."""
    in_time = request.expires_at
    return (in_time,) if request.price is None else (in_time, in_time + PRICE_GRACE)


def lateness(request: PaymentRequest, paid_at: datetime) -> int:
    """Return how many of the request's time limits were over when the transfer came."""
    return sum(paid_at > limit for limit in time_limits(request))


def credit(request: PaymentRequest, payment: Payment) -> EventType:
    """Add the payment's amount to the locked `request`, without saving it. Return the type of the event.

    The payment is already stored as completed.
    """
    # Refunds can change without this lock. Cache their totals, so that the decision and the event agree.
    request.remember_refunds(request.refund_totals)
    was_paid_in_full = request.is_paid_in_full
    had_payments = request.amount_paid > 0
    request.amount_paid += payment.amount_received or 0
    if request.status == Status.COMPLETED:
        return EventType.PAYMENT_OVERPAID
    if payment.after_price or _paid_in_time(request, had_payments=had_payments) < request.amount:
        return EventType.PAYMENT_OVERPAID if was_paid_in_full else EventType.PAYMENT_PARTIALLY_PAID
    if request.status == Status.CANCELLED and (was_paid_in_full or has_succeeded(request)):
        return EventType.PAYMENT_OVERPAID
    return EventType.PAYMENT_SUCCEEDED


def _paid_in_time(request: PaymentRequest, *, had_payments: bool) -> int:
    """Return the part of `net` that can complete the request without acceptance, in base units.

    Payments after the price expired count only if they were accepted. Otherwise the customer could send one base unit
    in time, keep its hash back, and watch the market. After a move in their favour, the customer could pay the rest
    and submit the hash to complete the request.
    """
    if request.price is None or not had_payments:
        return request.net
    late = request.payments.filter(
        status=Payment.Status.COMPLETED, after_price=True, accepted_by="", reorged=False
    )
    if not has_sandbox():
        late = late.filter(is_simulated=False)
    late_amount = late.aggregate(total=Sum("amount_received"))["total"] or 0
    return min(request.net, request.amount_counted - late_amount)


def credit_columns(request: PaymentRequest, event_type: EventType, now: datetime) -> dict[str, Any]:
    """Return the columns to store for a credited request. For its completion, see `completion_columns`.

    If a cancelled request succeeds, this is stored, so that it doesn't succeed again.

    If the request is now paid in full, but some payments came too late for its price, the merchant gets an e-mail.
    """
    columns: dict[str, Any] = {"amount_paid": request.amount_paid}
    if event_type == EventType.PAYMENT_SUCCEEDED and request.status == Status.CANCELLED:
        columns["success_sent"] = True
    if request.price is not None and request.can_be_accepted and not completes(request, event_type):
        columns["late_price_mail_at"] = now
    return columns


def completes(request: PaymentRequest, event_type: EventType) -> bool:
    """Whether the event completes the request. A cancelled request stays cancelled."""
    return event_type == EventType.PAYMENT_SUCCEEDED and request.status != Status.CANCELLED


def completion_columns(request: PaymentRequest, paid_at: datetime, now: datetime) -> dict[str, Any]:
    return {"completed_at": now, "paid_late": paid_at > request.expires_at, "late_price_mail_at": None}
