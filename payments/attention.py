"""What about payments needs a person: money that came and was not matched, or that was counted and has vanished.

The lists' filters and the dashboard ask the same, so that a number and the list behind it agree. Of what is over, the
last 30 days count: nothing marks a case as closed. As in the figures, simulated payments don't count, nor do requests
that have one.

Each matter has an index of its own that holds the few rows concerned, in the order of their time. They are read in that
order and by number, since the planner can't know how few they are and would otherwise read the whole table.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from payments.models import Payment, PaymentRequest
from payments.models.payment import ACCEPTABLE_FAILURES

RECENT = timedelta(days=30)
UNANSWERED_FOR = timedelta(hours=1)
# No more than these, the newest, are told of: with so many, how many more is no matter.
MOST = 1000


class Matter(StrEnum):
    """What can need attention."""

    REORGED = "reorged"
    OVERPAID = "overpaid"
    PARTLY_PAID = "partly"
    NOT_BOUND = "not_bound"
    UNANSWERED = "unanswered"
    PAID_LATE = "late"


LABELS = {
    Matter.REORGED: "Reversed after completion",
    Matter.OVERPAID: "Overpaid",
    Matter.PARTLY_PAID: "Closed with part paid",
    Matter.NOT_BOUND: "Can be accepted",
    Matter.UNANSWERED: "Verification stalled",
    Matter.PAID_LATE: "Paid late",
}
_OF_PAYMENTS = (Matter.REORGED, Matter.NOT_BOUND, Matter.UNANSWERED)


def payments_with(
    payments: QuerySet[Payment], matter: Matter, now: datetime | None = None
) -> QuerySet[Payment]:
    """Return those of `payments` that this is the matter with, themselves or their request, at `now`; MOST at most."""
    now = now or timezone.now()
    if matter in _OF_PAYMENTS:
        return payments.filter(pk__in=_payments(payments, matter, now))
    return payments.filter(request__in=_requests(PaymentRequest.objects.all(), matter, now))


def requests_with(
    requests: QuerySet[PaymentRequest], matter: Matter, now: datetime | None = None
) -> QuerySet[PaymentRequest]:
    """Return those of `requests` that this is the matter with, themselves or a payment of theirs; MOST at most."""
    now = now or timezone.now()
    if matter in _OF_PAYMENTS:
        concerned = Payment.objects.filter(pk__in=_payments(Payment.objects.all(), matter, now))
        return requests.filter(pk__in=list(concerned.values_list("request_id", flat=True)))
    return requests.filter(pk__in=_requests(requests, matter, now))


def count_payments(payments: QuerySet[Payment], matter: Matter, now: datetime) -> int:
    """Return how many of `payments` this is the matter with, themselves; MOST at most."""
    return len(_payments(payments, matter, now))


def count_requests(requests: QuerySet[PaymentRequest], matter: Matter, now: datetime) -> int:
    """Return how many of `requests` this is the matter with, themselves; MOST at most."""
    return len(_requests(requests, matter, now))


def _payments(payments: QuerySet[Payment], matter: Matter, now: datetime) -> list[Any]:
    recent = now - RECENT
    payments = payments.filter(is_simulated=False)
    if matter is Matter.REORGED:
        return _newest(payments.filter(reorged=True, completed_at__gte=recent), "completed_at")
    if matter is Matter.NOT_BOUND:
        unbound = payments.filter(
            status=Payment.Status.FAILED,
            failure_code__in=sorted(ACCEPTABLE_FAILURES),
            failed_at__gte=recent,
        )
        # Once the request is paid in full by another transaction, nobody has to decide.
        return _newest(unbound.filter(request__amount_paid__lt=F("request__amount")), "failed_at")
    waiting = payments.filter(status__in=Payment.OPEN, unanswered_since__lte=now - UNANSWERED_FOR)
    return _newest(waiting, "next_check_at")


def _requests(requests: QuerySet[PaymentRequest], matter: Matter, now: datetime) -> list[Any]:
    recent = now - RECENT
    requests = requests.exclude(Exists(Payment.objects.filter(request=OuterRef("pk"), is_simulated=True)))
    if matter is Matter.OVERPAID:
        # The payment that was too much may have come long after the request's own time.
        overpaid = _newest(requests.filter(amount_paid__gt=F("amount")), "expires_at")
        lately = Payment.objects.filter(request__in=overpaid, completed_at__gte=recent)
        # A single swap mostly brings a little more than was asked for, and nobody has to decide on that.
        others = Payment.objects.filter(request=OuterRef("request"), completed_at__isnull=False).exclude(
            pk=OuterRef("pk")
        )
        more = lately.filter(~Q(type=Payment.Type.SWAP) | Exists(others))
        return list(more.order_by().values_list("request_id", flat=True).distinct())
    if matter is Matter.PARTLY_PAID:
        ended = (PaymentRequest.Status.EXPIRED, PaymentRequest.Status.CANCELLED)
        partly = requests.filter(status__in=ended, amount_paid__gt=0, expires_at__gte=recent)
        return _newest(partly.filter(amount_paid__lt=F("amount")), "expires_at")
    return _newest(requests.filter(paid_late=True, completed_at__gte=recent), "completed_at")


def _newest(rows: QuerySet[Any], time: str) -> list[Any]:
    return list(rows.order_by(f"-{time}").values_list("pk", flat=True)[:MOST])
