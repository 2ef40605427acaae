"""Record events for merchants, in the same database transaction as the reported change."""

from collections.abc import Iterable
from datetime import datetime

from chains.api.objects import AmountObject
from config.api.answers import builtins
from payments.models import Payment, PaymentRequest
from payments.requests.net_amounts import paid_amounts, refund_amounts
from payments.requests.refund_events import (
    refund_completed_event,
    refund_failed_event,
)
from webhooks.event_object import EventObject, EventToken
from webhooks.event_types import EventType
from webhooks.events import NewEvent, record_events
from webhooks.models import Event


def credit_event(type_: EventType, request: PaymentRequest, payment: Payment) -> NewEvent | None:
    """Return the event of a credited payment: `payment.succeeded`, `payment.partially_paid` or `payment.overpaid`.

    A request has at most one `payment.succeeded`. A payment has at most one of the other two events. For a refund's
    carrier, return None until the whole refund was sent, and then `refund.completed`.
    """
    if request.is_refund:
        return refund_completed_event(type_, request, payment)
    key = str(request.id) if type_ == EventType.PAYMENT_SUCCEEDED else payment.id
    return _event(type_, request, payment, payment.amount_received or 0, key)


def record_succeeded(request: PaymentRequest, payment: Payment) -> None:
    record_events(announced([credit_event(EventType.PAYMENT_SUCCEEDED, request, payment)]))


def announced(events: Iterable[NewEvent | None]) -> list[NewEvent]:
    """Return the list without None: some changes have no event, for example some changes of a refund."""
    return [event for event in events if event is not None]


def record_reorged(request: PaymentRequest, payment: Payment, now: datetime) -> None:
    """Record that a reorganisation removed a completed payment's block.

    If `payment.reorged` is false, the block is back.
    """
    event = _event(
        EventType.PAYMENT_REORGED,
        request,
        payment,
        payment.amount_received or 0,
        f"{payment.id}:{now.isoformat()}",
        reorged=payment.reorged,
    )
    record_events([event])


def failed_event(request: PaymentRequest, payment: Payment) -> NewEvent | None:
    """Return `payment.failed`. Each failure of a payment has its own event. The event's `amount` is the amount that
    was due.

    Anyone with the checkout's URL can submit unbound transactions. So a request has only one event for all its
    unbound transactions: return None from the second one on. For a refund's carrier, the event is `refund.failed`.
    """
    if request.is_refund:
        return refund_failed_event(request, payment, _failure_key(payment))
    if payment.is_anyones and not _is_first_unbound(request):
        return None
    return _event(
        EventType.PAYMENT_FAILED,
        request,
        payment,
        request.amount_remaining or request.amount,
        _failure_key(payment),
        failure=(payment.failure_code, payment.failure_message),
    )


def record_failed(request: PaymentRequest, payment: Payment) -> None:
    record_events(announced([failed_event(request, payment)]))


def has_succeeded(request: PaymentRequest) -> bool:
    """Whether `payment.succeeded` was recorded for this cancelled request.

    Events are deleted after 30 days, but the mark stays. During an upgrade, workers of the old version record the
    event without the mark.
    """
    if request.success_sent:
        return True
    key = str(request.id)
    return Event.objects.filter(
        merchant=request.merchant, type=EventType.PAYMENT_SUCCEEDED, dedupe_key=key
    ).exists()


def _failure_key(payment: Payment) -> str:
    return f"{payment.id}:{payment.retries}:{payment.failed_at.isoformat() if payment.failed_at else ''}"


def _is_first_unbound(request: PaymentRequest) -> bool:
    """Return True for the request's first event about an unbound transaction. Stores that it was sent."""
    first = PaymentRequest.objects.filter(pk=request.pk, unbound_failure_sent=False)
    return first.update(unbound_failure_sent=True) == 1


def record_expired(request: PaymentRequest) -> None:
    """Record that the request expired without full payment. The event is recorded only once."""
    latest = request.payments.order_by("-created_at").first()
    record_events([_event(EventType.PAYMENT_EXPIRED, request, latest, request.amount, str(request.id))])


def _event(
    event_type: EventType,
    request: PaymentRequest,
    payment: Payment | None,
    amount: int,
    dedupe_key: str,
    *,
    failure: tuple[str, str] | None = None,
    reorged: bool | None = None,
) -> NewEvent:
    carried = event_object(event_type, request, payment, amount)
    if reorged is not None:
        carried.reorged = reorged
    if failure is not None:
        carried.failure_code, carried.failure_message = failure
    logged = {"payment_request_id": request.pk, "payment_id": payment and payment.pk}
    return NewEvent(
        request.merchant, event_type.value, dedupe_key, builtins(carried), request.webhook_url, logged
    )


def event_object(
    event_type: EventType, request: PaymentRequest, payment: Payment | None, amount: int
) -> EventObject:
    """Build the `data.object` of an event. `amount` is in base units."""
    token = request.token
    return EventObject(
        id=payment.id if payment else None,
        amount=amount,
        currency=token.symbol,
        status=event_type.status,
        reference=request.external_id,
        payment_request=str(request.id),
        shortcode=request.shortcode,
        token=EventToken.of(token),
        chain_id=request.chain_id,
        transaction_hash=payment.transaction_hash if payment else None,
        type=payment.type if payment else None,
        source_chain_id=payment.chain_id if payment else None,
        destination_transaction_hash=payment.delivered_by if payment else None,
        amount_details=AmountObject.of(amount, token.decimals),
        request_amount=AmountObject.of(request.amount, token.decimals),
        **paid_amounts(request),
        **refund_amounts(request),
        request_status=request.status,
        metadata=request.metadata,
        payment_link=request.payment_link_id,
        is_simulated=payment.is_simulated
        if payment and event_type != EventType.PAYMENT_EXPIRED
        else request.is_simulated,
    )
