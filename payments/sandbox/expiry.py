"""Expire a request before its `expires_at`."""

from datetime import datetime, timedelta

from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from payments.models import PaymentRequest
from payments.requests.crediting import PRICE_GRACE
from payments.requests.lifecycle import expire_request, is_held
from payments.requests.new_payments import mark_simulated
from payments.sandbox.facts import ACTOR

# The block time of a simulated payment is a few seconds in the past. The price must expire before that time.
_A_MOMENT = timedelta(seconds=60)


def expire(request: PaymentRequest) -> None:
    """Set the locked request's expiry to now, and expire it like the worker."""
    now = timezone.now()
    if request.status != PaymentRequest.Status.ACTIVE:
        message = f"The payment request is {request.status}; only an active one can expire."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
    # Slightly before now, so that the next payment counts as late.
    expires_at = min(request.expires_at, now - timedelta(microseconds=1))
    request.expires_at = expires_at
    if is_held(request, now):
        message = "A payment for this request is in progress. Wait until it has completed or failed."
        raise ApiError(ErrorCode.PAYMENT_IN_PROGRESS, message)
    _write(request, expires_at)
    mark_simulated(request)
    expire_request(request, now, actor=ACTOR)


def let_price_expire(request: PaymentRequest) -> None:
    """Expire the locked request if it is active. Also let its price expire."""
    if request.status != PaymentRequest.Status.EXPIRED:
        expire(request)
    if request.price is not None:
        _write(request, min(request.expires_at, timezone.now() - PRICE_GRACE - _A_MOMENT))


def _write(request: PaymentRequest, expires_at: datetime) -> None:
    request.expires_at = expires_at
    PaymentRequest.objects.filter(pk=request.pk).update(expires_at=expires_at)
