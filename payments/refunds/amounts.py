"""What can still be refunded. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from payments.models import Payment, PaymentRequest
from payments.refunds.reading import RefundNow


@dataclass(frozen=True)
class Refundable:
    """What was paid and what of it is taken, in base units."""

    payments: Sequence[Payment]
    refunds: Sequence[RefundNow]

    @property
    def refunded(self) -> int:
        """What has reached the customer."""
        return sum(each.standing.received for each in self.refunds)

    @property
    def left(self) -> int:
        """The most that a new refund may be: what was paid less the refunds that are completed or open."""
        paid = sum(payment.amount_received or 0 for payment in self.payments)
        return max(paid - _taken(self.refunds), 0)

    def left_of(self, payment: Payment) -> int:
        """The most that a new refund of this payment may be."""
        own = [each for each in self.refunds if each.refund.payment_id == payment.pk]
        return min(self.left, max((payment.amount_received or 0) - _taken(own), 0))

    def excess(self, request: PaymentRequest) -> int:
        """What was paid beyond the requested amount and is not yet refunded."""
        return max(self.left - request.amount, 0)

    @property
    def payers(self) -> set[str]:
        """The wallets that paid; a payment whose sender is unknown counts as a payer of its own."""
        return {payment.from_address or payment.pk for payment in self.payments}

    def taken_by_moved(self, refund_id: str) -> int:
        """Return what the earlier addresses of this refund take."""
        return _taken([each for each in self.refunds if each.refund.moved_to_id == refund_id])

    def without(self, refund_id: str) -> "Refundable":
        """Return the same without one refund."""
        return Refundable(self.payments, [each for each in self.refunds if each.refund.pk != refund_id])


def _taken(refunds: Sequence[RefundNow]) -> int:
    return sum(each.refund.amount if each.standing.is_open else each.standing.received for each in refunds)
