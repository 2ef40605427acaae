"""Taking in transaction hashes, and re-opening failed payments (contract 6)."""

from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chains.models import Chain
from config.api.errors import ApiError, ErrorCode
from payments.models import ConsumedTransfer, FailureCode, Payment, PaymentRequest, Route
from payments.models.payment import MAX_RETRIES, RETRYABLE_FAILURES
from payments.requests import lock_request
from payments.swaps.outcomes import NO_DELIVERY
from payments.transitions import move_payment, note_creation

MAX_OPEN_PAYMENTS = 5
MAX_PUBLIC_PAYMENTS = 30
# What people opened; what the service finds by itself is exempt, until somebody has it looked at again (contract 6).
_OPENED_BY_PEOPLE = Q(submitted_publicly=True) | Q(retries__gt=0) | ~Q(accepted_by="")


def submit_hash(
    request: PaymentRequest, *, chain: Chain, transaction_hash: str, route_id: str | None = None, actor: str
) -> tuple[Payment, bool]:
    """Return the payment for this canonical hash, and whether it is new. Nothing is asked of the chain here.

    The same hash again is the same payment; a retryable failure is re-opened by that, once, and so is one that was not
    bound when it failed, if a wallet was proved since; both wait while 5 payments are open. A request may be paid after
    it expired or was cancelled: whether the transaction is bound to it is for the verification to say. Raises ApiError
    for a hash that another request was credited with, and beyond the caps on open and submitted payments.
    """
    with transaction.atomic():
        locked = lock_request(request.pk)
        known = Payment.objects.filter(request=locked, chain=chain, transaction_hash=transaction_hash).first()
        if known is not None:
            _reopen_by_submission(known, actor)
            return known, False
        _refuse_consumed(locked, chain, transaction_hash)
        _refuse_beyond_caps(locked)
        payment = Payment.objects.create(
            request=locked,
            chain=chain,
            transaction_hash=transaction_hash,
            route=Route.objects.filter(pk=route_id, request=locked).first() if route_id else None,
            status_detail="Submitted; looking for it on the network.",
        )
        note_creation(locked, payment=payment, actor=actor)
    return payment, True


def retry_payment(payment: Payment, *, actor: str) -> Payment:
    """Return the failed payment, pending again with its attempts reset. Raises ApiError where that can't be.

    A person asks for this, so that the cap of 5 open payments holds.
    """
    with transaction.atomic():
        request = lock_request(payment.request_id)
        payment = Payment.objects.select_related("request").get(pk=payment.pk)
        demand_real(payment)
        if payment.status != Payment.Status.FAILED or payment.failure_code not in RETRYABLE_FAILURES:
            reason = payment.failure_message or f"it is {payment.status}"
            raise ApiError(
                ErrorCode.PAYMENT_NOT_RETRYABLE, f"Looking again can't help this payment: {reason}"
            )
        if payment.retries >= MAX_RETRIES:
            message = f"This payment was retried {MAX_RETRIES} times already."
            raise ApiError(ErrorCode.RETRY_LIMIT_REACHED, message)
        demand_room(request)
        reopen(payment, actor=actor, reason="retried", retries=payment.retries + 1)
    return payment


def demand_real(payment: Payment) -> None:
    """Raise ApiError `payment_not_retryable` for a payment that the sandbox made: no chain could tell of it."""
    if payment.is_simulated:
        message = "This payment was simulated in the sandbox; there is nothing on a chain to look at."
        raise ApiError(ErrorCode.PAYMENT_NOT_RETRYABLE, message)


def record_found(request: PaymentRequest, *, chain: Chain, transaction_hash: str) -> None:
    """Write a payment that the service found by itself; the caps on submissions do not count it."""
    with transaction.atomic():
        locked = lock_request(request.pk)
        payment, is_new = Payment.objects.get_or_create(
            request=locked,
            chain=chain,
            transaction_hash=transaction_hash,
            defaults={"submitted_publicly": False, "status_detail": "Found on the network by its reference."},
        )
        if is_new:
            note_creation(locked, payment=payment, actor="discovery")
        elif payment.status == Payment.Status.FAILED and payment.failure_code in RETRYABLE_FAILURES:
            # It was given up for want of an answer, and here it is: money that arrived is never denied.
            reopen(payment, actor="discovery", reason="found on the network")


def reopen(payment: Payment, *, actor: str, reason: str, **fields: Any) -> None:
    """Have the failed payment looked at anew, its attempts reset. Inside a transaction that holds the request.

    A swap begins again with its customer's transaction.
    """
    now = timezone.now()
    move_payment(
        payment,
        Payment.Status.PENDING,
        actor=actor,
        reason=reason[:500],
        attempts=0,
        unanswered_looks=0,
        unanswered_since=None,
        failure_code="",
        failure_message="",
        failed_at=None,
        status_detail="Looking at it again.",
        verifying_since=now,
        next_check_at=now,
        claim_id=None,
        lease_until=None,
        is_bridging=False,
        bridge_looks=0,
        **NO_DELIVERY,
        **fields,
    )


def room_for_more(request: PaymentRequest) -> int:
    """Return how many more payments of the locked request people may open now."""
    open_now = Payment.objects.filter(_OPENED_BY_PEOPLE, request=request, status__in=Payment.OPEN).count()
    return max(MAX_OPEN_PAYMENTS - open_now, 0)


def demand_room(request: PaymentRequest) -> None:
    """Raise ApiError `too_many_open_payments` unless one more payment of the locked request may be opened."""
    if room_for_more(request) == 0:
        message = f"{MAX_OPEN_PAYMENTS} payments of this request are being verified; wait for one to finish."
        raise ApiError(ErrorCode.TOO_MANY_OPEN_PAYMENTS, message, retry_after=30)


def _reopen_by_submission(payment: Payment, actor: str) -> None:
    if payment.status != Payment.Status.FAILED or payment.is_simulated or room_for_more(payment.request) == 0:
        return
    may_once = payment.failure_code in RETRYABLE_FAILURES and not payment.reopened_publicly
    if _was_proved_since(payment):
        reopen(payment, actor=actor, reason="the payer proved the wallet")
    elif may_once and payment.retries < MAX_RETRIES:
        retries = payment.retries + 1
        reopen(payment, actor=actor, reason="submitted again", retries=retries, reopened_publicly=True)


def _was_proved_since(payment: Payment) -> bool:
    """Whether a wallet was proved after the payment had failed as unbound: the 5 that were open then came first."""
    if payment.failure_code != FailureCode.TRANSACTION_NOT_BOUND or payment.crosses_chains:
        return False
    return payment.request.payer_proofs.filter(verified_at__gte=payment.failed_at).exists()


def _refuse_consumed(request: PaymentRequest, chain: Chain, transaction_hash: str) -> None:
    consumed = ConsumedTransfer.objects.filter(chain=chain, transaction_hash=transaction_hash)
    elsewhere = consumed.exclude(payment__request=request)
    # One transaction may carry the references of several requests; then only the chain can tell what is left of it.
    if elsewhere.exists() and not elsewhere.filter(payment__carries_others=True).exists():
        message = "This transaction has paid another request already."
        raise ApiError(ErrorCode.TRANSACTION_ALREADY_USED, message)


def _refuse_beyond_caps(request: PaymentRequest) -> None:
    demand_room(request)
    if Payment.objects.filter(request=request, submitted_publicly=True).count() >= MAX_PUBLIC_PAYMENTS:
        message = f"{MAX_PUBLIC_PAYMENTS} transactions were submitted for this request; ask the merchant."
        raise ApiError(ErrorCode.TOO_MANY_PAYMENTS, message)
