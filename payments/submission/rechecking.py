"""Check a payment now, because an operator requests it."""

from enum import Enum

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from config.due_work import leases
from config.due_work.listening import Channel, notify
from payments.models import Lookup, Payment, Swap, delivery_of
from payments.requests.lifecycle import lock_request
from payments.submission.hashes import retry_payment


class Recheck(Enum):
    """What `check_now` did."""

    BROUGHT_FORWARD = "brought forward"
    DUE_ALREADY = "due already"
    REOPENED = "reopened"
    AT_FINALITY = "at finality"


def check_now(payment: Payment, *, actor: str) -> Recheck:
    """Make the payment due for a check. Return what was done.

    - An open payment is due now. The check uses none of the payment's attempts.
    - A failed payment is retried. For the errors, see `retry_payment`.
    - A completed payment is checked for a reorganisation. The payment may be flagged `reorged`, but its status
      and amounts stay.

    A second call changes nothing more. Raises ApiError for a simulated payment that has not failed.
    """
    with transaction.atomic():
        lock_request(payment.request_id)
        status = Payment.objects.values_list("status", flat=True).get(pk=payment.pk)
        if status == Payment.Status.FAILED:
            retry_payment(payment, actor=actor)
            return Recheck.REOPENED
        _require_real(payment)
        if status == Payment.Status.COMPLETED:
            return _schedule_finality_check(payment)
        return _bring_forward(payment)


def _require_real(payment: Payment) -> None:
    """Raise ApiError `payment_not_retryable` if the payment is simulated: no chain has its transaction."""
    if payment.is_simulated:
        message = "This payment was simulated in the sandbox, so it can't be checked on a chain."
        raise ApiError(ErrorCode.PAYMENT_NOT_RETRYABLE, message)


def _bring_forward(payment: Payment) -> Recheck:
    now = timezone.now()
    free = leases.is_free()
    lookups = Lookup.of([payment.pk]).filter(free, next_check_at__gt=now)
    chain_ids = list(lookups.values_list("chain_id", flat=True))
    moved = lookups.update(next_check_at=now, attempts=Greatest(F("attempts") - 1, 0))
    moved += Lookup.objects.filter(free, of_payment=payment, proposal_check_at__gt=now).update(
        proposal_check_at=now
    )
    moved += Swap.objects.filter(free, payment=payment, next_poll_at__gt=now).update(
        next_poll_at=now, attempts=Greatest(F("attempts") - 1, 0)
    )
    for chain_id in chain_ids:
        notify(Channel.PAYMENTS, str(chain_id))
    return Recheck.BROUGHT_FORWARD if moved else Recheck.DUE_ALREADY


def _schedule_finality_check(payment: Payment) -> Recheck:
    now = timezone.now()
    delivery = delivery_of(payment)
    deciding = Lookup.objects.filter(pk=(delivery or payment.lookup).pk)
    if deciding.filter(finality_check_at__lte=now).exists():
        return Recheck.DUE_ALREADY
    # If the finality checks had ended, count their misses from 0 again.
    deciding.filter(finality_check_at__isnull=True).update(finality_misses=0)
    deciding.update(finality_check_at=now)
    return Recheck.AT_FINALITY
