"""Let the merchant accept an unbound transaction as the payment of a request."""

from django.db import transaction

from config.api.errors import ApiError, ErrorCode
from payments.models import Payment
from payments.models.payment import ACCEPTABLE_FAILURES
from payments.requests.lifecycle import lock_request
from payments.submission.hashes import require_real
from payments.verification.reopening import reopen


def accept_payment(payment: Payment, *, reason: str, actor: str) -> Payment:
    """Verify the failed payment again without requiring that it is bound; store the actor and the reason.

    All other checks apply, and its transfers are consumed. Accepting an accepted payment changes nothing. Raises
    ApiError unless it failed as `transaction_not_bound`, `transaction_ambiguous` or `not_verifiable`.
    """
    with transaction.atomic():
        lock_request(payment.request_id)
        payment = Payment.objects.select_related("request").get(pk=payment.pk)
        if payment.accepted_by and payment.status != Payment.Status.FAILED:
            return payment
        require_real(payment)
        if not is_acceptable(payment):
            message = (
                "Only a payment that failed as transaction_not_bound, transaction_ambiguous or not_verifiable on the "
                "requested chain can be accepted. For a swap from another chain, submit the transaction that delivered "
                "and accept that."
            )
            raise ApiError(ErrorCode.PAYMENT_NOT_RETRYABLE, message)
        reopen(payment, actor=actor, reason=f"accepted: {reason}", accepted_by=actor, accepted_reason=reason)
    return payment


def is_acceptable(payment: Payment) -> bool:
    """Whether the payment's own transaction may have paid the merchant, and only the binding is missing."""
    is_unbound = payment.failure_code in ACCEPTABLE_FAILURES
    is_here = not payment.crosses_chains and (payment.names_itself or not payment.has_delivery)
    return payment.status == Payment.Status.FAILED and is_unbound and is_here
