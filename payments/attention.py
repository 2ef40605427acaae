"""Find payments and requests that need attention, such as unmatched money and reversed payments.

The dashboard and the lists share these queries, so that a count and its list agree. A refund resolves a case. Other
solutions are not recorded, so a case disappears after 30 days. Simulated payments are excluded.

Each reason for attention (`Matter`) has a partial index that is ordered by time. The queries read the newest rows
of that index, with a limit. Without the limit, the planner would scan the whole table, since it can't know how few
rows match. The indexes ignore refunds, so `_matching` checks each request again with `PaymentRequest.net`.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from merchants.models import Merchant
from payments.models import Payment, PaymentRequest, Refund
from payments.models.payment import ACCEPTABLE_FAILURES
from payments.refunds.reading import refunds_by_request
from payments.requests.link_limits import paid_beyond_limit

RECENT = timedelta(days=30)
UNANSWERED_FOR = timedelta(hours=1)
MAX_LISTED = 1000


class Matter(StrEnum):
    """Why a payment or a request needs attention."""

    REORGED = "reorged"
    AFTER_PRICE = "after_price"
    UNDECIDED = "undecided"
    OVERPAID = "overpaid"
    AFTER_REFUND = "after_refund"
    PARTLY_PAID = "partly"
    NOT_BOUND = "not_bound"
    UNANSWERED = "unanswered"
    BEYOND_LINK = "beyond_link"
    PAID_LATE = "late"


LABELS = {
    Matter.REORGED: "Reversed after completion",
    Matter.AFTER_PRICE: "Paid after the price expired",
    Matter.UNDECIDED: "Paid in full, not completed",
    Matter.OVERPAID: "Overpaid",
    Matter.AFTER_REFUND: "Paid again after a refund",
    Matter.PARTLY_PAID: "Closed with money paid",
    Matter.NOT_BOUND: "Can be accepted",
    Matter.UNANSWERED: "Verification stalled",
    Matter.BEYOND_LINK: "Paid beyond the link's limit",
    Matter.PAID_LATE: "Paid late",
}
_OF_PAYMENTS = (Matter.REORGED, Matter.NOT_BOUND, Matter.UNANSWERED)


def payments_with(
    payments: QuerySet[Payment], matter: Matter, requests: QuerySet[PaymentRequest]
) -> QuerySet[Payment]:
    """Return at most MAX_LISTED payments: those that need attention for this reason, or whose request does.

    `requests` are those that the user may see, so that other merchants' requests don't use up the limit.
    """
    now = timezone.now()
    if matter in _OF_PAYMENTS:
        return payments.filter(pk__in=_payments(payments, matter, now))
    return payments.filter(request__in=_requests(requests, matter, now))


def requests_with(
    requests: QuerySet[PaymentRequest], matter: Matter, payments: QuerySet[Payment]
) -> QuerySet[PaymentRequest]:
    """Return at most MAX_LISTED requests: those that need attention for this reason, or have a payment that does.

    `payments` are those that the user may see, so that other merchants' payments don't use up the limit.
    """
    now = timezone.now()
    if matter in _OF_PAYMENTS:
        concerned = Payment.objects.filter(pk__in=_payments(payments, matter, now))
        return requests.filter(pk__in=list(concerned.values_list("request_id", flat=True)))
    return requests.filter(pk__in=_requests(requests, matter, now))


def count_payments(payments: QuerySet[Payment], matter: Matter, now: datetime) -> int:
    return len(_payments(payments, matter, now))


def count_requests(requests: QuerySet[PaymentRequest], matter: Matter, now: datetime) -> int:
    return len(_requests(requests, matter, now))


def open_cases(merchant: Merchant, now: datetime) -> set[str]:
    """Return a key for each open case of the merchant, such as `overpaid:{request id}`.

    `PAID_LATE` is left out, because it needs no decision. `AFTER_PRICE` is left out, because an e-mail about it
    is sent immediately.
    """
    cases: set[str] = set()
    for matter in Matter:
        if matter in (Matter.AFTER_PRICE, Matter.PAID_LATE):
            continue
        keys = (
            _payments(Payment.objects.filter(request__merchant=merchant), matter, now)
            if matter in _OF_PAYMENTS
            else _requests(PaymentRequest.objects.filter(merchant=merchant), matter, now)
        )
        cases |= {f"{matter}:{key}" for key in keys}
    return cases


def _payments(payments: QuerySet[Payment], matter: Matter, now: datetime) -> list[Any]:
    recent = now - RECENT
    payments = payments.filter(is_simulated=False, request__is_refund=False)
    if matter is Matter.REORGED:
        return _newest(payments.filter(reorged=True, completed_at__gte=recent), "completed_at")
    if matter is Matter.NOT_BOUND:
        unbound = payments.filter(
            status=Payment.Status.FAILED,
            failure_code__in=sorted(ACCEPTABLE_FAILURES),
            failed_at__gte=recent,
        )
        # If another transaction has paid the request, the merchant has nothing to decide.
        return _newest(unbound.exclude(request__status=PaymentRequest.Status.COMPLETED), "failed_at")
    waiting = payments.filter(status__in=Payment.OPEN, unanswered_since__lte=now - UNANSWERED_FOR)
    return _newest(waiting, "unanswered_since")


def _requests(requests: QuerySet[PaymentRequest], matter: Matter, now: datetime) -> list[Any]:
    recent = now - RECENT
    requests = requests.filter(is_refund=False, is_simulated=False)
    match matter:
        case Matter.OVERPAID:
            # Include old requests: an overpayment can arrive long after the expiry.
            candidates = requests.filter(amount_paid__gt=F("amount"))
            overpaid = _matching(candidates, "expires_at", lambda request: request.net > request.amount)
            lately = Payment.objects.filter(request__in=overpaid, completed_at__gte=recent)
            # Leave out requests that a single swap paid: swaps usually deliver slightly more than requested.
            others = Payment.objects.filter(request=OuterRef("request"), completed_at__isnull=False).exclude(
                pk=OuterRef("pk")
            )
            more = lately.filter(~Q(type=Payment.Type.SWAP) | Exists(others))
            return list(more.order_by().values_list("request_id", flat=True).distinct())
        case Matter.AFTER_REFUND:
            # Only completed requests, since the merchant expects no more payments for them.
            candidates = requests.filter(status=PaymentRequest.Status.COMPLETED, amount_paid__gt=F("amount"))
            within_amount = _matching(
                candidates, "expires_at", lambda request: 0 < request.net <= request.amount
            )
            refunds = Refund.objects.filter(
                request=OuterRef("request"),
                cancelled_at__isnull=True,
                created_at__lt=OuterRef("completed_at"),
            )
            again = Payment.objects.filter(
                Exists(refunds), request__in=within_amount, reorged=False, completed_at__gte=recent
            )
            return list(again.order_by().values_list("request_id", flat=True).distinct())
        case Matter.PARTLY_PAID:
            ended = (PaymentRequest.Status.EXPIRED, PaymentRequest.Status.CANCELLED)
            partly = requests.filter(status__in=ended, amount_paid__gt=0, expires_at__gte=recent)
            return _matching(
                partly, "expires_at", lambda request: request.net > 0 and not request.can_be_accepted
            )
        case Matter.BEYOND_LINK:
            lately_completed = requests.filter(completed_at__gte=recent)
            beyond = lately_completed.filter(pk__in=paid_beyond_limit(lately_completed))
            return _matching(beyond, "completed_at", lambda request: request.net > 0)
        case Matter.AFTER_PRICE | Matter.UNDECIDED:
            undecided = requests.filter(
                status__in=(PaymentRequest.Status.ACTIVE, PaymentRequest.Status.EXPIRED),
                amount_paid__gte=F("amount"),
            )
            keys = _matching(undecided, "expires_at", lambda request: request.can_be_accepted)
            late_payments = Payment.objects.filter(request__in=keys, after_price=True, reorged=False)
            after_price = set(late_payments.values_list("request_id", flat=True))
            return [key for key in keys if (key in after_price) is (matter is Matter.AFTER_PRICE)]
    late = requests.filter(paid_late=True, completed_at__gte=recent)
    return _matching(late, "completed_at", lambda request: request.net >= request.amount)


def _matching(
    candidates: QuerySet[PaymentRequest], time: str, is_open: Callable[[PaymentRequest], bool]
) -> list[Any]:
    """Return the ids of the newest candidates that still match when refunds and reorganised payments are deducted."""
    # The dashboard checks up to a thousand rows for each matter, so load only the columns that `net` reads.
    columns = ("status", "amount", "amount_paid", "amount_reorged", "has_refunds", "is_simulated")
    newest = list(candidates.only(*columns).order_by(f"-{time}")[:MAX_LISTED])
    refunds_by_request(newest)
    return [request.pk for request in newest if is_open(request)]


def _newest(rows: QuerySet[Any], time: str) -> list[Any]:
    return list(rows.order_by(f"-{time}").values_list("pk", flat=True)[:MAX_LISTED])
