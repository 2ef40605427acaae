"""Junk hashes submitted for a request don't remove its real payment from the customer's page."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from payments.models import PaymentRequest
from tests.conftest import Api
from tests.support.payments.rows import new_payment

BOUND = (
    {"status": "completed", "amount_received": 1, "next_check_at": None},
    {"status": "processing", "is_in_flight": True},
    {"status": "processing", "is_bound_unmined": True},
    {"status": "pending"},
)


@pytest.mark.parametrize("columns", BOUND)
def test_public_details_keep_payment_despite_newer_failed_ones(
    request_for: Callable[..., PaymentRequest], columns: dict[str, object]
) -> None:
    request = request_for()
    payment = new_payment(request=request, chain=request.chain, transaction_hash=a_hash(0), **columns)
    for number in range(1, 31):
        new_payment(
            request=request,
            chain=request.chain,
            transaction_hash=a_hash(number),
            created_at=payment.created_at + timedelta(seconds=number),
            status="failed",
            failure_code="transaction_too_old",
            next_check_at=None,
        )
    answer = Api().get(f"/api/public/payment-requests/{request.id}").json()
    shown = [each["transaction_hash"] for each in answer["payments"]]
    assert shown == [*map(a_hash, range(30, 11, -1)), payment.transaction_hash]
    assert answer["is_final"] is False


def a_hash(number: int) -> str:
    return f"0x{number:064x}"
