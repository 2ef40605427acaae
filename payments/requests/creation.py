"""Create payment requests: the row and its first history entry, in one statement."""

from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache

from django.db import transaction
from django.utils import timezone

from chains.models import Token
from config.api.errors import ApiError
from config.compiled_query import CompiledInsert, run
from merchants.models import Merchant
from merchants.recipients import IS_ALLOWED, not_allowed
from payments.models import PaymentRequest, Transition
from webhooks.endpoints.configuration import ensure_secret


@dataclass(frozen=True)
class NewRequest:
    """The validated parameters of a new payment request. `amount` is in base units; `lifetime` starts now."""

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
        created_at=now,
        expires_at=now + order.lifetime,
        expiry_check_at=now + order.lifetime,
    )
    if not order.webhook_url:
        _insert(request, actor)
        return request
    with transaction.atomic():
        ensure_secret(merchant)
        _insert(request, actor)
    return request


def _insert(request: PaymentRequest, actor: str) -> None:
    """Store the request with its first history entry, if its merchant allows the recipient."""
    sql, requests, entries = _statement()
    entry = Transition(
        request_id=request.pk,
        to_status=request.status,
        actor=actor,
        reason="created",
        created_at=request.created_at,
    )
    recipient = (request.merchant_id, request.chain.chain_type, request.recipient_address)
    if run(sql, [*requests.of(request), *recipient, *entries.of(entry)]).rowcount != 1:
        raise ApiError.of([not_allowed(request.chain.chain_type, request.recipient_address)])
    request._state.adding = False
    request._state.db = "default"


@cache
def _statement() -> tuple[str, CompiledInsert, CompiledInsert]:
    requests, entries = CompiledInsert(PaymentRequest), CompiledInsert(Transition)
    sql = f"""WITH created AS (
            INSERT INTO payments_paymentrequest ({requests.columns})
            SELECT {requests.values} WHERE {IS_ALLOWED}
            RETURNING id
        )
        INSERT INTO payments_transition ({entries.columns})
        SELECT {entries.values} FROM created"""  # noqa: S608 - only names of columns and types
    return sql, requests, entries
