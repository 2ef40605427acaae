"""The refunds that a customer's pages show."""

from dataclasses import dataclass
from datetime import datetime

from chains.amounts import price_text
from payments.models import PaymentRequest, Refund
from payments.refunds.reading import refunds_of


@dataclass(frozen=True)
class RefundLine:
    """A completed or open refund. Its address, time and transaction are set once it is completed."""

    amount: str
    address: str = ""
    completed_at: datetime | None = None
    transaction_hash: str = ""
    explorer_url: str | None = None


def refund_lines(payment_request: PaymentRequest) -> list[RefundLine]:
    """Return the completed and the open refunds of the request, oldest first."""
    token, lines = payment_request.token, []
    for current in reversed(refunds_of(payment_request)):
        standing = current.standing
        payment = standing.payment
        amount = f"{price_text(current.refund.amount, token.decimals)} {token.symbol}"
        if standing.is_open:
            lines.append(RefundLine(amount))
        elif standing.status == Refund.Status.COMPLETED and payment is not None:
            lines.append(
                RefundLine(
                    amount,
                    current.refund.recipient_address,
                    payment.completed_at,
                    payment.transaction_hash,
                    payment.explorer_url,
                )
            )
    return lines
