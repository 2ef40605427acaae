"""Change the status of requests and payments. No other module writes a status or a history row.

Each change is an UPDATE that requires the old status, and a history row, in the caller's transaction. If the UPDATE
changes no row, another process was first, and no history is written. `move_request` and `move_payment` change one
row. `complete_requests` and `move_payments` change many by the same rules.
"""

import logging
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.db import connection, transaction

from config.api.errors import ApiError, ErrorCode
from config.api.log_context import log_context
from config.database.compiled_query import CompiledInsert, run
from payments.metrics import PAYMENTS_DECIDED
from payments.models import DepositAddress, Payment, PaymentRequest, Transition
from payments.requests.bulk_updates import update_each
from payments.requests.watching import tell_watchers

logger = logging.getLogger(__name__)

# For each status: the statuses from which it can be reached. A late payment completes an expired request.
_REQUEST_MOVES = {
    PaymentRequest.Status.COMPLETED: (PaymentRequest.Status.ACTIVE, PaymentRequest.Status.EXPIRED),
    PaymentRequest.Status.EXPIRED: (PaymentRequest.Status.ACTIVE,),
    PaymentRequest.Status.CANCELLED: (PaymentRequest.Status.ACTIVE,),
    # Only for a refund's carrier, after a reorganisation.
    PaymentRequest.Status.ACTIVE: (PaymentRequest.Status.COMPLETED,),
}
# A failed payment that is reopened becomes pending again.
_PAYMENT_MOVES = {
    Payment.Status.PROCESSING: (Payment.Status.PENDING,),
    Payment.Status.COMPLETED: (Payment.Status.PROCESSING,),
    # A completed payment fails only if it belongs to a refund's carrier, after a reorganisation.
    Payment.Status.FAILED: (Payment.Status.PENDING, Payment.Status.PROCESSING, Payment.Status.COMPLETED),
    # An open payment becomes pending only if a reorganisation removed the transaction that executed its proposal.
    Payment.Status.PENDING: (Payment.Status.FAILED, Payment.Status.PROCESSING),
}


@dataclass(frozen=True)
class Move:
    """A request or payment to change, the fields to write, and the reason for the history."""

    row: PaymentRequest | Payment
    fields: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


def insert_request(request: PaymentRequest, *, actor: str) -> None:
    """Store a new request and its first history row, in one statement.

    Raises ApiError `address_invalid` if the recipient is a deposit address: money there belongs to another request.
    """
    sql, row = _insertion()
    if run(sql, [*row.of(request), request.recipient_address, actor]).rowcount != 1:
        raise ApiError(ErrorCode.ADDRESS_INVALID, DepositAddress.NO_RECIPIENT, "recipient_address")
    request._state.adding = False


@cache
def _insertion() -> tuple[str, CompiledInsert]:
    row = CompiledInsert(PaymentRequest)
    sql = f"""WITH created AS (
            INSERT INTO payments_paymentrequest ({row.columns}) SELECT {row.values}
            WHERE NOT EXISTS (SELECT FROM payments_depositaddress WHERE address = %s)
            RETURNING id, status, created_at
        )
        INSERT INTO payments_transition (request_id, from_status, to_status, actor, reason, created_at)
        SELECT id, '', status, %s::text, 'created', created_at FROM created"""  # noqa: S608 - only names and types
    return sql, row


def note_creation(payment: Payment, *, actor: str) -> None:
    Transition.objects.create(
        request_id=payment.request_id,
        payment=payment,
        to_status=payment.status,
        actor=actor,
        reason="created",
    )
    tell_watchers(payment.request_id)
    _log_after_commit([_Logged(payment.request_id, payment.pk, "nothing", payment.status, actor, "created")])


def move_request(
    request: PaymentRequest, to: PaymentRequest.Status, *, actor: str, reason: str = "", **fields: Any
) -> bool:
    """Set the status and write `fields`. Return False if the stored status doesn't allow this."""
    _require_transaction()
    from_status = request.status
    allowed = _REQUEST_MOVES[to]
    if from_status not in allowed:
        return False
    rows = PaymentRequest.objects.filter(pk=request.pk, status=from_status).update(status=to, **fields)
    if rows != 1:
        return False
    Transition.objects.create(
        request=request, from_status=from_status, to_status=to, actor=actor, reason=reason
    )
    tell_watchers(request.pk)
    _log_after_commit([_Logged(request.pk, None, from_status, to, actor, reason)])
    _update_instance(request, status=to, **fields)
    return True


def move_payment(
    payment: Payment,
    to: Payment.Status,
    *,
    actor: str,
    reason: str = "",
    **fields: Any,
) -> bool:
    """Set the status and write `fields`. Return False if the stored status doesn't allow this."""
    _require_transaction()
    from_status = payment.status
    if from_status not in _PAYMENT_MOVES[to]:
        return False
    if Payment.objects.filter(pk=payment.pk, status=from_status).update(status=to, **fields) != 1:
        return False
    Transition.objects.create(
        request_id=payment.request_id,
        payment=payment,
        from_status=from_status,
        to_status=to,
        actor=actor,
        reason=reason,
    )
    tell_watchers(payment.request_id)
    _log_after_commit([_Logged(payment.request_id, payment.pk, from_status, to, actor, reason)])
    _update_instance(payment, status=to, **fields)
    return True


def complete_requests(moves: Sequence[Move], *, actor: str) -> set[uuid.UUID]:
    """Complete many requests. Return the ids of the requests whose stored status allowed the change."""
    to = PaymentRequest.Status.COMPLETED
    allowed = [move for move in moves if move.row.status in _REQUEST_MOVES[to]]
    return _move_all(PaymentRequest, allowed, to, actor=actor)


def move_payments(moves: Sequence[Move], to: Payment.Status, *, actor: str) -> set[str]:
    """Set the status of many payments. Return the ids of the payments whose stored status allowed the change."""
    allowed = [move for move in moves if move.row.status in _PAYMENT_MOVES[to]]
    return _move_all(Payment, allowed, to, actor=actor)


def _move_all(
    model: type[PaymentRequest] | type[Payment],
    moves: Sequence[Move],
    to: str,
    *,
    actor: str,
) -> set[Any]:
    _require_transaction()
    by_status: dict[str, list[Move]] = defaultdict(list)
    for move in moves:
        by_status[move.row.status].append(move)
    written: set[Any] = set()
    for from_status, group in by_status.items():
        rows = {move.row.pk: {**move.fields, "status": to} for move in group}
        written |= update_each(model, rows, guard={"status": from_status})
    moved = [move for move in moves if move.row.pk in written]
    history = [_history_row(move, to, actor) for move in moved]
    Transition.objects.bulk_create(history)
    tell_watchers(*{row.request_id for row in history})
    _log_after_commit(
        [_Logged(row.request_id, row.payment_id, row.from_status, to, actor, row.reason) for row in history]
    )
    for move in moved:
        _update_instance(move.row, status=to, **move.fields)
    return written


def _history_row(move: Move, to: str, actor: str) -> Transition:
    payment = move.row if isinstance(move.row, Payment) else None
    return Transition(
        request_id=payment.request_id if payment else move.row.pk,
        payment=payment,
        from_status=move.row.status,
        to_status=to,
        actor=actor,
        reason=move.reason,
    )


def note(row: PaymentRequest | Payment, reason: str, *, actor: str) -> None:
    """Write a history row. The status stays the same."""
    _require_transaction()
    history = _history_row(Move(row, reason=reason), row.status, actor)
    history.save()
    tell_watchers(history.request_id)


def start_processing(payments: Iterable[Payment]) -> None:
    """Set pending payments to `processing`. The payments must be locked."""
    pending = [Move(payment) for payment in payments if payment.status == Payment.Status.PENDING]
    move_payments(pending, Payment.Status.PROCESSING, actor="verification")


@dataclass(frozen=True)
class _Logged:
    """A change to log. Without `payment_id`, it is a change of the request."""

    request_id: uuid.UUID
    payment_id: str | None
    from_status: str
    to_status: str
    actor: str
    reason: str

    def log(self) -> None:
        with log_context(payment_request_id=self.request_id, payment_id=self.payment_id):
            kind = "payment" if self.payment_id else "payment request"
            logger.info(
                "%s moved from %s to %s by %s: %s",
                kind, self.from_status, self.to_status, self.actor, self.reason or "-",
            )  # fmt: skip
        if self.payment_id and self.to_status in (Payment.Status.COMPLETED, Payment.Status.FAILED):
            PAYMENTS_DECIDED.labels(str(self.to_status)).inc()


def _log_after_commit(changes: Sequence[_Logged]) -> None:
    def log_all() -> None:
        for change in changes:
            change.log()

    transaction.on_commit(log_all, robust=True)


def _require_transaction() -> None:
    if not connection.in_atomic_block:
        raise RuntimeError("a status changes only inside a transaction")


def _update_instance(row: PaymentRequest | Payment, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(row, name, value)
