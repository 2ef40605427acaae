"""What was paid for a request and what remains, as the API and the events show it."""

from typing import TypedDict

from chains.api.objects import AmountObject
from payments.models import PaymentRequest


class PaidAmounts(TypedDict):
    """What was paid and what remains, net of refunds and reorganisations."""

    amount_paid: AmountObject
    amount_remaining: AmountObject
    amount_overpaid: AmountObject


class RefundAmounts(TypedDict):
    """What refunds returned and reserve. Only the merchant sees it."""

    amount_refunded: AmountObject
    amount_refund_open: AmountObject


def paid_amounts(request: PaymentRequest) -> PaidAmounts:
    """Return what was paid for the request and what remains; its token is loaded."""
    decimals = request.token.decimals
    return PaidAmounts(
        amount_paid=AmountObject.of(request.amount_paid, decimals),
        amount_remaining=AmountObject.of(request.amount_remaining, decimals),
        amount_overpaid=AmountObject.of(request.amount_overpaid, decimals),
    )


def refund_amounts(request: PaymentRequest) -> RefundAmounts:
    """Return the totals of the request's refunds; its token is loaded."""
    refunds, decimals = request.refund_totals, request.token.decimals
    return RefundAmounts(
        amount_refunded=AmountObject.of(refunds.completed, decimals),
        amount_refund_open=AmountObject.of(refunds.open, decimals),
    )
