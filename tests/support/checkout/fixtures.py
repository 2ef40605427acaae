"""A payment request as the customer sees it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from chains.models import Chain
from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.conftest import Api
from tests.support.payments.rows import new_payment

HASH = "0x" + "77" * 32
WHEN = datetime(2026, 11, 3, 5, 4, 9, tzinfo=UTC)
EXPLORER = "https://explorer.example"
Create = Callable[..., dict[str, Any]]


@pytest.fixture
def checkout(api: Api, order: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return a function that creates payment requests by the API and returns the response."""

    def create(**different: Any) -> dict[str, Any]:
        response = api.post("/api/payment-requests", order(**different))
        assert response.status_code == 201, response.content
        created: dict[str, Any] = response.json()
        return created

    return create


@pytest.fixture
def receipt(checkout: Create, chain: Chain, merchant: Merchant) -> Callable[..., str]:
    """Return a function that makes completed requests and returns the receipt's path."""

    def make(payments: int = 1, **different: Any) -> str:
        Chain.objects.filter(pk=chain.pk).update(explorer_url=EXPLORER)
        Merchant.objects.filter(pk=merchant.pk).update(support_email="help@bakery.example")
        order = checkout(
            description="Two loaves of rye, sliced, to be collected on Saturday before noon",
            redirect_url="https://shop.example.com/thanks",
        )
        PaymentRequest.objects.filter(pk=order["id"]).update(
            status="completed", amount_paid=10_500_000, completed_at=WHEN
        )
        for number in range(payments):
            given: dict[str, Any] = {
                "transaction_hash": f"0x{number + 0x77:02x}" + "77" * 31,
                "status": "completed",
                "amount_received": 10_500_000 // payments,
                "bound_by": "reference",
                "completed_at": WHEN,
            }
            new_payment(
                request=PaymentRequest.objects.get(pk=order["id"]), **{"chain": chain, **given, **different}
            )
        return f"/pay/{order['shortcode']}/receipt"

    return make
