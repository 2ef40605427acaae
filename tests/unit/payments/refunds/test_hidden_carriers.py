"""A payment request that represents a refund is hidden everywhere that shows a merchant's payment requests."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from merchants.models import Merchant
from merchants.services import issue_key
from payments.attention import Matter, payments_with, requests_with
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.services import cancel_refund
from payments.requests.lifecycle import cancel_request
from payments.stats.daily import update_statistics
from payments.stats.queries import Period, totals, volumes
from tests.support.payments.rows import new_payment
from tests.support.portal.payment_rows import HASH, SENDER, Make
from tests.support.portal.refund_rows import carrier_of, create, everything


@pytest.fixture
def carrier(make: Make) -> PaymentRequest:
    """A refund's request with a completed payment. By its columns, it would need attention for every reason."""
    request, carrier = make("order-1"), make()
    now = timezone.now()
    refund = PaymentRequest.objects.filter(pk=carrier.pk)
    refund.update(
        is_refund=True, amount=10, amount_paid=11, status="completed", paid_late=True, completed_at=now
    )
    for number, status in enumerate(("completed", "failed")):
        new_payment(
            request=carrier,
            chain=carrier.chain,
            transaction_hash=f"{HASH[:-1]}{number}",
            status=status,
            amount_received=11,
            reorged=status == "completed",
            failure_code="" if status == "completed" else "transaction_not_bound",
            completed_at=now if status == "completed" else None,
            failed_at=None if status == "completed" else now,
        )
    Refund.objects.create(
        merchant=request.merchant, request=request, carrier=carrier, amount=10, recipient_address=SENDER
    )
    carrier.refresh_from_db()
    return carrier


def test_api_neither_lists_nor_returns_a_carrier(
    client: Client, merchant: Merchant, carrier: PaymentRequest
) -> None:
    _, key = issue_key(merchant=merchant, permissions=["create_payments"])
    mine = {"X-API-Key": key}
    listed = client.get("/api/payment-requests", headers=mine).json()
    assert [row["external_id"] for row in listed["data"]] == ["order-1"]
    for path in ("", "/payments"):
        assert client.get(f"/api/payment-requests/{carrier.pk}{path}", headers=mine).status_code == 404
    assert (
        client.post(
            f"/api/payment-requests/{carrier.pk}/cancel", content_type="application/json", headers=mine
        ).status_code
        == 404
    )


def test_carrier_is_not_cancelled_without_its_refund(paid: PaymentRequest) -> None:
    refund = create(paid)
    before = everything()
    with pytest.raises(ApiError) as rejected:
        cancel_request(carrier_of(refund).pk, actor="test")
    assert rejected.value.problems[0].code == ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE
    assert everything() == before
    cancel_refund(refund, actor="test")
    assert carrier_of(refund).status == "cancelled"


def test_statistics_do_not_count_a_carrier(merchant: Merchant, carrier: PaymentRequest) -> None:
    now = timezone.now()
    update_statistics()
    period = Period(now.date(), 1)
    counted = totals(merchant, period)
    assert (counted.created, counted.paid) == (1, 0)
    assert volumes(merchant, period) == []


@pytest.mark.parametrize("matter", Matter)
def test_carrier_needs_no_attention_of_its_own(carrier: PaymentRequest, matter: Matter) -> None:
    PaymentRequest.objects.filter(pk=carrier.pk).update(expires_at=timezone.now() + timedelta(hours=1))
    assert (
        not requests_with(PaymentRequest.objects.all(), matter, Payment.objects.all())
        .filter(pk=carrier.pk)
        .exists()
    )
    assert (
        not payments_with(Payment.objects.all(), matter, PaymentRequest.objects.all())
        .filter(request=carrier)
        .exists()
    )
