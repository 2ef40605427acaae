"""Simulate one outcome of a payment request, in one transaction."""

import uuid

from django.db import transaction

from config.api.errors import ApiError, ErrorCode
from payments.models import Payment, PaymentRequest
from payments.requests.lifecycle import lock_request
from payments.sandbox import payments, refunds, swaps
from payments.sandbox.attempts import open_payment
from payments.sandbox.expiry import expire, let_price_expire
from payments.sandbox.outcomes import CHANGES_REFUND, CREATES_REFUND, DECIDES_PAYMENT, Outcome
from payments.staging import has_sandbox
from payments.verification.finality import clear_reorged, flag_reorged


def simulate(
    request_id: uuid.UUID,
    outcome: Outcome,
    *,
    by: str,
    payment_id: str | None = None,
    refund_id: str | None = None,
) -> PaymentRequest:
    """Simulate `outcome` and return the request. Everything happens in one database transaction. The history names
    `by`.

    - `payment_id` is the open simulated payment to decide. For `reorged` and `restored`, it is the completed
      payment. For a new refund, it is the payment to refund.
    - `refund_id` is the refund to change.

    Raises ApiError:

    - if the outcome is not possible (see `payments.sandbox`)
    - `parameter_invalid`: the outcome doesn't accept the id, or the request has no payment or refund with this id
    - `resource_missing` outside staging
    - the errors of the refund services
    """
    if not has_sandbox():
        raise ApiError(ErrorCode.RESOURCE_MISSING, "The sandbox is available on staging only.")
    _require_accepted(outcome, payment_id, refund_id)
    why = f"simulated as {outcome.value} by {by}"
    with transaction.atomic():
        request = lock_request(request_id)
        if outcome in CREATES_REFUND:
            refunds.create(request, outcome, why, payment_id)
        elif outcome in CHANGES_REFUND:
            refunds.change(request, outcome, why, refund_id)
        elif outcome == Outcome.REORGED:
            _undo(request, why, payment_id)
        elif outcome == Outcome.RESTORED:
            _restore(request, payment_id)
        elif outcome in DECIDES_PAYMENT:
            _decide(request, outcome, why, open_payment(request, payment_id))
        elif outcome == Outcome.PENDING:
            payments.leave_pending(request, why)
        else:
            _end(request, outcome, why)
    return PaymentRequest.objects.select_related("token", "chain", "merchant").get(pk=request_id)


def _require_accepted(outcome: Outcome, payment_id: str | None, refund_id: str | None) -> None:
    """Reject an id that the outcome would ignore."""
    accepts_payment = outcome in DECIDES_PAYMENT | CREATES_REFUND
    for name, value, is_accepted in (
        ("payment_id", payment_id, accepts_payment),
        ("refund_id", refund_id, outcome in CHANGES_REFUND),
    ):
        if value is not None and not is_accepted:
            raise ApiError(
                ErrorCode.PARAMETER_INVALID, f"The outcome {outcome.value} doesn't accept {name}.", name
            )


def _decide(request: PaymentRequest, outcome: Outcome, why: str, payment: Payment | None) -> None:
    match outcome:
        case Outcome.PAID:
            payments.pay(request, payments.remainder(request, payment), why, payment)
        case Outcome.UNDERPAID:
            payments.pay(request, payments.part(request), why, payment)
        case Outcome.OVERPAID:
            payments.pay(request, payments.excessive(request), why, payment)
        case Outcome.PROCESSING:
            payments.leave_processing(request, why, payment)
        case Outcome.SPED_UP:
            payments.speed_up(request, why, payment)
        case Outcome.FAILED:
            payments.fail(request, why, payment)
        case Outcome.NOT_BOUND | Outcome.AMBIGUOUS | Outcome.NOT_VERIFIABLE:
            payments.leave_unbound(request, outcome, why, payment)
        case Outcome.NOT_FOUND:
            payments.lose(request, why, payment)
        case Outcome.TIMED_OUT:
            payments.time_out(request, why, payment)
        case Outcome.REPLACED:
            payments.replace_by_another(request, why, payment)
        case Outcome.SWAP_COMPLETED:
            swaps.deliver(request, payments.remainder(request, payment), why, payment)
        case _:
            swaps.end(request, outcome, why, payment)


def _end(request: PaymentRequest, outcome: Outcome, why: str) -> None:
    """Expire the request. For `paid_late`, add a payment of the unpaid rest afterwards."""
    if outcome == Outcome.EXPIRED:
        expire(request)
        return
    let_price_expire(request)
    payments.pay(request, payments.remainder(request, None), why)


def _undo(request: PaymentRequest, why: str, payment_id: str | None) -> None:
    """Flag a payment as reorged.

    With `payment_id`, the payment with this id is flagged. Without an id, the unpaid rest is paid first, and that
    payment is flagged. If nothing is left to pay, the newest payment is flagged.
    """
    credited = request.payments.filter(is_simulated=True, status=Payment.Status.COMPLETED, reorged=False)
    if payment_id is not None:
        payment = credited.filter(pk=payment_id).first()
        if payment is None:
            message = f"There is no completed simulated payment {payment_id} of this payment request."
            raise ApiError(ErrorCode.PARAMETER_INVALID, message, "payment_id")
    elif request.amount_remaining:
        payment = payments.pay(request, request.amount_remaining, why, open_payment(request))
    else:
        payment = credited.order_by("-created_at", "-id").first()
    if payment is None:
        message = "Nothing remains to be paid, and there is no simulated payment to reverse."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
    flag_reorged(payment)


def _restore(request: PaymentRequest, payment_id: str | None) -> None:
    """Remove the flag `reorged` of the payment with this id. Without an id, choose the newest reorged payment."""
    lost = request.payments.filter(is_simulated=True, status=Payment.Status.COMPLETED, reorged=True)
    if payment_id is not None:
        lost = lost.filter(pk=payment_id)
    payment = lost.order_by("-created_at", "-id").first()
    if payment is None:
        message = "No reorged simulated payment matches. Simulate reorged first."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
    clear_reorged(payment)
