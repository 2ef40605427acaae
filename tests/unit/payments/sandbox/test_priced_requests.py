"""The sandbox's outcomes for a request with a price. The price holds until 120 seconds after the expiry."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from payments.models import PaymentRequest
from tests.conftest import Api
from tests.support.sandbox.fixtures import AMOUNT, path, recorded_events

PRICE = {"currency": "EUR", "amount": "9.10"}
RATE = {"value": "0.91", "currency": "EUR", "token": "USDC", "sources": ["a", "b"], "observed_at": ""}
HALF = AMOUNT // 2
MORE = AMOUNT + AMOUNT // 10
LONG_AGO = "expired for longer than the price holds"
# The request's status, the paid amount, whether it is late, and the events. None: 409, and nothing changes.
TABLE: dict[tuple[str, str], tuple[str, int, bool, list[str]] | None] = {
    ("active", "paid"): ("completed", AMOUNT, False, ["payment.succeeded: completed"]),
    ("active", "underpaid"): ("active", HALF, False, ["payment.partially_paid: active"]),
    ("active", "paid_late"): (
        "expired",
        AMOUNT,
        False,
        ["payment.expired: expired", "payment.partially_paid: expired"],
    ),
    ("expired", "paid"): ("completed", AMOUNT, True, ["payment.succeeded: completed"]),
    ("expired", "paid_late"): ("expired", AMOUNT, False, ["payment.partially_paid: expired"]),
    (LONG_AGO, "paid"): ("expired", AMOUNT, False, ["payment.partially_paid: expired"]),
    (LONG_AGO, "underpaid"): ("expired", HALF, False, ["payment.partially_paid: expired"]),
    (LONG_AGO, "overpaid"): ("expired", MORE, False, ["payment.partially_paid: expired"]),
    (LONG_AGO, "paid_late"): ("expired", AMOUNT, False, ["payment.partially_paid: expired"]),
    (LONG_AGO, "expired"): None,
}


@pytest.fixture
def priced_in(request_in: Callable[[str], PaymentRequest]) -> Callable[[str], PaymentRequest]:
    def make(state: str) -> PaymentRequest:
        request = request_in("expired" if state == LONG_AGO else state)
        if state == LONG_AGO:
            request.expires_at = timezone.now() - timedelta(seconds=121)
        request.price, request.rate = PRICE, RATE
        request.save()
        return request

    return make


@pytest.mark.parametrize(("state", "outcome"), TABLE)
def test_each_outcome_of_a_priced_request(
    api: Api, priced_in: Callable[[str], PaymentRequest], state: str, outcome: str
) -> None:
    request, then = priced_in(state), TABLE[state, outcome]
    response = api.post(path(request), {"outcome": outcome})
    if then is None:
        assert response.status_code == 409
        unchanged = PaymentRequest.objects.get(pk=request.pk)
        assert (unchanged.status, unchanged.expires_at) == (request.status, request.expires_at)
        assert recorded_events() == []
        return
    body: dict[str, Any] = response.json()
    assert response.status_code == 200, body
    assert (body["status"], int(body["amount_paid"]["raw"]), body["paid_late"], recorded_events()) == then
    assert (body["price"], body["rate"]["value"]) == (PRICE, RATE["value"])


def test_late_priced_request_is_refunded_once_expired(
    api: Api, priced_in: Callable[[str], PaymentRequest]
) -> None:
    request = priced_in("active")
    past = timezone.now() - timedelta(seconds=121)
    PaymentRequest.objects.filter(pk=request.pk).update(expires_at=past)
    body = api.post(path(request), {"outcome": "refund_ready"}).json()
    assert (body["status"], body["amount_paid"]["raw"]) == ("expired", str(AMOUNT))
    assert [refund["status"] for refund in body["refunds"]] == ["ready"]
    assert recorded_events() == ["payment.partially_paid: active", "payment.expired: expired"]


@pytest.mark.parametrize("outcome", ["paid", "paid_late", "underpaid"])
def test_late_full_payment_accepts_no_further_simulation(
    api: Api, priced_in: Callable[[str], PaymentRequest], outcome: str
) -> None:
    request = priced_in("active")
    api.post(path(request), {"outcome": "paid_late"})
    before = api.get(f"/api/payment-requests/{request.pk}").json()
    assert api.post(path(request), {"outcome": outcome}).status_code == 409
    assert api.get(f"/api/payment-requests/{request.pk}").json() == before
