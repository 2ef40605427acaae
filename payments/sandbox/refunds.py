"""Simulate refunds in each state, without a wallet of the merchant or the customer.

A refund's carrier is a payment request in the opposite direction. So the refund's transaction is a simulated
payment of the carrier.
"""

from config.api.errors import ApiError, ErrorCode
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.reading import refunds_of
from payments.refunds.services import cancel_refund, create_refund, reserve_to_send, set_address
from payments.requests.lifecycle import lock_request
from payments.sandbox import payments
from payments.sandbox.attempts import open_payment
from payments.sandbox.expiry import expire
from payments.sandbox.facts import ACTOR, payer_of
from payments.sandbox.outcomes import Outcome

_FINISHED = (Refund.Status.COMPLETED, Refund.Status.CANCELLED)


def create(request: PaymentRequest, outcome: Outcome, why: str, payment_id: str | None) -> None:
    """Create a refund of everything that can be refunded. For `refunded`, also send it."""
    has_address = outcome != Outcome.REFUND_REQUIRES_ADDRESS
    _end_paid(request, why, in_full=outcome == Outcome.REFUNDED)
    refund = _create(request, why, payment_id, payer_of(request) if has_address else None)
    if outcome == Outcome.REFUNDED:
        _send(refund, Outcome.REFUND_COMPLETED, why)


def change(request: PaymentRequest, outcome: Outcome, why: str, refund_id: str | None) -> None:
    """Change the refund with this id. Without an id, change the newest unfinished refund, or create one."""
    refund = _refund(request, outcome, refund_id)
    if outcome == Outcome.REFUND_CLAIMED:
        _claim(refund or _new(request, why, None))
        return
    refund = refund or _new(request, why, payer_of(request))
    if outcome == Outcome.REFUND_CANCELLED:
        cancel_refund(refund, actor=ACTOR)
        return
    if refund.carrier is None and refund.cancelled_at is None:
        refund = _claim(refund)
    _send(refund, outcome, why)


def _refund(request: PaymentRequest, outcome: Outcome, refund_id: str | None) -> Refund | None:
    refunds = refunds_of(request)
    if refund_id is not None:
        refunds = [each for each in refunds if each.refund.pk == refund_id]
        if not refunds:
            message = f"There is no refund {refund_id} of this payment request."
            raise ApiError(ErrorCode.PARAMETER_INVALID, message, "refund_id")
        return refunds[0].refund
    for each in refunds:
        needs_address = each.standing.status == Refund.Status.REQUIRES_ADDRESS
        if needs_address if outcome == Outcome.REFUND_CLAIMED else each.standing.status not in _FINISHED:
            return each.refund
    return None


def _new(request: PaymentRequest, why: str, address: str | None) -> Refund:
    _end_paid(request, why, in_full=False)
    return _create(request, why, None, address)


def _create(request: PaymentRequest, why: str, payment_id: str | None, address: str | None) -> Refund:
    return create_refund(
        request.pk,
        amount=None,
        recipient_address=address,
        payment_id=payment_id,
        reason=why,
        actor=ACTOR,
    ).refund


def _end_paid(request: PaymentRequest, why: str, *, in_full: bool) -> None:
    """Pay the unpaid rest of an active request. The request is then completed, so it can be refunded.

    An expired or cancelled request is paid only if it has no payment yet. With `in_full`, it is also paid if a part
    is missing. Amounts that were refunded are not paid again.
    """
    is_active = request.status == PaymentRequest.Status.ACTIVE
    missing = request.amount_remaining if is_active else max(request.amount - request.amount_paid, 0)
    if missing and (is_active or in_full or not request.amount_paid):
        payments.pay(request, missing, why, open_payment(request))
    # If the price has expired, the payment did not complete the request.
    current = lock_request(request.pk)
    if current.status == PaymentRequest.Status.ACTIVE:
        expire(current)


def _claim(refund: Refund) -> Refund:
    """Set an address as if the customer had signed for it."""
    return set_address(refund, payer_of(refund.request), actor=ACTOR).refund


def _send(refund: Refund, outcome: Outcome, why: str) -> Payment:
    """Send the refund's transaction. If the transaction was sent already, decide its payment."""
    if refund.carrier is None:
        message = "This refund was cancelled before it had an address, so no transaction can send it."
        raise ApiError(ErrorCode.REFUND_NOT_READY, message)
    carrier = lock_request(refund.carrier.pk)
    sent = open_payment(carrier)
    # A cancelled refund may have been sent before, and is then completed.
    if sent is None and refund.cancelled_at is None:
        reserve_to_send(carrier, actor=ACTOR)
    match outcome:
        case Outcome.REFUND_PROCESSING:
            return payments.leave_processing(carrier, why, sent)
        case Outcome.REFUND_FAILED:
            return payments.fail(carrier, why, sent)
        case _:
            return payments.pay(carrier, payments.remainder(carrier, sent), why, sent)
