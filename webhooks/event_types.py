"""The event types. Each has a description, a default, and the values of its test event. Add new types here."""

from dataclasses import dataclass
from typing import Literal

from django.db import models


class EventType(models.TextChoices):
    PAYMENT_SUCCEEDED = "payment.succeeded", "Payment succeeded"
    PAYMENT_FAILED = "payment.failed", "Payment failed"
    PAYMENT_EXPIRED = "payment.expired", "Payment request expired"
    PAYMENT_PARTIALLY_PAID = "payment.partially_paid", "Payment request partially paid"
    PAYMENT_OVERPAID = "payment.overpaid", "Payment request overpaid"
    PAYMENT_REORGED = "payment.reorged", "Payment undone by a chain reorganisation"
    REFUND_COMPLETED = "refund.completed", "Refund completed"
    REFUND_FAILED = "refund.failed", "Refund failed"

    @property
    def status(self) -> str:
        """The part of the type after the dot, such as `succeeded`."""
        return self.value.rpartition(".")[2]


@dataclass(frozen=True)
class About:
    """A type's meaning, and the values of its test event.

    `is_default` is True if endpoints that select no types get these events. `request_status` and `paid_percent` are the
    payment request's status and its paid percentage in the test event.
    """

    when: str
    is_default: bool
    request_status: Literal["active", "completed", "expired"]
    paid_percent: int = 0


ABOUT = {
    EventType.PAYMENT_SUCCEEDED: About(
        "A payment request was completed, or a cancelled request was paid in full. At most once per request.",
        True,
        "completed",
        100,
    ),
    EventType.PAYMENT_FAILED: About(
        "A payment failed. Each failure is a new event. Publicly submitted transactions that are not bound to "
        "the request send only one event for the whole request.",
        True,
        "active",
    ),
    EventType.PAYMENT_EXPIRED: About(
        "A payment request expired before it was completed. At most once per request.", True, "expired"
    ),
    EventType.PAYMENT_PARTIALLY_PAID: About(
        "A payment arrived but did not complete the request: an amount remains, or the price had expired "
        "and you have to accept it. Sent only if you enable the type.",
        False,
        "active",
        50,
    ),
    EventType.PAYMENT_OVERPAID: About(
        "A payment arrived for a request that was already paid in full. Sent only if you enable the type.",
        False,
        "completed",
        200,
    ),
    EventType.PAYMENT_REORGED: About(
        "A chain reorganisation removed the block of a completed payment (`reorged: true`), or its "
        "transaction is in the chain again (`reorged: false`). Sent only if you enable the type.",
        False,
        "completed",
        100,
    ),
    EventType.REFUND_COMPLETED: About(
        "A refund's transfer was verified. Sent only if you enable the type.", False, "completed", 100
    ),
    EventType.REFUND_FAILED: About(
        "A refund's transaction failed, or a chain reorganisation removed its block. Sent only if you "
        "enable the type.",
        False,
        "completed",
        100,
    ),
}
DEFAULT_EVENT_TYPES = tuple(type_ for type_, about in ABOUT.items() if about.is_default)
