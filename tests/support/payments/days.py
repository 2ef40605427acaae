"""Requests, payments and deliveries that ended days ago. The rows are written as the service would have left them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from chains.models import Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest, Transition
from tests.support.payments.rows import new_payment
from webhooks.models import Delivery

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def a_request(merchant: Merchant, token: Token, at: datetime, **fields: Any) -> PaymentRequest:
    """Store an active request for 10 of the token's units, created at `at`."""
    values: dict[str, Any] = {
        "amount": 10 * 10**token.decimals,
        "recipient_address": "0x" + "1" * 40,
        "created_at": at,
        "expires_at": at + timedelta(hours=1),
        "expiry_check_at": at + timedelta(hours=1),
        **fields,
    }
    request = PaymentRequest.objects.create(merchant=merchant, token=token, chain=token.chain, **values)
    note(request, "active", at)
    return request


def note(request: PaymentRequest, status: str, at: datetime) -> None:
    """Store the history row that each change of a request writes."""
    Transition.objects.create(request=request, to_status=status, actor="test", created_at=at)


def a_payment(request: PaymentRequest, at: datetime, **fields: Any) -> Payment:
    """Store a failed payment of the request, submitted at `at`. `fields` can change it."""
    number = Payment.objects.count()
    values = {"status": "failed", "next_check_at": None, "failed_at": at, **fields}
    if values["status"] != "failed":
        values["failed_at"] = None
    return new_payment(
        request=request,
        chain=request.chain,
        transaction_hash="0x" + f"{number:064x}",
        created_at=at,
        **values,
    )


def paid(request: PaymentRequest, at: datetime, *, amount: int | None = None, seconds: int = 40) -> Payment:
    """Store a payment completed at `at`, and the request as completed by it."""
    received = request.amount if amount is None else amount
    payment = a_payment(
        request,
        at - timedelta(seconds=seconds),
        status="completed",
        completed_at=at,
        amount=received,
        amount_received=received,
        token=request.token,
    )
    request.amount_paid += received
    if request.amount_paid >= request.amount:
        request.status = PaymentRequest.Status.COMPLETED
        request.completed_at = at
        note(request, "completed", at)
    request.save()
    return payment


def a_delivery(
    merchant: Merchant, at: datetime, *, delivered: bool = True, is_test: bool = False
) -> Delivery:
    """Store a delivery that succeeded or was given up at `at`."""
    return Delivery.objects.create(
        merchant=merchant,
        own_body=b"{}",
        public_event_id="evt_1",
        type="payment.succeeded",
        is_test=is_test,
        status="delivered" if delivered else "failed",
        attempts=1 if delivered else 8,
        created_at=at,
        finished_at=at,
    )
