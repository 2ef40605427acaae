"""What about payments needs a person: money that came and was not matched, or that was counted and has vanished.

The lists' filters and the dashboard use the same conditions, so that a number and the list behind it agree. Of what is
over, the last 30 days count: nothing marks a case as closed.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from payments.models import FailureCode, Payment, PaymentRequest

RECENT = timedelta(days=30)
UNANSWERED_FOR = timedelta(hours=1)


class Matter(StrEnum):
    """What can need a person."""

    REORGED = "reorged"
    OVERPAID = "overpaid"
    PARTLY_PAID = "partly"
    NOT_BOUND = "not_bound"
    UNANSWERED = "unanswered"
    PAID_LATE = "late"


LABELS = {
    Matter.REORGED: "Vanished after completion",
    Matter.OVERPAID: "Overpaid",
    Matter.PARTLY_PAID: "Ended partly paid",
    Matter.NOT_BOUND: "Could be accepted",
    Matter.UNANSWERED: "No answer for an hour",
    Matter.PAID_LATE: "Paid late",
}
_OF_PAYMENTS = (Matter.REORGED, Matter.NOT_BOUND, Matter.UNANSWERED)


def payments_with(
    payments: QuerySet[Payment], matter: Matter, now: datetime | None = None
) -> QuerySet[Payment]:
    """Return those of `payments` that this is the matter with, at `now`."""
    return payments.filter(_payment_condition(matter, now or timezone.now()))


def requests_with(
    requests: QuerySet[PaymentRequest], matter: Matter, now: datetime | None = None
) -> QuerySet[PaymentRequest]:
    """Return those of `requests` that this is the matter with, themselves or one of their payments, at `now`."""
    now = now or timezone.now()
    if matter in _OF_PAYMENTS:
        concerned = Payment.objects.filter(_payment_condition(matter, now)).values("request")
        return requests.filter(pk__in=concerned)
    return requests.filter(_request_condition(matter, now))


def _payment_condition(matter: Matter, now: datetime) -> Q:
    recent = now - RECENT
    match matter:
        case Matter.REORGED:
            return Q(reorged=True, completed_at__gte=recent)
        case Matter.NOT_BOUND:
            unbound = Q(status=Payment.Status.FAILED, failure_code=FailureCode.TRANSACTION_NOT_BOUND)
            return unbound & Q(failed_at__gte=recent, request__amount_paid__lt=F("request__amount"))
        case Matter.UNANSWERED:
            return Q(status__in=Payment.OPEN, unanswered_since__lte=now - UNANSWERED_FOR)
        case Matter.OVERPAID | Matter.PARTLY_PAID | Matter.PAID_LATE:
            concerned = PaymentRequest.objects.filter(_request_condition(matter, now)).values("pk")
            return Q(request__in=concerned)
        case _:
            assert_never(matter)


def _request_condition(matter: Matter, now: datetime) -> Q:
    recent = now - RECENT
    ended = (PaymentRequest.Status.EXPIRED, PaymentRequest.Status.CANCELLED)
    match matter:
        case Matter.OVERPAID:
            lately = Payment.objects.filter(request=OuterRef("pk"), completed_at__gte=recent)
            return Q(Exists(lately), amount_paid__gt=F("amount"))
        case Matter.PARTLY_PAID:
            return Q(status__in=ended, amount_paid__gt=0, amount_paid__lt=F("amount"), expires_at__gte=recent)
        case Matter.PAID_LATE:
            return Q(paid_late=True, completed_at__gte=recent)
        case _:
            raise ValueError(f"{matter} is about payments")
