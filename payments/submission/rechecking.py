"""Having a payment looked at now, because a person asks: what the chain says decides, as ever."""

from enum import Enum

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from config import leases
from payments.models import Payment
from payments.requests.lifecycle import lock_request
from payments.submission.hashes import demand_real, retry_payment


class Recheck(Enum):
    """What asking for a look has led to."""

    BROUGHT_FORWARD = "brought forward"
    DUE_ALREADY = "due already"
    REOPENED = "reopened"
    AT_FINALITY = "at finality"


def look_now(payment: Payment, *, actor: str) -> Recheck:
    """Have `payment` looked at as soon as a worker is free; return what that means in its present state.

    An open one is due at once; a look out of turn uses none of its attempts. A failed one is retried, with all that
    `retry_payment` refuses. A completed one is asked for its finality once more, which may flag it as `reorged` and
    changes neither its status nor any money. Twice is no more than once. Raises ApiError for a simulated one.
    """
    demand_real(payment)
    with transaction.atomic():
        lock_request(payment.request_id)
        status = Payment.objects.values_list("status", flat=True).get(pk=payment.pk)
        if status == Payment.Status.FAILED:
            retry_payment(payment, actor=actor)
            return Recheck.REOPENED
        if status == Payment.Status.COMPLETED:
            return _ask_for_finality(payment)
        return _bring_forward(payment)


def _bring_forward(payment: Payment) -> Recheck:
    now = timezone.now()
    waiting = Payment.objects.filter(
        leases.is_free(), pk=payment.pk, status__in=Payment.OPEN, next_check_at__gt=now
    )
    moved = waiting.update(next_check_at=now, attempts=Greatest(F("attempts") - 1, 0))
    return Recheck.BROUGHT_FORWARD if moved else Recheck.DUE_ALREADY


def _ask_for_finality(payment: Payment) -> Recheck:
    now = timezone.now()
    completed = Payment.objects.filter(pk=payment.pk, status=Payment.Status.COMPLETED)
    if completed.filter(finality_check_at__lte=now).exists():
        return Recheck.DUE_ALREADY
    # A search for finality that has ended begins anew; one under way keeps its count.
    completed.filter(finality_check_at__isnull=True).update(unanswered_looks=0)
    completed.update(finality_check_at=now)
    return Recheck.AT_FINALITY
