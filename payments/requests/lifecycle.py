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

# How long bound unmined transactions keep a request open, counted from the first one. If this were longer, a payer
# could keep a price for free and decide later.
UNMINED_HOLD = timedelta(minutes=15)
# How long hashes that no node has seen keep a request open, counted from the first one.
UNSEEN_HOLD = timedelta(minutes=2)
# While a payment keeps a request open, its expiry is checked again after this pause.
HELD_EXPIRY_PAUSE = timedelta(seconds=5)
EXPIRY_BATCH = 200
# No lease: an expiry is one short transaction.
EXPIRIES = Queue(
    model=PaymentRequest,
    due="expiry_check_at",
    owner="merchant_id",
    waiting="status = 'active' AND expires_at <= %(now)s",
    has_lease=False,
)


def cancel_request(request_id: uuid.UUID, *, actor: str) -> PaymentRequest:
    """Cancel the request and return it. Cancelling it again changes nothing.

    Raises ApiError: `payment_request_not_active` if it is completed or expired, or if it is a refund's carrier, which
    is cancelled with its refund; `payment_in_progress` while a payment keeps it open.
    """
    with transaction.atomic():
        request = lock_request(request_id)
        if request.is_refund:
            message = "This payment request sends a refund. Cancel the refund instead."
            raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
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
    """Lock the request until the transaction ends. Every change of a request or its payments starts with this."""
    return _lockable().select_for_update(of=("self",), no_key=True).get(pk=request_id)


def lock_requests(
    request_ids: Collection[uuid.UUID], *, skip_locked: bool
) -> dict[uuid.UUID, PaymentRequest]:
    """Lock these requests until the transaction ends.

    With `skip_locked`, requests that another transaction has locked are left out. Set it to lock several requests:
    the query then never waits, so it can't deadlock.
    """
    locked = PaymentRequest.objects.select_for_update(no_key=True, skip_locked=skip_locked)
    # Prefetch instead of a join, because the requests of a batch share few merchants, tokens and chains.
    requests = locked.filter(pk__in=request_ids).prefetch_related("merchant", "token__chain", "chain")
    return {request.pk: request for request in requests}


def _lockable() -> QuerySet[PaymentRequest]:
    return PaymentRequest.objects.select_related("merchant", "token", "token__chain", "chain")


def is_held(request: PaymentRequest, now: datetime) -> bool:
    """Whether an open payment keeps the request from expiring or being cancelled.

    - A mined and bound transaction keeps it open until the payment is decided.
    - A swap that its provider knows keeps it open for at most 24 hours.
    - Unmined transactions keep it open for 15 minutes in total, if a node has seen them and their own content binds
      them.
    - Hashes that no node has seen keep it open for 2 minutes in total, because nodes may learn of a transaction late.
    - A proposal doesn't keep it open, because other signers may execute it at any time.
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
    """Return the time when unmined transactions that are bound to the request stop keeping it open."""
    firsts = [payment.held_from for payment in payments if payment.held_from is not None]
    return _until(firsts, request, UNMINED_HOLD)


def _until(firsts: Iterable[datetime], request: PaymentRequest, hold: timedelta) -> datetime:
    return min([*firsts, request.expires_at]) + hold


def expire_due(now: datetime | None = None) -> int:
    """Expire the due requests. Return how many expired.

    A request that a payment keeps open is checked again later. If more requests are due than fit into a batch,
    merchants take turns.
    """
    now = now or timezone.now()
    return sum(_expired_alone(request_id, now) for request_id in EXPIRIES.pick(now, EXPIRY_BATCH))


def _expired_alone(request_id: uuid.UUID, now: datetime) -> bool:
    """Expire one request. A failure is only logged, so that the other requests still expire."""
    with log_context(payment_request_id=request_id), traced("expire request"):
        try:
            return _expire(request_id, now)
        except Exception:
            logger.exception("request %s could not be expired", request_id)
            return False


def _expire(request_id: uuid.UUID, now: datetime) -> bool:
    with transaction.atomic():
        # Skip a locked request: another process is changing it. The next run sees the result.
        free = _lockable().select_for_update(of=("self",), no_key=True, skip_locked=True)
        request = free.filter(pk=request_id, status=Status.ACTIVE).first()
        if request is None:
            return False
        if is_held(request, now):
            PaymentRequest.objects.filter(pk=request_id).update(expiry_check_at=now + HELD_EXPIRY_PAUSE)
            return False
        return expire_request(request, now, actor="expiry")


def expire_request(request: PaymentRequest, now: datetime, *, actor: str) -> bool:
    """Expire the locked request and record its event. Return False if it isn't active.

    Call `is_held` first.
    """
    if not move_request(request, Status.EXPIRED, actor=actor, expired_at=now):
        return False
    events.record_expired(request)
    return True


def covering_payment(request: PaymentRequest, now: datetime) -> Payment | None:
    """If open payments together cover the remaining amount, return one of them.

    Only bound payments count. An unmined payment must have been seen by a node, and must still keep the request open.
    Anyone can submit a hash that no node knows, or a transaction that pays another recipient.
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
