"""The status detail of a payment that came after the price expired."""

import pytest

from payments.models import PaymentRequest
from payments.requests.lifecycle import cancel_request
from tests.support.payments.credits import PRICE, expire, pay_tenths
from tests.support.portal.payment_rows import Make

pytestmark = pytest.mark.django_db


@pytest.fixture
def expired(make: Make) -> PaymentRequest:
    """A priced request whose price has expired."""
    request = make()
    PaymentRequest.objects.filter(pk=request.pk).update(price=PRICE, rate={"value": "0.95"})
    expire(request)
    return request


def test_late_status_detail_says_that_the_merchant_decides(expired: PaymentRequest) -> None:
    assert pay_tenths(expired, 10).status_detail == (
        "Verified on the chain; it came after the price had expired, so the merchant decides whether to accept it."
    )


def test_late_part_payment_says_how_much_is_missing(expired: PaymentRequest) -> None:
    payment = pay_tenths(expired, 4)
    assert payment.after_price
    assert payment.status_detail == "Verified on the chain; 6.30 USDC is still to be paid."


def test_late_payment_of_a_completed_request_is_too_much(expired: PaymentRequest) -> None:
    expired.refresh_from_db()
    pay_tenths(expired, 10, at=expired.expires_at)
    payment = pay_tenths(expired, 1)
    assert (payment.after_price, payment.request.status) == (True, "completed")
    assert payment.status_detail == "Verified on the chain; 1.05 USDC more than requested."


@pytest.mark.parametrize(
    ("tenths", "rest"), [(10, "."), (11, "; 1.05 USDC more than requested.")], ids=["full", "more"]
)
def test_late_payment_of_a_cancelled_request_needs_no_decision(make: Make, tenths: int, rest: str) -> None:
    request = make()
    PaymentRequest.objects.filter(pk=request.pk).update(price=PRICE, rate={"value": "0.95"})
    cancel_request(request.pk, actor="test")
    expire(request)
    payment = pay_tenths(request, tenths)
    assert (payment.after_price, payment.request.status) == (True, "cancelled")
    assert payment.status_detail == f"Verified on the chain{rest}"
