"""What was paid for a request and what remains, as the API and the events show it."""

from typing import TypedDict

from chains.api.objects import AmountObject
from payments.models import PaymentRequest


class NetAmounts(TypedDict):
    """The amounts of a payment request that payments, refunds and reorganisations change."""

    amount_paid: AmountObject
    amount_remaining: AmountObject
    amount_overpaid: AmountObject
    amount_refunded: AmountObject
    amount_refund_open: AmountObject


def net_amounts(request: PaymentRequest) -> NetAmounts:
    """Return the amounts of the request; its token is loaded."""
    refunds, decimals = request.refund_totals, request.token.decimals
    return NetAmounts(
        amount_paid=AmountObject.of(request.amount_paid, decimals),
        amount_remaining=AmountObject.of(request.amount_remaining, decimals),
        amount_overpaid=AmountObject.of(request.amount_overpaid, decimals),
        amount_refunded=AmountObject.of(refunds.completed, decimals),
        amount_refund_open=AmountObject.of(refunds.open, decimals),
    )
