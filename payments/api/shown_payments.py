"""Which payments of a request are shown, where there are many."""

from django.db.models import Case, Q, Value, When

from payments.models import Payment, PaymentRequest

MOST_SHOWN = 20


def newest_payments(request: PaymentRequest) -> list[Payment]:
    """Return the newest 20 payments of `request`, newest first, with all that their objects need."""
    payments = request.payments.select_related("chain", "token", "request__token", "request__chain")
    return list(payments.order_by("-created_at", "-id")[:MOST_SHOWN])


def weightiest_payments(request: PaymentRequest) -> list[Payment]:
    """Return 20 payments of `request`, newest first: bound ones before open ones before failed ones.

    Anyone can submit hashes of transactions that pay nothing; they must not push a payment off the customer's page.
    """
    payments = request.payments.select_related("chain", "token", "request__token", "request__chain")
    is_open = Q(status__in=Payment.OPEN)
    is_bound = Q(status=Payment.Status.COMPLETED) | (
        is_open & (Q(is_in_flight=True) | Q(is_bound_unmined=True))
    )
    weight = Case(When(is_bound, then=Value(0)), When(is_open, then=Value(1)), default=Value(2))
    chosen = payments.order_by(weight, "-created_at", "-id")[:MOST_SHOWN]
    return sorted(chosen, key=lambda payment: (payment.created_at, payment.id), reverse=True)
