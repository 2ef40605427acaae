"""Derive a refund's status from its carrier's payments. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from payments.models import Payment, Refund

Status = Refund.Status


@dataclass(frozen=True)
class Standing:
    """How far a refund is.

    `received` is what has reached the customer, in base units, at most the refund's amount. `payment` is the one that
    decides the status, if any does; `failure_code` and `failure_message` are empty unless the refund failed.
    """

    status: Refund.Status
    received: int = 0
    payment: Payment | None = None
    failure_code: str = ""
    failure_message: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the refund's amount is reserved: it may still be sent."""
        return self.status in (Status.REQUIRES_ADDRESS, Status.READY, Status.PROCESSING)


def standing_of(refund: Refund, payments: Sequence[Payment]) -> Standing:
    """Return the standing of the refund with these payments of its carrier, oldest first.

    A cancelled refund that was sent all the same is completed. Hashes that nothing binds don't make a refund fail:
    anyone with its link can submit them. Neither do transactions that were submitted before it was built again.
    """
    counted = [payment for payment in payments if payment.status == Payment.Status.COMPLETED]
    received = min(sum(payment.amount_received or 0 for payment in counted), refund.amount)
    if received == refund.amount:
        return Standing(Status.COMPLETED, received, counted[-1])
    under_way = [payment for payment in payments if _is_under_way(refund, payment)]
    if under_way:
        return Standing(Status.PROCESSING, received, under_way[-1])
    if refund.cancelled_at is not None:
        return Standing(Status.CANCELLED, received)
    failed = [payment for payment in payments if _has_failed(refund, payment)]
    if failed:
        last = failed[-1]
        return Standing(Status.FAILED, received, last, last.failure_code, last.failure_message)
    return Standing(Status.READY if refund.recipient_address else Status.REQUIRES_ADDRESS, received)


def _is_under_way(refund: Refund, payment: Payment) -> bool:
    """Whether the payment may still complete the refund. A cancelled one takes a transaction that is bound to it."""
    is_bound = payment.is_in_flight or payment.is_bound_unmined
    return payment.is_open and (is_bound or refund.cancelled_at is None)


def _has_failed(refund: Refund, payment: Payment) -> bool:
    is_latest = refund.built_at is None or payment.created_at > refund.built_at
    return payment.status == Payment.Status.FAILED and not payment.is_anyones and is_latest
