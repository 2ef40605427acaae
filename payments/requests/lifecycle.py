"""Cancel and expire payment requests."""

import logging
import uuid
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from config.api.log_context import log_context
from config.due_work.queue import Queue
from config.tracing.recording import traced
from payments.models import Payment, PaymentRequest
from payments.requests import events
from payments.requests.transitions import move_request
from payments.requests.unsent import drop_unsent

logger = logging.getLogger(__name__)

Status = PaymentRequest.Status

# Bound unmined transactions hold a request open for this long, counted from the first one. A longer time would
# let a payer keep a price for free and decide later.
UNMINED_HOLD = timedelta(minutes=15)
# Hashes that no node has seen hold a request open for this long, counted from the first one.
UNSEEN_HOLD = timedelta(minutes=2)
# The pause before the next expiry check of a request that a payment holds open.
HELD_EXPIRY_PAUSE = timedelta(seconds=5)
EXPIRY_BATCH = 200
# An expiry is one short transaction, which needs no lease.
EXPIRIES = Queue(
    model=PaymentRequest,
    due="expiry_check_at",
    owner="merchant_id",
    waiting="status = 'active' AND expires_at <= %(now)s",
    has_lease=False,
)


def cancel_request(request_id: uuid.UUID, *, actor: str) -> PaymentRequest:
    """Cancel the request and return it. Cancelling again changes nothing.

    Raises ApiError: `payment_request_not_active` for a completed or expired request, `payment_in_progress` while a
    payment holds it.
    """
    with transaction.atomic():
        request = lock_request(request_id)
        if request.status == Status.CANCELLED:
            return request
        now = timezone.now()
        if request.status != Status.ACTIVE:
            message = f"The payment request is {request.status}; only an active one can be cancelled."
            raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
        drop_unsent(request, now)
        if is_held(request, now):
            message = "A payment for this request is in progress. Wait until it has completed or failed."
            raise ApiError(ErrorCode.PAYMENT_IN_PROGRESS, message)
        move_request(request, Status.CANCELLED, actor=actor, cancelled_at=now)
    return request


def lock_request(request_id: uuid.UUID) -> PaymentRequest:
    """Return the request, locked until the transaction ends.

    Every change of a request or its payments starts with this.
    """
    return _lockable().select_for_update(of=("self",), no_key=True).get(pk=request_id)


def lock_requests(
    request_ids: Collection[uuid.UUID], *, skip_locked: bool
) -> dict[uuid.UUID, PaymentRequest]:
    """Return the requests, locked until the transaction ends.

    `skip_locked` leaves out those that another transaction has locked. Use it for several requests, because it never
    waits and so can't deadlock.
    """
    locked = PaymentRequest.objects.select_for_update(no_key=True, skip_locked=skip_locked)
    # Prefetched, not joined: a batch's requests share few merchants, tokens and chains.
    requests = locked.filter(pk__in=request_ids).prefetch_related("merchant", "token__chain", "chain")
    return {request.pk: request for request in requests}


def _lockable() -> QuerySet[PaymentRequest]:
    return PaymentRequest.objects.select_related("merchant", "token", "token__chain", "chain")


def is_held(request: PaymentRequest, now: datetime) -> bool:
    """Whether an open payment keeps `request` from expiring or being cancelled.

    A mined and bound transaction holds the request until it is decided. A swap that its provider knows holds it for at
    most 24 hours. Unmined transactions hold it for 15 minutes in total, if a node has seen them and their own content
    binds them. Hashes that no node has seen hold it for 2 minutes in total, because nodes may not know a new
    transaction yet. A proposal, which other signers may execute at any time, does not hold it.
    """
    payments = list(request.payments.select_related("lookup"))
    open_payments = [payment for payment in payments if payment.is_open]
    if any(payment.is_in_flight for payment in open_payments):
        return True
    if any(payment.is_bound_unmined for payment in open_payments) and now < _promised_until(
        request, payments
    ):
        return True
    unseen = [payment for payment in payments if not (payment.lookup.is_seen or payment.lookup.proposal_id)]
    first_unseen = [payment.created_at for payment in unseen]
    return any(payment.is_open for payment in unseen) and now < _until(first_unseen, request, UNSEEN_HOLD)


def _promised_until(request: PaymentRequest, payments: Iterable[Payment]) -> datetime:
    """Return the time until which bound unmined transactions hold the request."""
    firsts = [payment.held_from for payment in payments if payment.held_from is not None]
    return _until(firsts, request, UNMINED_HOLD)


def _until(firsts: Iterable[datetime], request: PaymentRequest, hold: timedelta) -> datetime:
    return min([*firsts, request.expires_at]) + hold


def expire_due(now: datetime | None = None) -> int:
    """Expire the requests that are due and return how many were expired.

    Requests that a payment holds open are checked again later. If more requests are due than fit a batch, merchants
    take turns.
    """
    now = now or timezone.now()
    return sum(_expired_alone(request_id, now) for request_id in EXPIRIES.pick(now, EXPIRY_BATCH))


def _expired_alone(request_id: uuid.UUID, now: datetime) -> bool:
    """Expire one request. A failure is logged, so that the other requests still expire."""
    with log_context(payment_request_id=request_id), traced("expire request"):
        try:
            return _expire(request_id, now)
        except Exception:
            logger.exception("request %s could not be expired", request_id)
            return False


def _expire(request_id: uuid.UUID, now: datetime) -> bool:
    with transaction.atomic():
        # Skip a locked request: another process is changing it, and the next sweep sees the result.
        free = _lockable().select_for_update(of=("self",), no_key=True, skip_locked=True)
        request = free.filter(pk=request_id, status=Status.ACTIVE).first()
        if request is None:
            return False
        if is_held(request, now):
            PaymentRequest.objects.filter(pk=request_id).update(expiry_check_at=now + HELD_EXPIRY_PAUSE)
            return False
        return expire_request(request, now, actor="expiry")


def expire_request(request: PaymentRequest, now: datetime, *, actor: str) -> bool:
    """Expire the locked request and record its event; return False unless it is active.

    The caller checks `is_held`.
    """
    if not move_request(request, Status.EXPIRED, actor=actor, expired_at=now):
        return False
    events.record_expired(request)
    return True


def covering_payment(request: PaymentRequest, now: datetime) -> Payment | None:
    """Return one of the open payments that together would cover the remaining amount.

    Only bound payments count: mined ones and, while they hold the request, unmined ones that a node has seen. Anyone
    can submit a hash that no node knows, or a transaction that pays another recipient.
    """
    payments = list(request.payments.select_related("quote"))
    is_promise_good = now < _promised_until(request, payments)
    bound = [
        payment
        for payment in payments
        if payment.is_open and (payment.is_in_flight or (payment.is_bound_unmined and is_promise_good))
    ]
    expected = sum(payment.expected_amount for payment in bound)
    return bound[0] if bound and expected >= request.amount_remaining else None
