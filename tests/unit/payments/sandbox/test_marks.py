"""Everything that the sandbox simulates is marked as simulated. Lists can filter by the mark."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.services import create_refund
from tests.conftest import Api
from tests.support.payments.rows import new_payment
from tests.support.portal.payment_rows import HASH
from tests.support.sandbox.fixtures import AMOUNT, path
from webhooks.models import Event

LIST = "/api/payment-requests"


def listed(api: Api, url: str, mark: str) -> list[str]:
    return [row["id"] for row in api.get(f"{url}?is_simulated={mark}").json()["data"]]


def marks(api: Api, request: PaymentRequest) -> list[bool]:
    found: dict[str, Any] = api.get(f"{LIST}/{request.pk}").json()
    return [each["is_simulated"] for each in (found, *found["payments"], *found["refunds"])]


def events() -> list[dict[str, Any]]:
    return [json.loads(bytes(event.body))["data"]["object"] for event in Event.objects.order_by("created")]


@pytest.mark.parametrize(
    ("outcome", "objects", "sent"),
    [("paid", 2, 1), ("processing", 2, 0), ("expired", 1, 1), ("refunded", 4, 2), ("swap_failed", 2, 1)],
)
def test_each_simulated_object_and_event_is_marked(
    api: Api, request_in: Callable[[str], PaymentRequest], outcome: str, objects: int, sent: int
) -> None:
    request = request_in("active")
    assert marks(api, request) == [False]
    assert api.post(path(request), {"outcome": outcome}).status_code == 200
    found = marks(api, request)
    assert len(found) >= objects - 1
    assert all(found)
    assert [event["is_simulated"] for event in events()] == [True] * sent


def test_rejected_simulation_marks_nothing(api: Api, request_in: Callable[[str], PaymentRequest]) -> None:
    request = request_in("completed")
    PaymentRequest.objects.update(is_simulated=False)
    assert api.post(path(request), {"outcome": "expired"}).status_code == 409
    assert not PaymentRequest.objects.filter(is_simulated=True).exists()


def test_lists_contain_only_what_has_the_mark(api: Api, request_in: Callable[[str], PaymentRequest]) -> None:
    simulated, real = request_in("active"), request_in("active")
    assert api.post(path(simulated), {"outcome": "refunded"}).status_code == 200
    paid = new_payment(
        request=real,
        chain=real.chain,
        transaction_hash=HASH,
        status=Payment.Status.COMPLETED,
        amount_received=AMOUNT,
    )
    PaymentRequest.objects.filter(pk=real.pk).update(status="completed", amount_paid=AMOUNT)
    # The refund has no address, so no request represents its payment yet.
    refund = create_refund(
        real.pk, amount=None, recipient_address=None, payment_id=None, reason=None, actor="test"
    ).refund
    other = Refund.objects.exclude(pk=refund.pk).get()
    assert listed(api, LIST, "true") == [str(simulated.pk)]
    assert listed(api, LIST, "false") == [str(real.pk)]
    assert listed(api, "/api/refunds", "true") == [other.pk]
    assert listed(api, "/api/refunds", "false") == [refund.pk]
    assert listed(api, f"{LIST}/{real.pk}/payments", "true") == []
    assert listed(api, f"{LIST}/{real.pk}/payments", "false") == [paid.pk]


@pytest.mark.parametrize("value", ["1", "True", "yes", ""])
def test_mark_in_a_query_is_true_or_false(
    api: Api, request_in: Callable[[str], PaymentRequest], value: str
) -> None:
    request_in("active")
    answer = api.get(f"{LIST}?is_simulated={value}")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "is_simulated")
