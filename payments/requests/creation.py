"""Create payment requests."""

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone

from chains.models import Token
from merchants.models import Merchant
from merchants.recipients import require_allowed
from payments.models import PaymentRequest
from payments.requests.transitions import insert_request
from webhooks.endpoints.configuration import ensure_secret


@dataclass(frozen=True)
class Price:
    """The requested price; `amount` has exactly the currency's fraction digits."""

    currency: str
    amount: Decimal


@dataclass(frozen=True)
class NewRequest:
    """The validated parameters of a new payment request. `amount` is in base units; `lifetime` starts now.

    With a `price`, `amount` follows from it at `rate`, which is stored as displayed.
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


def create_request(merchant: Merchant, order: NewRequest, *, actor: str) -> PaymentRequest:
    """Create an active request. Raises ApiError if the merchant does not allow the recipient."""
    now = timezone.now()
    request = PaymentRequest(
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
        created_at=now,
        expires_at=now + order.lifetime,
        expiry_check_at=now + order.lifetime,
    )
    with transaction.atomic(savepoint=False):
        require_allowed(merchant, request.chain.chain_type, request.recipient_address)
        if order.webhook_url:
            ensure_secret(merchant)
        insert_request(request, actor=actor)
    return request
