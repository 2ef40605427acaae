"""A merchant takes a transaction that nothing ties to the request as its payment, and answers for it (contract 7)."""

from django.db import transaction

from config.api.errors import ApiError, ErrorCode
from payments.models import FailureCode, Payment
from payments.requests import lock_request
from payments.submission import demand_real, demand_room, reopen

# Money reached the recipient, and only whose payment it is was not settled.
ACCEPTABLE_FAILURES = frozenset(
    {FailureCode.TRANSACTION_NOT_BOUND, FailureCode.TRANSACTION_AMBIGUOUS, FailureCode.NOT_VERIFIABLE}
)


def accept_payment(payment: Payment, *, reason: str, actor: str) -> Payment:
    """Return the payment, to be verified again without asking what binds it; who accepted it and why stays written.

    Everything else is asked of the chain as ever, and its transfers are consumed like any other. Accepting an accepted
    one changes nothing. Raises ApiError unless it failed as `transaction_not_bound`, and while 5 payments are open.
    """
    with transaction.atomic():
        request = lock_request(payment.request_id)
        payment = Payment.objects.select_related("request").get(pk=payment.pk)
        if payment.accepted_by and payment.status != Payment.Status.FAILED:
            return payment
        demand_real(payment)
        if not is_acceptable(payment):
            message = (
                "Only a payment that failed as transaction_not_bound on the requested chain can be accepted. Of a swap "
                "that comes from another chain, submit the transaction that delivered, and accept that."
            )
            raise ApiError(ErrorCode.PAYMENT_NOT_RETRYABLE, message)
        demand_room(request)
        reopen(payment, actor=actor, reason=f"accepted: {reason}", accepted_by=actor, accepted_reason=reason)
    return payment


def is_acceptable(payment: Payment) -> bool:
    """Whether the payment failed for want of a binding alone, and its own transaction is what paid the merchant."""
    is_unbound = payment.failure_code in ACCEPTABLE_FAILURES
    is_here = not payment.crosses_chains and (payment.names_itself or not payment.has_delivery)
    return payment.status == Payment.Status.FAILED and is_unbound and is_here
