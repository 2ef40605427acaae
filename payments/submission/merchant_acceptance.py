"""Let the merchant accept an unbound transaction, or the last payment of a request that is paid in full.

A request that is paid in full is usually completed automatically. There are two exceptions: the payment came after
the price had expired, or a refund was created before the payment came and was cancelled or failed later.
"""

from django.db import transaction
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from merchants.recipients import is_listed
from payments.models import FailureCode, Payment, PaymentRequest, delivery_of
from payments.models.payment import ACCEPTABLE_FAILURES
from payments.requests import events
from payments.requests.crediting import completion_columns
from payments.requests.lifecycle import lock_request
from payments.requests.transitions import move_request
from payments.verification.reopening import reopen


def accept_payment(payment: Payment, *, reason: str, actor: str) -> Payment:
    """Accept the payment, and store who accepted it and why.

    If the payment is credited and its request is paid in full but not completed, the request is completed. Any other
    credited or accepted payment doesn't change. An unbound payment is verified again, without the check of its
    binding. All other checks apply, and its transfers are consumed. The payment counts as paid at the time of the
    acceptance.

    Raises ApiError:

    - `payment_refunded`: the request would be paid in full without its refunds.
    - `recipient_invalid`: the transfer may be another merchant's.
    - `transaction_already_used`: the transaction was credited elsewhere.
    - `payment_not_retryable`: the payment can't be accepted for another reason. For example, the request is paid in
      full only by payments that the sandbox simulated, and this deployment has no sandbox.
    """
    with transaction.atomic():
        request = lock_request(payment.request_id)
        payment = Payment.objects.select_related("chain").get(pk=payment.pk)
        payment.request = request
        if awaits_acceptance(payment):
            _complete_request(request, payment, reason=reason, actor=actor)
            return payment
        if payment.accepted_by and payment.status != Payment.Status.FAILED:
            return payment
        _require_not_refunded(request, payment)
        if _is_credited(payment):
            return payment
        if payment.failure_code == FailureCode.TRANSACTION_ALREADY_USED:
            raise ApiError(ErrorCode.TRANSACTION_ALREADY_USED, payment.failure_message)
        if not _lacks_binding(payment):
            message = (
                "Only a payment that failed as transaction_not_bound, transaction_ambiguous or not_verifiable on the "
                "requested chain can be accepted. For a swap from another chain, submit the transaction that delivered "
                "and accept that."
            )
            raise ApiError(ErrorCode.PAYMENT_NOT_RETRYABLE, message)
        _require_own_recipient(request)
        accepted = {"accepted_by": actor, "accepted_reason": reason, "accepted_at": timezone.now()}
        reopen(payment, actor=actor, reason=f"accepted: {reason}", **accepted)
    return payment


def _complete_request(request: PaymentRequest, payment: Payment, *, reason: str, actor: str) -> None:
    """Complete the request, which must be locked and paid in full."""
    now = timezone.now()
    payment.accepted_by, payment.accepted_reason, payment.accepted_at = actor, reason, now
    payment.save(update_fields=["accepted_by", "accepted_reason", "accepted_at"])
    columns = completion_columns(request, now, now)
    if move_request(
        request, PaymentRequest.Status.COMPLETED, actor=actor, reason=f"accepted: {reason}", **columns
    ):
        events.record_succeeded(request, payment)


def awaits_acceptance(payment: Payment) -> bool:
    """Whether accepting this completed payment completes its request."""
    return _is_credited(payment) and payment.request.can_be_accepted


def _is_credited(payment: Payment) -> bool:
    return payment.status == Payment.Status.COMPLETED and not payment.reorged


def is_acceptable(payment: Payment) -> bool:
    """Whether the merchant's acceptance can complete the payment or its request."""
    return _lacks_binding(payment) or awaits_acceptance(payment)


def _lacks_binding(payment: Payment) -> bool:
    """Whether the payment's own transaction may have paid the merchant, so that only a binding is missing."""
    is_unbound = payment.failure_code in ACCEPTABLE_FAILURES
    delivery = delivery_of(payment)
    is_here = payment.chain_id == payment.request.chain_id and (delivery is None or delivery.is_customers_own)
    return payment.status == Payment.Status.FAILED and is_unbound and is_here


def _require_not_refunded(request: PaymentRequest, payment: Payment) -> None:
    """Raise ApiError if the request would be paid in full without its refunds, or with what was simulated."""
    before_refunds = request.amount_paid - request.amount_reorged
    if request.is_completable and _is_credited(payment) and before_refunds >= request.amount:
        if request.amount_counted < request.amount:
            message = (
                "The sandbox simulated a part of what was paid. Outside staging, that part doesn't count."
            )
            raise ApiError(ErrorCode.PAYMENT_NOT_RETRYABLE, message)
        message = (
            "Refunds of this payment request leave less than its amount, so accepting the payment would not complete "
            "it. Cancel an open refund first, or create a new payment request."
        )
        raise ApiError(ErrorCode.PAYMENT_REFUNDED, message)


def _require_own_recipient(request: PaymentRequest) -> None:
    """Raise ApiError if another merchant used this wallet first, and it isn't an allowed recipient of this
    merchant.

    Otherwise a merchant could use another merchant's wallet as recipient, and get credits for payments to it.
    """
    named = PaymentRequest.objects.filter(recipient_address=request.recipient_address, is_refund=False)
    first = named.order_by("created_at", "id").values_list("merchant_id", flat=True).first()
    if first in (None, request.merchant_id):
        return
    if not is_listed(request.merchant, request.chain.chain_type, request.recipient_address):
        message = (
            f"Another merchant's requests named {request.recipient_address} before yours did. If this wallet is yours, "
            "add it to your allowed recipients in the portal and accept the payment again."
        )
        raise ApiError(ErrorCode.RECIPIENT_INVALID, message)
