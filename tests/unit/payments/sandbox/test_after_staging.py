"""When a staging deployment becomes production, what the sandbox simulated doesn't count any more."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import LazySettings
from django.utils import timezone

from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.services import refundable
from payments.requests import crediting
from payments.requests.new_payments import create_payment
from tests.conftest import Api
from tests.support.sandbox.fixtures import AMOUNT, path, recorded_events

Make = Callable[[str], PaymentRequest]
HALF = AMOUNT // 2


def simulate(api: Api, request: PaymentRequest, outcome: str) -> dict[str, Any]:
    response = api.post(path(request), {"outcome": outcome})
    assert response.status_code == 200, response.content
    body: dict[str, Any] = response.json()
    return body


def credit_real(request: PaymentRequest, amount: int) -> str:
    """Credit a real payment to the request. Return the type of its event."""
    now = timezone.now()
    payment = create_payment(
        request,
        request.chain,
        f"0x{amount:064x}",
        actor="checkout",
        seen_at=now,
        submitted_publicly=True,
        status=Payment.Status.COMPLETED,
        amount_received=amount,
    )
    event = crediting.credit(request, payment)
    PaymentRequest.objects.filter(pk=request.pk).update(**crediting.credit_columns(request, event, now))
    return event.value


def pay_late(api: Api, request: PaymentRequest) -> str:
    """Simulate a payment after the request's price. Return its id."""
    request.price = {"currency": "EUR", "amount": "9.10"}
    request.rate = {"value": "0.91", "currency": "EUR", "token": "USDC", "sources": [], "observed_at": ""}
    request.expires_at = timezone.now() - timedelta(hours=1)
    request.save()
    (payment,) = simulate(api, request, "paid_late")["payments"]
    return str(payment["id"])


def test_simulated_late_payment_is_not_accepted(api: Api, request_in: Make, settings: LazySettings) -> None:
    request = request_in("expired")
    payment = pay_late(api, request)
    events = recorded_events()
    settings.ENVIRONMENT = "production"
    url = f"/api/payment-requests/{request.pk}/payments/{payment}/accept"
    response = api.post(url, {"reason": "It is fine."})
    assert (response.status_code, response.json()["error"]["code"]) == (409, "payment_not_retryable")
    request.refresh_from_db()
    assert (request.status, Payment.objects.get().accepted_by, recorded_events()) == ("expired", "", events)
    settings.ENVIRONMENT = "staging"
    assert api.post(url, {"reason": "It is fine."}).status_code == 200
    request.refresh_from_db()
    assert request.status == "completed"


def test_simulated_late_payment_takes_nothing_from_real_money(
    api: Api, request_in: Make, settings: LazySettings
) -> None:
    request = request_in("expired")
    pay_late(api, request)
    settings.ENVIRONMENT = "production"
    now = PaymentRequest.objects.get(pk=request.pk)
    assert credit_real(now, AMOUNT) == "payment.succeeded"
    assert (now.net, now.paid_beyond) == (AMOUNT, 0)


def test_real_rest_does_not_complete_a_simulated_half(
    api: Api, request_in: Make, settings: LazySettings
) -> None:
    request = request_in("active")
    simulate(api, request, "underpaid")
    settings.ENVIRONMENT = "production"
    locked = PaymentRequest.objects.get()
    assert (locked.amount_paid, locked.amount_remaining) == (HALF, AMOUNT)
    assert credit_real(locked, HALF) == "payment.partially_paid"
    now = PaymentRequest.objects.get()
    assert (now.amount_paid, now.amount_remaining, now.can_be_accepted) == (AMOUNT, HALF, False)
    assert credit_real(now, AMOUNT - HALF + 1) == "payment.succeeded"


def test_only_real_payments_can_be_refunded(api: Api, request_in: Make, settings: LazySettings) -> None:
    request = request_in("active")
    simulate(api, request, "paid")
    settings.ENVIRONMENT = "production"
    url = f"/api/payment-requests/{request.pk}/refunds"
    recipient = {"recipient_address": "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"}
    response = api.post(url, recipient)
    assert (response.status_code, response.json()["error"]["code"]) == (409, "refund_too_large")
    assert not Refund.objects.exists()
    credit_real(PaymentRequest.objects.get(), 7)
    response = api.post(url, recipient)
    assert (response.status_code, Refund.objects.get().amount) == (201, 7)


def test_simulated_refund_takes_nothing_from_real_money(
    api: Api, request_in: Make, settings: LazySettings
) -> None:
    request = request_in("expired")
    simulate(api, request, "underpaid")
    simulate(api, request, "refunded")
    settings.ENVIRONMENT = "production"
    before = PaymentRequest.objects.get(pk=request.pk)
    assert (before.net, refundable(before).left) == (0, 0)
    credit_real(before, AMOUNT)
    after = PaymentRequest.objects.get(pk=request.pk)
    assert (after.net, refundable(after).left) == (AMOUNT, AMOUNT)
