"""Compute how much can be refunded. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass

from payments.models import Payment
from payments.models.refund import totals_of
from payments.refunds.reading import RefundNow


@dataclass(frozen=True)
class Refundable:
    """A request's payments and refunds. Amounts are in base units."""

    payments: Sequence[Payment]
    refunds: Sequence[RefundNow]

    @property
    def left(self) -> int:
        """The largest possible new refund: the paid amount less completed and open refunds."""
        paid = sum(payment.amount_received or 0 for payment in self.payments)
        return max(paid - _taken(self.refunds), 0)

    def left_of(self, payment: Payment) -> int:
        """The largest possible new refund of this payment."""
        own = [each for each in self.refunds if each.refund.payment_id == payment.pk]
        return min(self.left, max((payment.amount_received or 0) - _taken(own), 0))

    @property
    def payers(self) -> set[str]:
        """The wallets that paid. A payment with an unknown sender counts as a wallet of its own."""
        return {payment.from_address or payment.pk for payment in self.payments}

    def taken_by_moved(self, refund_id: str) -> int:
        """Return how much was sent to earlier addresses of this refund, or may still be sent there."""
        return _taken([each for each in self.refunds if each.refund.moved_to_id == refund_id])

    def without(self, refund_id: str) -> "Refundable":
        return Refundable(self.payments, [each for each in self.refunds if each.refund.pk != refund_id])


def _taken(refunds: Sequence[RefundNow]) -> int:
    return totals_of([each.refund for each in refunds], [each.standing for each in refunds]).taken
