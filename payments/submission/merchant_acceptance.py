"""Let the merchant accept an unbound transaction as the payment of a request, or one that came after its price."""

from django.db import transaction
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from payments.models import Payment, PaymentRequest
from payments.models.payment import ACCEPTABLE_FAILURES
from payments.requests import events
from payments.requests.lifecycle import lock_request
from payments.requests.transitions import move_request
from payments.verification.reopening import reopen
from webhooks.event_types import EventType


def accept_payment(payment: Payment, *, reason: str, actor: str) -> Payment:
    """Verify the failed payment again without requiring that it is bound; store the actor and the reason.

    All other checks apply, and its transfers are consumed. A completed payment that came after the price of its
    request had expired completes the request. Accepting an accepted payment changes nothing. Raises ApiError unless it
    is such a payment or failed as `transaction_not_bound`, `transaction_ambiguous` or `not_verifiable`.
    """
    with transaction.atomic():
        request = lock_request(payment.request_id)
        payment = Payment.objects.select_related("request").get(pk=payment.pk)
        if payment.accepted_by and payment.status != Payment.Status.FAILED:
            return payment
        if awaits_acceptance(payment):
            _complete_late(request, payment, reason=reason, actor=actor)
            return payment
        if not _lacks_binding(payment):
            message = (
                "Only a payment that failed as transaction_not_bound, transaction_ambiguous or not_verifiable on the "
                "requested chain can be accepted. For a swap from another chain, submit the transaction that delivered "
                "and accept that."
            )
            raise ApiError(ErrorCode.PAYMENT_NOT_RETRYABLE, message)
        reopen(payment, actor=actor, reason=f"accepted: {reason}", accepted_by=actor, accepted_reason=reason)
    return payment


def _complete_late(request: PaymentRequest, payment: Payment, *, reason: str, actor: str) -> None:
    """Complete the locked request with what came after its price had expired."""
    payment.accepted_by, payment.accepted_reason = actor, reason
    payment.save(update_fields=["accepted_by", "accepted_reason"])
    columns = {"completed_at": timezone.now(), "paid_late": True}
    if move_request(
        request, PaymentRequest.Status.COMPLETED, actor=actor, reason=f"accepted: {reason}", **columns
    ):
        events.record_credit(EventType.PAYMENT_SUCCEEDED, request, payment)


def awaits_acceptance(payment: Payment) -> bool:
    """Whether the payment was credited to a request that it would have completed, had its price not expired."""
    request = payment.request
    return (
        payment.status == Payment.Status.COMPLETED
        and not payment.reorged
        and not payment.accepted_by
        and request.price is not None
        and request.amount_remaining == 0
        and request.status in (PaymentRequest.Status.ACTIVE, PaymentRequest.Status.EXPIRED)
    )


def is_acceptable(payment: Payment) -> bool:
    """Whether the merchant's acceptance can complete the payment or its request."""
    return _lacks_binding(payment) or awaits_acceptance(payment)


def _lacks_binding(payment: Payment) -> bool:
    """Whether the payment's own transaction may have paid the merchant, and only the binding is missing."""
    is_unbound = payment.failure_code in ACCEPTABLE_FAILURES
    is_here = not payment.crosses_chains and (payment.names_itself or not payment.has_delivery)
    return payment.status == Payment.Status.FAILED and is_unbound and is_here
