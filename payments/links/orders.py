"""Build the order for a payment request that is created from a payment link, by a customer or with an API key."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from chains.amounts import AmountError, display_amount, parse_amount
from config.api.errors import ErrorCode
from payments.models import PaymentLink
from payments.requests.creation import NewRequest, Price, default_lifetime


def link_order(link: PaymentLink, amount: int | None, own: Mapping[str, Any] | None = None) -> NewRequest:
    """Return the order for one request of the link.

    `amount` is the result of `entered_amount`. If the link has a price, the amount is 0 until the price is
    converted. `own` replaces the link's description, metadata and URLs.
    """
    price = Price(link.price["currency"], Decimal(link.price["amount"])) if link.price else None
    order = NewRequest(
        token=link.token,
        amount=amount or link.amount or 0,
        recipient_address=link.recipient_address,
        lifetime=default_lifetime(price),
        description=link.description,
        metadata=link.metadata,
        redirect_url=link.redirect_url,
        price=price,
        payment_link=link,
    )
    return replace(order, **own) if own else order


def entered_amount(link: PaymentLink, text: object) -> int | None:
    """Parse the amount that a customer entered for an open link, in base units. Return None if the link has its own
    amount.

    Raises AmountError: `parameter_missing` if there is no amount, `parameter_invalid` if the amount is outside the
    limits or the link has its own amount. Also raises the errors of `parse_amount`.
    """
    if link.min_amount is None:
        if text is not None:
            message = "The payment link sets the amount. Leave it out."
            raise AmountError(ErrorCode.PARAMETER_INVALID, message)
        return None
    if text is None:
        message = f"The payment link has an open amount. Send one {limits_text(link)}."
        raise AmountError(ErrorCode.PARAMETER_MISSING, message)
    amount = parse_amount(text, link.token)
    if amount < link.min_amount or (link.max_amount is not None and amount > link.max_amount):
        shown = display_amount(amount, link.token.decimals)
        message = f"The amount should be {limits_text(link)}; got {shown}."
        raise AmountError(ErrorCode.PARAMETER_INVALID, message)
    return amount


def limits_text(link: PaymentLink) -> str:
    """Return the limits of an open link, such as `from 5.00 to 100 USDC`."""
    decimals, symbol = link.token.decimals, link.token.symbol
    smallest = display_amount(link.min_amount or 0, decimals)
    if link.max_amount is None:
        return f"of at least {smallest} {symbol}"
    return f"from {smallest} to {display_amount(link.max_amount, decimals)} {symbol}"
