"""Read refunds with their standings, for one request or for many at once."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.status import Standing, standing_of


@dataclass(frozen=True)
class RefundNow:
    """A refund with its standing; its request, with token and chain, is loaded."""

    refund: Refund
    standing: Standing


def refunds_of(request: PaymentRequest) -> list[RefundNow]:
    """Return all refunds of the request, newest first."""
    return refunds_by_request([request])[request.pk]


def refunds_by_request(requests: Sequence[PaymentRequest]) -> dict[uuid.UUID, list[RefundNow]]:
    """Return the refunds of each request, newest first, in two queries; in none if no request has refunds."""
    by_id = {request.pk: request for request in requests}
    found: dict[uuid.UUID, list[RefundNow]] = {key: [] for key in by_id}
    refunded = [request.pk for request in requests if request.has_refunds]
    if refunded:
        refunds = list(Refund.objects.filter(request__in=refunded).select_related("carrier"))
        for refund in refunds:
            refund.request = by_id[refund.request_id]
        for each in now(refunds):
            found[each.refund.request_id].append(each)
    return found


def now(refunds: Iterable[Refund]) -> list[RefundNow]:
    """Return the refunds with their standings, in their order; the payments of all are read in one query."""
    refunds = list(refunds)
    carriers = [refund.carrier_id for refund in refunds if refund.carrier_id]
    payments: dict[uuid.UUID, list[Payment]] = defaultdict(list)
    if carriers:
        rows = Payment.objects.filter(request__in=carriers).select_related("chain", "request")
        for payment in rows.order_by("created_at", "id"):
            payments[payment.request_id].append(payment)
    return [
        RefundNow(refund, standing_of(refund, payments[refund.carrier_id] if refund.carrier_id else []))
        for refund in refunds
    ]


def with_request(refunds: QuerySet[Refund]) -> QuerySet[Refund]:
    """Load what a refund's object needs with the refunds."""
    return refunds.select_related("carrier", "request__token__chain", "request__chain", "request__merchant")
