"""Create payment requests: the row and its first history entry, in one statement."""

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from django.db import transaction
from django.utils import timezone

from chains.models import Token
from config.api.errors import ApiError
from config.database.compiled_query import CompiledInsert, run
from merchants.keys.idempotency import KeptAnswer
from merchants.models import Merchant
from merchants.recipients import IS_ALLOWED, not_allowed
from payments.models import PaymentRequest
from webhooks.endpoints.configuration import ensure_secret


@dataclass(frozen=True)
class Price:
    """What is asked for in a currency; the amount has exactly the currency's fraction digits."""

    currency: str
    amount: Decimal


@dataclass(frozen=True)
class NewRequest:
    """The validated parameters of a new payment request. `amount` is in base units; `lifetime` starts now.

    With a `price`, `amount` follows from it at `rate`, which is stored as it is shown.
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
    request = new_request(merchant, order)
    with transaction.atomic():
        if order.webhook_url:
            ensure_secret(merchant)
        store_request(request, actor=actor)
    return request


def new_request(merchant: Merchant, order: NewRequest) -> PaymentRequest:
    """Return the request that `store_request` stores."""
    now = timezone.now()
    return PaymentRequest(
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


def store_request(request: PaymentRequest, kept: KeptAnswer | None = None, *, actor: str) -> bool:
    """Store a new request with its first history entry in one statement. Returns True.

    Together with `kept`, the response to an idempotency key: False, and nothing is stored, if the key is not new.
    Raises ApiError if the merchant does not allow the recipient; with `kept` it returns False for that as well.
    """
    sql, requests = _statement(kept is not None)
    recipient = [request.merchant_id, request.chain.chain_type, request.recipient_address]
    values = [*recipient, *(kept.values if kept else ()), *requests.of(request), actor]
    if run(sql, values).rowcount == 1:
        request._state.adding = False
        return True
    if kept is not None:
        return False
    raise ApiError.of([not_allowed(request.chain.chain_type, request.recipient_address)])


# Set later, or for refunds only.
_NOT_YET = (
    "link_shown_at",
    "completed_at",
    "expired_at",
    "cancelled_at",
    "unbound_failure_sent",
    "is_refund",
    "has_refunds",
)


@cache
def _statement(has_key: bool) -> tuple[str, CompiledInsert]:
    requests = CompiledInsert(PaymentRequest, unset=_NOT_YET)
    kept = f"kept AS ({KeptAnswer.sql('allowed')})," if has_key else ""
    sql = f"""WITH allowed AS (SELECT WHERE {IS_ALLOWED}), {kept}
        created AS (
            INSERT INTO payments_paymentrequest ({requests.columns})
            SELECT {requests.values} FROM {"kept" if has_key else "allowed"}
            RETURNING id, status, created_at
        )
        INSERT INTO payments_transition (request_id, from_status, to_status, actor, reason, created_at)
        SELECT id, '', status, %s::text, 'created', created_at FROM created"""  # noqa: S608 - only names and types
    return sql, requests
