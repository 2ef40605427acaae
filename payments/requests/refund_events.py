"""The events of refunds. Changes of the refunds' carriers cause these events."""

from chains.api.objects import AmountObject
from config.api.answers import builtins
from config.api.serializers import required_timestamp, timestamp
from payments.models import Payment, PaymentRequest, Refund
from payments.requests.net_amounts import paid_amounts, refund_amounts
from webhooks.event_object import EventObject, EventToken
from webhooks.event_types import EventType
from webhooks.events import NewEvent

_COMPLETING = (EventType.PAYMENT_SUCCEEDED, EventType.PAYMENT_OVERPAID)


def refund_completed_event(type_: EventType, carrier: PaymentRequest, payment: Payment) -> NewEvent | None:
    """Return `refund.completed` if the payment completes the carrier. Return None for any other credit.

    If the refund is paid a second time, there is no second event, unless a reorganisation removed the first payment.
    """
    if type_ not in _COMPLETING or carrier.amount_paid - (payment.amount_received or 0) >= carrier.amount:
        return None
    key = f"{payment.id}:{payment.completed_at.isoformat() if payment.completed_at else ''}"
    return _event(EventType.REFUND_COMPLETED, carrier, payment, key)


def refund_failed_event(carrier: PaymentRequest, payment: Payment, key: str) -> NewEvent | None:
    """Return `refund.failed`. Return None for a transaction that nothing binds to the refund."""
    if payment.is_anyones:
        return None
    return _event(EventType.REFUND_FAILED, carrier, payment, key)


def _event(type_: EventType, carrier: PaymentRequest, payment: Payment, key: str) -> NewEvent:
    refund = Refund.objects.select_related("request__token").get(carrier=carrier)
    refund.carrier = carrier
    carried = builtins(_object(type_, refund, payment))
    return NewEvent(carrier.merchant, type_.value, f"{refund.id}:{key}", carried, carrier.webhook_url)


def _object(type_: EventType, refund: Refund, payment: Payment) -> EventObject:
    request, token = refund.request, refund.request.token
    failed = type_ == EventType.REFUND_FAILED
    return EventObject(
        id=refund.id,
        object="refund",
        amount=refund.amount,
        currency=token.symbol,
        status=type_.status,
        reference=request.external_id,
        payment_request=str(request.id),
        shortcode=request.shortcode,
        token=EventToken.of(token),
        chain_id=request.chain_id,
        transaction_hash=payment.transaction_hash,
        type=payment.type,
        source_chain_id=payment.chain_id,
        destination_transaction_hash=payment.delivered_by,
        amount_details=AmountObject.of(refund.amount, token.decimals),
        request_amount=AmountObject.of(request.amount, token.decimals),
        **paid_amounts(request),
        **refund_amounts(request),
        request_status=request.status,
        metadata=request.metadata,
        payment_link=request.payment_link_id,
        is_simulated=refund.is_simulated,
        payment_id=refund.payment_id,
        recipient_address=refund.recipient_address,
        address_source=refund.address_source,
        reason=refund.reason,
        refund_url=refund.refund_url,
        claim_url=refund.claim_url,
        explorer_url=payment.explorer_url,
        confirmations=payment.lookup.confirmations,
        failure_code=payment.failure_code if failed else None,
        failure_message=payment.failure_message if failed else None,
        created_at=required_timestamp(refund.created_at),
        completed_at=None if failed else timestamp(payment.completed_at),
    )
