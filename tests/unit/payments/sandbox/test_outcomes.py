"""The sandbox applies each outcome to a request in each status through the engine's own functions."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from payments.sandbox import Outcome
from tests.conftest import Api
from tests.support.sandbox.fixtures import AMOUNT, path, recorded_events


@dataclass(frozen=True)
class Then:
    """The request after the outcome: its status, the paid amount, whether it is late, and the events."""

    status: str
    paid: int
    late: bool
    events: list[str]


REFUSED = None
HALF = AMOUNT // 2
MORE = AMOUNT + AMOUNT // 10
REAL = "completed, for real"
TABLE: dict[tuple[str, str], Then | None] = {
    ("active", "paid"): Then("completed", AMOUNT, False, ["payment.succeeded: completed"]),
    ("active", "underpaid"): Then("active", HALF, False, ["payment.partially_paid: active"]),
    ("active", "overpaid"): Then("completed", MORE, False, ["payment.succeeded: completed"]),
    ("active", "paid_late"): Then(
        "completed", AMOUNT, True, ["payment.expired: expired", "payment.succeeded: completed"]
    ),
    ("active", "failed"): Then("active", 0, False, ["payment.failed: active"]),
    ("active", "expired"): Then("expired", 0, False, ["payment.expired: expired"]),
    ("active", "reorged"): Then(
        "completed", AMOUNT, False, ["payment.succeeded: completed", "payment.reorged: completed"]
    ),
    ("active", "bridge_refunded"): Then("active", 0, False, ["payment.failed: active"]),
    ("partly paid", "paid"): Then("completed", AMOUNT, False, ["payment.succeeded: completed"]),
    ("partly paid", "underpaid"): Then("active", HALF + HALF // 2, False, ["payment.partially_paid: active"]),
    ("overdue", "paid"): Then("completed", AMOUNT, True, ["payment.succeeded: completed"]),
    ("overdue", "expired"): Then("expired", 0, False, ["payment.expired: expired"]),
    ("expired", "paid"): Then("completed", AMOUNT, True, ["payment.succeeded: completed"]),
    ("expired", "underpaid"): Then("expired", HALF, False, ["payment.partially_paid: expired"]),
    ("expired", "overpaid"): Then("completed", MORE, True, ["payment.succeeded: completed"]),
    ("expired", "paid_late"): Then("completed", AMOUNT, True, ["payment.succeeded: completed"]),
    ("expired", "failed"): Then("expired", 0, False, ["payment.failed: expired"]),
    ("expired", "expired"): REFUSED,
    ("expired", "reorged"): Then(
        "completed", AMOUNT, True, ["payment.succeeded: completed", "payment.reorged: completed"]
    ),
    ("expired", "bridge_refunded"): Then("expired", 0, False, ["payment.failed: expired"]),
    ("cancelled", "paid"): Then("cancelled", AMOUNT, False, ["payment.succeeded: cancelled"]),
    ("cancelled", "underpaid"): Then("cancelled", HALF, False, ["payment.partially_paid: cancelled"]),
    ("cancelled", "overpaid"): Then("cancelled", MORE, False, ["payment.succeeded: cancelled"]),
    ("cancelled", "paid_late"): REFUSED,
    ("cancelled", "failed"): Then("cancelled", 0, False, ["payment.failed: cancelled"]),
    ("cancelled", "expired"): REFUSED,
    ("cancelled", "reorged"): Then(
        "cancelled", AMOUNT, False, ["payment.succeeded: cancelled", "payment.reorged: cancelled"]
    ),
    ("cancelled", "bridge_refunded"): Then("cancelled", 0, False, ["payment.failed: cancelled"]),
    ("cancelled, partly paid", "paid"): Then("cancelled", AMOUNT, False, ["payment.succeeded: cancelled"]),
    ("cancelled, paid", "paid"): REFUSED,
    ("cancelled, paid", "underpaid"): REFUSED,
    ("cancelled, paid", "overpaid"): Then("cancelled", MORE, False, ["payment.overpaid: cancelled"]),
    ("cancelled, paid", "paid_late"): REFUSED,
    ("cancelled, paid", "failed"): Then("cancelled", AMOUNT, False, ["payment.failed: cancelled"]),
    ("cancelled, paid", "expired"): REFUSED,
    ("cancelled, paid", "reorged"): Then("cancelled", AMOUNT, False, ["payment.reorged: cancelled"]),
    ("cancelled, paid", "bridge_refunded"): Then("cancelled", AMOUNT, False, ["payment.failed: cancelled"]),
    ("completed", "paid"): REFUSED,
    ("completed", "underpaid"): REFUSED,
    ("completed", "overpaid"): Then("completed", MORE, False, ["payment.overpaid: completed"]),
    ("completed", "paid_late"): REFUSED,
    ("completed", "failed"): Then("completed", AMOUNT, False, ["payment.failed: completed"]),
    ("completed", "expired"): REFUSED,
    ("completed", "reorged"): Then("completed", AMOUNT, False, ["payment.reorged: completed"]),
    ("completed", "bridge_refunded"): Then("completed", AMOUNT, False, ["payment.failed: completed"]),
    ("active", "refunded"): Then(
        "completed", AMOUNT, False, ["payment.succeeded: completed", "refund.completed: completed"]
    ),
    ("expired", "refunded"): Then(
        "completed", AMOUNT, True, ["payment.succeeded: completed", "refund.completed: completed"]
    ),
    ("cancelled", "refunded"): Then(
        "cancelled", AMOUNT, False, ["payment.succeeded: cancelled", "refund.completed: cancelled"]
    ),
    ("cancelled, paid", "refunded"): Then("cancelled", AMOUNT, False, ["refund.completed: cancelled"]),
    ("completed", "refunded"): Then("completed", AMOUNT, False, ["refund.completed: completed"]),
    (REAL, "paid"): REFUSED,
    (REAL, "overpaid"): Then("completed", MORE, False, ["payment.overpaid: completed"]),
    (REAL, "reorged"): REFUSED,
    **{
        (state, "restored"): REFUSED
        for state in (
            "active",
            "expired",
            "cancelled",
            "cancelled, paid",
            "completed",
            REAL,
        )
    },
}


@pytest.mark.parametrize(("state", "outcome"), TABLE)
def test_each_outcome_in_each_state(
    api: Api, request_in: Callable[[str], PaymentRequest], state: str, outcome: str
) -> None:
    request, then = request_in(state), TABLE[state, outcome]
    before = (request.payments.count(), Transition.objects.count(), ConsumedTransfer.objects.count())
    response = api.post(path(request), {"outcome": outcome})
    if then is REFUSED:
        assert response.status_code == 409
        assert response.json()["error"]["code"] == "payment_request_not_active"
        after = (request.payments.count(), Transition.objects.count(), ConsumedTransfer.objects.count())
        assert after == before
        assert recorded_events() == []
        unchanged = PaymentRequest.objects.get(pk=request.pk)
        assert (unchanged.status, unchanged.expires_at) == (request.status, request.expires_at)
        return
    assert response.status_code == 200, response.content
    body = response.json()
    assert body == api.get(f"/api/payment-requests/{request.pk}").json()
    assert body["id"] == str(request.pk)
    became = Then(body["status"], int(body["amount_paid"]["raw"]), body["paid_late"], recorded_events())
    assert became == then
    assert not Payment.objects.filter(status__in=Payment.OPEN).exists()


PLAIN = ("active", "expired", "cancelled", "cancelled, paid", "completed")
# Outcomes that only change the payment, with the failure code. The request stays unchanged in every status.
OF_ONE_PAYMENT = {
    "pending": "pending",
    "processing": "processing",
    "sped_up": "processing",
    "not_bound": "transaction_not_bound",
    "ambiguous": "transaction_ambiguous",
    "not_verifiable": "not_verifiable",
    "not_found": "transaction_not_found",
    "timed_out": "verification_timed_out",
    "replaced": "transaction_replaced",
    "swap_partial": "swap_partial",
    "swap_failed": "swap_failed",
}
OF_ONE_REFUND = {
    "refund_requires_address": "requires_address",
    "refund_claimed": "ready",
    "refund_ready": "ready",
    "refund_processing": "processing",
    "refund_completed": "completed",
    "refund_failed": "failed",
    "refund_cancelled": "cancelled",
}


def test_tables_have_every_outcome_in_each_plain_state() -> None:
    others = {*OF_ONE_PAYMENT, *OF_ONE_REFUND, "swap_completed"}
    for state in PLAIN:
        assert {outcome for known, outcome in TABLE if known == state} == set(Outcome) - others, state


@pytest.mark.parametrize("state", PLAIN)
def test_restored_payment_counts_again_as_before(
    api: Api, request_in: Callable[[str], PaymentRequest], state: str
) -> None:
    request = request_in(state)
    lost = api.post(path(request), {"outcome": "reorged"}).json()
    back = api.post(path(request), {"outcome": "restored"}).json()
    assert [payment["reorged"] for payment in lost["payments"]].count(True) == 1
    assert not any(payment["reorged"] for payment in back["payments"])
    assert (back["status"], back["amount_paid"]) == (lost["status"], lost["amount_paid"])
    assert PaymentRequest.objects.get(pk=request.pk).net == int(back["amount_paid"]["raw"])
    assert recorded_events()[-1] == f"payment.reorged: {back['status']}"


@pytest.mark.parametrize("state", PLAIN)
def test_outcome_of_one_payment_leaves_the_request(
    api: Api, request_in: Callable[[str], PaymentRequest], state: str
) -> None:
    for outcome, expected in OF_ONE_PAYMENT.items():
        request = request_in(state)
        body = api.post(path(request), {"outcome": outcome}).json()
        payment = body["payments"][0]
        assert (payment["failure_code"] or payment["status"]) == expected
        assert (body["status"], int(body["amount_paid"]["raw"])) == (request.status, request.amount_paid)
        is_failed = payment["status"] == "failed"
        assert recorded_events() == ([f"payment.failed: {request.status}"] if is_failed else [])


@pytest.mark.parametrize("state", PLAIN)
def test_completed_swap_pays_like_a_direct_payment(
    api: Api, request_in: Callable[[str], PaymentRequest], state: str
) -> None:
    request, then = request_in(state), TABLE[state, "paid"]
    response = api.post(path(request), {"outcome": "swap_completed"})
    body = response.json()
    if then is REFUSED:
        assert (response.status_code, recorded_events()) == (409, [])
        return
    assert Then(body["status"], int(body["amount_paid"]["raw"]), body["paid_late"], recorded_events()) == then
    payment = body["payments"][0]
    assert (payment["type"], payment["bound_by"], payment["provider"]) == ("swap", "provider", "sandbox")
    assert payment["destination_transaction_hash"] != payment["transaction_hash"]


@pytest.mark.parametrize("state", PLAIN)
def test_outcome_of_one_refund_ends_in_its_state(
    api: Api, request_in: Callable[[str], PaymentRequest], state: str
) -> None:
    for outcome, expected in OF_ONE_REFUND.items():
        request = request_in(state)
        response = api.post(path(request), {"outcome": outcome})
        assert response.status_code == 200, response.content
        body = response.json()
        assert [refund["status"] for refund in body["refunds"]] == [expected]
        # An active request is first paid in full. A cancelled or expired one is paid only if it has no
        # payment.
        assert int(body["amount_paid"]["raw"]) == AMOUNT
        assert body["status"] == ("cancelled" if state.startswith("cancelled") else "completed")
        assert body["refunds"][0]["amount"]["raw"] == str(AMOUNT)


def test_part_payment_of_a_cancelled_request_goes_back_alone(
    api: Api, request_in: Callable[[str], PaymentRequest]
) -> None:
    request = request_in("cancelled, partly paid")
    body = api.post(path(request), {"outcome": "refund_completed"}).json()
    assert (body["status"], body["amount_paid"]["raw"]) == ("cancelled", str(HALF))
    assert body["refunds"][0]["amount"]["raw"] == str(HALF)
    again = api.post(path(request), {"outcome": "refund_completed"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "refund_too_large")
