"""The only writer of a status: each change is a guarded UPDATE with its history row, inside the caller's transaction.

The guard is the WHERE clause. When it changes no row, another process was first: the function returns False and nothing
is written.
"""

import uuid
from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import Q

from payments.models import Payment, PaymentRequest, Transition

# Where each status may be reached from (spec 3.1, contract 5): money that arrived late completes an expired request.
_REQUEST_MOVES = {
    PaymentRequest.Status.COMPLETED: (PaymentRequest.Status.ACTIVE, PaymentRequest.Status.EXPIRED),
    PaymentRequest.Status.EXPIRED: (PaymentRequest.Status.ACTIVE,),
    PaymentRequest.Status.CANCELLED: (PaymentRequest.Status.ACTIVE,),
}
# Spec 3.2, and contract 6 for the way back after a failure.
_PAYMENT_MOVES = {
    Payment.Status.PROCESSING: (Payment.Status.PENDING,),
    Payment.Status.COMPLETED: (Payment.Status.PROCESSING,),
    Payment.Status.FAILED: (Payment.Status.PENDING, Payment.Status.PROCESSING),
    Payment.Status.PENDING: (Payment.Status.FAILED,),
}


def note_creation(request: PaymentRequest, *, actor: str, payment: Payment | None = None) -> None:
    """Write the first line of the history of a new request or payment."""
    status = payment.status if payment else request.status
    Transition.objects.create(
        request=request, payment=payment, to_status=status, actor=actor, reason="created"
    )


def move_request(
    request: PaymentRequest, to: PaymentRequest.Status, *, actor: str, reason: str = "", **fields: Any
) -> bool:
    """Move `request` to status `to` and write `fields`; False if its status in the database does not allow that."""
    _demand_transaction()
    came_from = request.status
    allowed = _REQUEST_MOVES[to]
    if came_from not in allowed:
        return False
    rows = PaymentRequest.objects.filter(pk=request.pk, status=came_from).update(status=to, **fields)
    if rows != 1:
        return False
    Transition.objects.create(
        request=request, from_status=came_from, to_status=to, actor=actor, reason=reason
    )
    _remember(request, status=to, **fields)
    return True


def move_payment(
    payment: Payment,
    to: Payment.Status,
    *,
    actor: str,
    reason: str = "",
    held_by: uuid.UUID | None = None,
    **fields: Any,
) -> bool:
    """Move `payment` to status `to` and write `fields`; False if its status does not allow that.

    With `held_by`, only while that claim still holds the payment: a worker whose lease ran out changes nothing.
    """
    _demand_transaction()
    came_from = payment.status
    if came_from not in _PAYMENT_MOVES[to]:
        return False
    guard = Q(pk=payment.pk, status=came_from)
    if held_by is not None:
        guard &= Q(claim_id=held_by)
    if Payment.objects.filter(guard).update(status=to, **fields) != 1:
        return False
    Transition.objects.create(
        request_id=payment.request_id,
        payment=payment,
        from_status=came_from,
        to_status=to,
        actor=actor,
        reason=reason,
    )
    _remember(payment, status=to, **fields)
    return True


def note_replacement(payment: Payment, transaction_hash: str, *, actor: str) -> None:
    """Write into the history that the payment goes on with another transaction; its status stays."""
    _demand_transaction()
    Transition.objects.create(
        request_id=payment.request_id,
        payment=payment,
        from_status=payment.status,
        to_status=payment.status,
        actor=actor,
        reason=f"replaced by {transaction_hash} with the same effect",
    )


def start_processing(payments: Iterable[Payment]) -> None:
    """Move the pending ones among these locked payments to `processing`: their verification starts now."""
    for payment in payments:
        if payment.status == Payment.Status.PENDING:
            move_payment(payment, Payment.Status.PROCESSING, actor="verification")


def _demand_transaction() -> None:
    if not connection.in_atomic_block:
        raise RuntimeError("a status changes only inside a transaction")


def _remember(row: PaymentRequest | Payment, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(row, name, value)
