"""Read refunds with their status, of one request or of many."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from chains.fields import BaseUnitsField
from payments.models import Payment, PaymentRequest, Refund
from payments.models.payment import IS_ANYONES
from payments.models.refund import Standing, standings, totals_of

_BOUND = Q(is_in_flight=True) | Q(is_bound_unmined=True)


@dataclass(frozen=True)
class RefundNow:
    """A refund and its progress. The refund's request, token and chain are loaded."""

    refund: Refund
    standing: Standing


def refunds_of(request: PaymentRequest) -> list[RefundNow]:
    """Return all refunds of the request, newest first."""
    return refunds_by_request([request])[request.pk]


def refunds_by_request(requests: Sequence[PaymentRequest]) -> dict[uuid.UUID, list[RefundNow]]:
    """Return the refunds of each request, newest first.

    Makes two queries, or none if no request has refunds. Each request caches the totals of its refunds.
    """
    by_id = {request.pk: request for request in requests}
    found: dict[uuid.UUID, list[RefundNow]] = {key: [] for key in by_id}
    refunded = [request.pk for request in requests if request.has_refunds]
    if refunded:
        refunds = list(Refund.objects.filter(request__in=refunded).select_related("carrier"))
        for refund in refunds:
            refund.request = by_id[refund.request_id]
        for each in now(refunds):
            found[each.refund.request_id].append(each)
    for request in requests:
        own = found[request.pk]
        request.remember_refunds(totals_of([each.refund for each in own], [each.standing for each in own]))
    return found


def now(refunds: Iterable[Refund]) -> list[RefundNow]:
    """Return the refunds with their progress, in the same order. One query reads all payments."""
    refunds = list(refunds)
    return [RefundNow(refund, standing) for refund, standing in zip(refunds, standings(refunds), strict=True)]


def with_mark(refunds: QuerySet[Refund], is_simulated: bool) -> QuerySet[Refund]:
    """Filter by `Refund.is_simulated` in the database."""
    if is_simulated:
        return refunds.filter(Q(request__is_simulated=True) | Q(carrier__is_simulated=True))
    return refunds.filter(request__is_simulated=False).exclude(carrier__is_simulated=True)


def with_status(refunds: QuerySet[Refund], status: Refund.Status) -> QuerySet[Refund]:
    """Filter by status in the database. Keep this consistent with `standing_of`."""
    carried = Payment.objects.filter(request=OuterRef("carrier")).order_by()
    credited = carried.filter(status=Payment.Status.COMPLETED).values("request")
    received = Subquery(credited.annotate(total=Sum("amount_received")).values("total"))
    is_open = Q(Exists(carried.filter(status__in=Payment.OPEN)))
    is_bound = Q(Exists(carried.filter(_BOUND, status__in=Payment.OPEN)))
    failed = carried.filter(~IS_ANYONES, status=Payment.Status.FAILED)
    never_built = Q(built_at__isnull=True)
    has_failed = never_built & Q(Exists(failed)) | Q(
        Exists(failed.filter(created_at__gt=OuterRef("built_at")))
    )
    is_cancelled = Q(cancelled_at__isnull=False)
    is_completed = Q(received__gte=F("amount"))
    is_processing = ~is_completed & (is_bound | is_open & ~is_cancelled)
    is_waiting = ~is_completed & ~is_processing & ~is_cancelled
    has_address = ~Q(recipient_address="")
    conditions = {
        Refund.Status.COMPLETED: is_completed,
        Refund.Status.PROCESSING: is_processing,
        Refund.Status.CANCELLED: ~is_completed & ~is_processing & is_cancelled,
        Refund.Status.FAILED: is_waiting & has_failed,
        Refund.Status.READY: is_waiting & ~has_failed & has_address,
        Refund.Status.REQUIRES_ADDRESS: is_waiting & ~has_failed & ~has_address,
    }
    return refunds.alias(received=Coalesce(received, 0, output_field=BaseUnitsField())).filter(
        conditions[status]
    )


def with_request(refunds: QuerySet[Refund]) -> QuerySet[Refund]:
    """Load all relations that the refund's API object reads."""
    return refunds.select_related("carrier", "request__token__chain", "request__chain", "request__merchant")
