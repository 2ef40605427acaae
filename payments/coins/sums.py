"""Sum the native coin at a deposit address that belongs to known payments.

Subtract this sum from the total that the address received: the rest is new coin. Failed payments and reorganised
payments count as 0.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from payments.models import Payment


class Part(NamedTuple):
    """A payment of native coin at a deposit address. `block` is the number of the block whose balance showed the
    coin. It is None after a reorganisation, until a balance shows the coin again.
    """

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
        """Whether a reorganisation removed the coin of this open payment, and no balance has shown it again."""
        return self.status in Payment.OPEN and self.block is None

    @property
    def accounted(self) -> int:
        """The amount of received coin that belongs to this payment, in base units."""
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
    """Return each request's payments of native coin. Each payment is a tuple, since a request can have very
    many payments.
    """
    found: dict[UUID, list[Part]] = defaultdict(list)
    rows = Payment.objects.filter(request__in=request_ids, deposit_sequence__isnull=False).order_by()
    for row in rows.values_list(*_COLUMNS):
        part = Part(*row)
        found[part.request_id].append(part)
    return found


def accounted(parts: Iterable[Part]) -> int:
    return sum(part.accounted for part in parts)


def accounted_beside(payment: Payment, parts: Iterable[Part]) -> int:
    """Return how much of the received coin belongs to the request's earlier payments. If a reorganisation reversed
    `payment`, include the request's later payments.
    """
    sequence = payment.deposit_sequence or 0
    others = (part for part in parts if part.payment_id != payment.pk)
    return accounted(part for part in others if payment.reorged or part.sequence < sequence)
