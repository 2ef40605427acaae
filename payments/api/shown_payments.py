"""Select a request's payments for a response."""

import uuid

from django.db.models import Case, Q, QuerySet, Value, When

from chains.lookup import chain_by_id, token_by_id
from config.database.compiled_query import CompiledQuery
from payments.models import Payment, PaymentRequest

MAX_SHOWN = 20

_IS_OPEN = Q(status__in=Payment.OPEN)
_IS_BOUND = Q(status=Payment.Status.COMPLETED) | (
    _IS_OPEN & (Q(is_in_flight=True) | Q(is_bound_unmined=True))
)
_WEIGHT = Case(When(_IS_BOUND, then=Value(0)), When(_IS_OPEN, then=Value(1)), default=Value(2))


def _newest(request: uuid.UUID) -> QuerySet[Payment]:
    payments = Payment.objects.filter(request_id=request).select_related("lookup", "swap__delivery")
    return payments.order_by("-created_at", "-id")[:MAX_SHOWN]


def _weightiest(request: uuid.UUID) -> QuerySet[Payment]:
    payments = Payment.objects.filter(request_id=request).select_related("lookup", "swap__delivery")
    return payments.order_by(_WEIGHT, "-created_at", "-id")[:MAX_SHOWN]


_newest_query: CompiledQuery[Payment] = CompiledQuery(_newest, request=uuid.UUID(int=1))
_weightiest_query: CompiledQuery[Payment] = CompiledQuery(_weightiest, request=uuid.UUID(int=1))


def newest_payments(request: PaymentRequest) -> list[Payment]:
    """Return the newest 20 payments, newest first. Loads the relations that their API objects read."""
    return _shown(request, _newest_query)


def weightiest_payments(request: PaymentRequest) -> list[Payment]:
    """Return the 20 most important payments, sorted by time, newest first.

    Bound payments are chosen before open ones, and failed payments last. Otherwise, a stranger could displace real
    payments by submitting hashes of other transactions.
    """
    chosen = _shown(request, _weightiest_query)
    return sorted(chosen, key=lambda payment: (payment.created_at, payment.id), reverse=True)


def _shown(request: PaymentRequest, query: CompiledQuery[Payment]) -> list[Payment]:
    # `payments.requests.reading` sets `has_payments`. Most requests have no payment yet, and then no query is needed.
    if not getattr(request, "has_payments", True):
        return []
    payments = query.rows(request=request.pk)
    chains = {each: chain_by_id(each) for each in {payment.chain_id for payment in payments}}
    tokens = {each: token_by_id(each) for each in {payment.token_id for payment in payments} if each}
    for payment in payments:
        payment.request = request
        payment.chain = chains[payment.chain_id]
        payment.token = tokens[payment.token_id] if payment.token_id is not None else None
    return payments
