"""Create payment requests."""

import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone

from chains.models import Token
from merchants.identifiers import uuid7
from merchants.models import Merchant
from merchants.recipients import require_allowed
from payments.models import PaymentLink, PaymentRequest
from payments.requests.link_limits import use_link
from payments.requests.transitions import insert_request
from webhooks.endpoints.configuration import ensure_secret


@dataclass(frozen=True)
class Price:
    """`amount` has exactly the currency's number of fraction digits."""

    currency: str
    amount: Decimal


DEFAULT_LIFETIME = timedelta(hours=1)
# The rate is fixed when the request is created. With a longer lifetime, the customer could wait until the market
# moves in their favour.
MAX_PRICED_LIFETIME = timedelta(seconds=900)


def default_lifetime(price: Price | None) -> timedelta:
    return DEFAULT_LIFETIME if price is None else MAX_PRICED_LIFETIME


@dataclass(frozen=True)
class NewRequest:
    """The validated parameters of a new payment request. `amount` is in base units. `lifetime` starts now.

    If there is a `price`, `amount` is computed from it at `rate`, which is stored for display. `id` is the new
    request's id. A form sets it, so that sending the form twice creates one request.
    """

    token: Token
    amount: int
    recipient_address: str
    lifetime: timedelta
    references: bool | None = None
    external_id: str | None = None
    description: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    redirect_url: str | None = None
    cancel_url: str | None = None
    webhook_url: str | None = None
    price: Price | None = None
    rate: dict[str, Any] | None = None
    payment_link: PaymentLink | None = None
    id: uuid.UUID | None = None


def create_request(merchant: Merchant, order: NewRequest, *, actor: str) -> PaymentRequest:
    """Create an active request.

    Raises ApiError: `recipient_not_allowed`; `address_invalid` if the recipient is a deposit address; `link_inactive`
    if its payment link accepts no more payments.
    """
    now = timezone.now()
    request = PaymentRequest(
        id=order.id or uuid7(),
        merchant=merchant,
        chain=order.token.chain,
        token=order.token,
        amount=order.amount,
        recipient_address=order.recipient_address,
        references=merchant.references if order.references is None else order.references,
        external_id=order.external_id,
        description=order.description,
        metadata=order.metadata,
        redirect_url=order.redirect_url,
        cancel_url=order.cancel_url,
        webhook_url=order.webhook_url,
        price=order.price and {"currency": order.price.currency, "amount": str(order.price.amount)},
        rate=order.rate,
        payment_link=order.payment_link,
        created_at=now,
        expires_at=now + order.lifetime,
        expiry_check_at=now + order.lifetime,
    )
    with transaction.atomic(savepoint=False):
        require_allowed(merchant, request.chain.chain_type, request.recipient_address)
        if order.payment_link:
            use_link(order.payment_link, now)
        if order.webhook_url:
            ensure_secret(merchant)
        insert_request(request, actor=actor)
    return request
