"""The paid and remaining amounts for the API and for events."""

from typing import TypedDict

from chains.api.objects import AmountObject
from payments.models import PaymentRequest


class PaidAmounts(TypedDict):
    amount_paid: AmountObject
    amount_remaining: AmountObject
    amount_overpaid: AmountObject


class RefundAmounts(TypedDict):
    amount_refunded: AmountObject
    amount_refund_open: AmountObject


def paid_amounts(request: PaymentRequest) -> PaidAmounts:
    """Return the paid and remaining amounts after refunds and reorganisations. The token must be loaded."""
    decimals = request.token.decimals
    return PaidAmounts(
        amount_paid=AmountObject.of(request.amount_paid, decimals),
        amount_remaining=AmountObject.of(request.amount_remaining, decimals),
        amount_overpaid=AmountObject.of(request.amount_overpaid, decimals),
    )


def refund_amounts(request: PaymentRequest) -> RefundAmounts:
    """Return the totals of the request's refunds. Only its merchant may see them. The token must be loaded."""
    refunds, decimals = request.refund_totals, request.token.decimals
    return RefundAmounts(
        amount_refunded=AmountObject.of(refunds.completed, decimals),
        amount_refund_open=AmountObject.of(refunds.open, decimals),
    )
