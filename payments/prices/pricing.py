"""Convert a price to an amount of a token at the current rate."""

from dataclasses import replace

from chains.amounts import largest_amount
from config.api.errors import ApiError, ErrorCode
from config.api.serializers import required_timestamp
from payments.prices.rates import current_rate
from payments.prices.rules import token_amount
from payments.requests.creation import NewRequest


def with_amount(order: NewRequest) -> NewRequest:
    """Convert the order's price, if it has one. Return the order with the amount and the rate.

    Queries the rate sources. Raises ApiError: `rate_unavailable`, `amount_too_large`, or `parameter_invalid` if the
    token has no price.
    """
    if order.price is None:
        return order
    rate = current_rate(order.token, order.price.currency)
    amount = token_amount(order.price.amount, rate.exact, order.token.decimals)
    if amount > largest_amount(order.token):
        message = f"The price is more than {order.token.chain.name} can hold."
        raise ApiError(ErrorCode.AMOUNT_TOO_LARGE, message, "price.amount")
    shown = {
        "value": f"{rate.value.normalize():f}",
        "currency": rate.currency,
        "token": rate.token,
        "sources": list(rate.sources),
        "observed_at": required_timestamp(rate.observed_at),
    }
    return replace(order, amount=amount, rate=shown)
