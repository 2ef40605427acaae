"""A fully paid request, and a function that creates refunds of it by the API."""

from collections.abc import Callable
from typing import Any

import pytest

from payments.models import PaymentRequest
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, look_until_decided, pay, submit

CUSTOMER = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"


@pytest.fixture
def paid(request_for: Callable[..., PaymentRequest], local_chain: LocalChain) -> PaymentRequest:
    request = request_for(external_id="order-7", metadata={"cart": "9"})
    look_until_decided(submit(request, pay(local_chain, request)), Clock())
    request.refresh_from_db()
    assert request.status == "completed"
    return request


@pytest.fixture
def refund(api: Api, paid: PaymentRequest) -> Callable[..., dict[str, Any]]:
    """Return a function that refunds the paid request, by default to the customer's wallet."""

    def make(**body: Any) -> dict[str, Any]:
        answer = api.post(f"/api/payment-requests/{paid.id}/refunds", {"recipient_address": CUSTOMER, **body})
        assert answer.status_code == 201, answer.content
        created: dict[str, Any] = answer.json()
        return created

    return make
