"""Decide open simulated payments. Payments that the merchant accepted are completed, and the others time out.

No chain is queried. The engine's own workers skip simulated payments.
"""

import logging
from collections.abc import Callable
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from config.api.log_context import log_context
from config.due_work.queue import Queue
from payments.evaluation.retry_policy import is_timed_out
from payments.models import Lookup, Payment
from payments.requests.lifecycle import lock_request
from payments.sandbox.attempts import keep_open, lease
from payments.sandbox.payments import accept, end_abandoned
from payments.staging import has_sandbox

logger = logging.getLogger(__name__)

BATCH = 200
# No lease: a decision is one short transaction.
SIMULATED = Queue(
    model=Lookup,
    due="next_check_at",
    owner="merchant_id",
    waiting="is_simulated AND of_payment_id IS NOT NULL",
    has_lease=False,
)
_WAITS = "It waits for its next simulated outcome, and times out after 24 hours."


def decide_due(*, now: Callable[[], datetime] = timezone.now) -> int:
    """Decide the due simulated payments, or let them wait longer. Return their number."""
    lookups = Lookup.objects.filter(pk__in=SIMULATED.pick(now(), BATCH)).order_by("next_check_at")
    payments = [lookup.payment for lookup in lookups.select_related("of_payment")]
    for payment in payments:
        with log_context(payment_id=payment.pk, payment_request_id=payment.request_id):
            try:
                _decide(payment, now())
            except Exception:
                # The failure of one payment must not delay the others.
                logger.exception("simulated payment %s could not be decided", payment.pk)
    return len(payments)


def _decide(payment: Payment, now: datetime) -> None:
    with transaction.atomic():
        request = lock_request(payment.request_id)
        open_ones = request.payments.filter(status__in=Payment.OPEN, lookup__next_check_at__lte=now)
        current = open_ones.select_related("chain", "lookup").filter(pk=payment.pk).first()
        if current is None:
            return
        current.request = request
        # A simulated payment may be left from the time when the deployment was staging. In production, it
        # must not count.
        if current.accepted_by and has_sandbox():
            accept(request, current)
        elif is_timed_out(current, now):
            end_abandoned(lease(request, "undecided for 24 hours", current, now=now))
        else:
            keep_open(current, _WAITS)
