"""Paid requests and their refunds. They need no running chain."""

from typing import Any

import pytest
from django.db import transaction

from payments.models import Payment, PaymentRequest, Refund
from payments.refunds import services
from payments.refunds.reading import now, with_request
from payments.requests.lifecycle import lock_request
from payments.sandbox import payments as sandbox_payments
from tests.support.portal.payment_rows import SENDER, Make

WHY = "for a test"
OTHER = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"


@pytest.fixture
def paid(make: Make) -> PaymentRequest:
    """A request on which the full 10.50 USDC is paid, as if by a transaction on the chain."""
    request = make("order-7")
    pay(request, request.amount)
    return PaymentRequest.objects.get(pk=request.pk)


def pay(request: PaymentRequest, amount: int) -> Payment:
    """Credit a payment of the request, as if a transaction on the chain had paid it."""
    with transaction.atomic():
        payment = sandbox_payments.pay(lock_request(request.pk), amount, WHY)
    Payment.objects.filter(pk=payment.pk).update(is_simulated=False)
    return Payment.objects.get(pk=payment.pk)


def create(request: PaymentRequest, **given: Any) -> Refund:
    """Return a new refund of the request with the relations that its pages need, by default to SENDER."""
    values = {"amount": None, "recipient_address": SENDER, "payment_id": None, "reason": None, "actor": WHY}
    return fresh(services.create_refund(request.pk, **{**values, **given}).refund)


def fresh(refund: Refund) -> Refund:
    """Return the refund from the database, with the relations that its pages need."""
    return with_request(Refund.objects.all()).get(pk=refund.pk)


def carrier_of(refund: Refund) -> PaymentRequest:
    """Return the request that represents the refund's payment on the chain."""
    return PaymentRequest.objects.get(refund=refund)


def status(refund: Refund) -> str:
    return now([fresh(refund)])[0].standing.status.value


def everything() -> tuple[Any, ...]:
    """Return all rows of refunds and requests, to show that a call changed nothing."""
    requests = PaymentRequest.objects.order_by("pk").values("pk", "status", "recipient_address")
    return list(Refund.objects.order_by("pk").values()), list(requests)
