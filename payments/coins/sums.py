"""Sum the native coin that the payments at a request's deposit address account for.

The total that the address received, less this sum, is new. Payments that failed, and those whose block a reorganisation
removed, account for 0.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from payments.models import Payment


class Part(NamedTuple):
    """A payment of native coin at a deposit address. `block` shows it; None if it was reorganised away."""

    request_id: UUID
    payment_id: str
    sequence: int
    status: str
    reorged: bool
    received: int | None
    amount: int | None
    block: int | None

    @property
    def is_unread(self) -> bool:
        """Whether the payment is open, and its coin was not yet seen again after a reorganisation."""
        return self.status in Payment.OPEN and self.block is None

    @property
    def accounted(self) -> int:
        """The part of the received coin that the payment accounts for, in base units."""
        if self.status == Payment.Status.COMPLETED:
            return 0 if self.reorged else self.received or 0
        return 0 if self.status not in Payment.OPEN or self.is_unread else self.amount or 0


_COLUMNS = (
    "request_id",
    "pk",
    "deposit_sequence",
    "status",
    "reorged",
    "amount_received",
    "amount",
    "lookup__block_number",
)


def parts_of(request_ids: Collection[UUID]) -> Mapping[UUID, Sequence[Part]]:
    """Return the payments of native coin of each request, as tuples, because there may be very many."""
    found: dict[UUID, list[Part]] = defaultdict(list)
    rows = Payment.objects.filter(request__in=request_ids, deposit_sequence__isnull=False).order_by()
    for row in rows.values_list(*_COLUMNS):
        part = Part(*row)
        found[part.request_id].append(part)
    return found


def accounted(parts: Iterable[Part]) -> int:
    """Return how much received coin these payments account for."""
    return sum(part.accounted for part in parts)


def accounted_beside(payment: Payment, parts: Iterable[Part]) -> int:
    """Return how much of the received coin the request's payments before this one account for.

    If a reorganisation reversed this payment, all others count as earlier.
    """
    sequence = payment.deposit_sequence or 0
    others = (part for part in parts if part.payment_id != payment.pk)
    return accounted(part for part in others if payment.reorged or part.sequence < sequence)
