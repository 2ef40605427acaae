"""Sum the native coin that a request's payments by address account for. Pure functions.

What the address received in all, less this sum, is new. A payment that a reorganisation reversed accounts for nothing,
and neither does an open one whose block was reorganised away.
"""

from collections.abc import Iterable

from payments.models import Payment


def accounted(payments: Iterable[Payment]) -> int:
    """Return how much received coin these payments account for, in base units."""
    return sum(map(_amount, payments))


def accounted_beside(payment: Payment, payments: Iterable[Payment]) -> int:
    """Return how much of the received coin came before `payment`: what the request's earlier payments account for.

    After a reorganisation reversed the payment, all others come first.
    """
    return accounted(
        each
        for each in payments
        if each.pk != payment.pk and (payment.reorged or _sequence(each) < _sequence(payment))
    )


def is_unread(payment: Payment) -> bool:
    """Whether the payment is open, and waits until its coin is seen in another block."""
    return payment.is_open and payment.lookup.block_number is None


def _amount(payment: Payment) -> int:
    if payment.status == Payment.Status.COMPLETED:
        return 0 if payment.reorged else payment.amount_received or 0
    return 0 if not payment.is_open or is_unread(payment) else payment.amount or 0


def _sequence(payment: Payment) -> int:
    return payment.deposit_sequence or 0
