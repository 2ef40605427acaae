"""Simulated payments that stay open: they hold requests, get decided, or end by themselves."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone

from chains.models import Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest, Transition
from payments.requests.lifecycle import expire_due
from payments.sandbox.due import decide_due
from tests.conftest import Api
from tests.support.payments.world import Clock
from tests.support.sandbox.fixtures import AMOUNT, a_request, path, recorded_events
from webhooks.models import Event

Make = Callable[[str], PaymentRequest]
WALLET = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
OPEN = ["pending", "processing", "sped_up"]


def simulate(api: Api, request: PaymentRequest, outcome: str, **ids: str) -> dict[str, Any]:
    answer = api.post(path(request), {"outcome": outcome, **ids})
    assert answer.status_code == 200, answer.content
    body: dict[str, Any] = answer.json()
    return body


def of(request: PaymentRequest, payment: dict[str, Any] | Payment, action: str) -> str:
    id = payment.pk if isinstance(payment, Payment) else payment["id"]
    return f"/api/payment-requests/{request.pk}/payments/{id}/{action}"


def error_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize("outcome", OPEN)
def test_open_payment_holds_the_request(api: Api, public: Api, request_in: Make, outcome: str) -> None:
    request = request_in("active")
    (payment,) = simulate(api, request, outcome)["payments"]
    page = f"/api/public/payment-requests/{request.pk}"
    route = {
        "wallet_address": WALLET,
        "chain_id": request.chain_id,
        "token_id": request.token_id,
    }
    for answer in (
        public.post(f"{page}/routes", route),
        api.post(f"/api/payment-requests/{request.pk}/cancel"),
        api.post(path(request), {"outcome": "expired"}),
        api.post(path(request), {"outcome": "paid_late"}),
    ):
        assert error_of(answer) == (409, "payment_in_progress")
    (shown,) = public.get(page).json()["payments"]
    assert (shown["is_seen"], shown["is_bound"], shown["status"]) == (True, True, payment["status"])
    assert PaymentRequest.objects.get().status == "active"
    assert (Payment.objects.count(), recorded_events()) == (1, [])


def test_pending_payment_holds_for_15_minutes_and_pays_late(api: Api, request_in: Make) -> None:
    request = request_in("overdue")
    (payment,) = simulate(api, request, "pending")["payments"]
    now = timezone.now()
    # The request expired a minute ago.
    assert expire_due(now + timedelta(minutes=13)) == 0
    assert expire_due(now + timedelta(minutes=15)) == 1
    body = simulate(api, request, "paid")
    assert (body["status"], body["paid_late"]) == ("completed", True)
    assert [each["id"] for each in body["payments"]] == [payment["id"]]


def test_processing_payment_holds_until_it_is_decided(api: Api, request_in: Make) -> None:
    request, clock = request_in("overdue"), Clock()
    simulate(api, request, "processing")
    clock.forward(hours=23)
    decide_due(now=clock)
    assert expire_due(clock()) == 0
    assert Payment.objects.get().status == "processing"
    clock.forward(hours=1, seconds=1)
    decide_due(now=clock)
    assert expire_due(clock()) == 1
    payment = Payment.objects.get()
    assert (payment.status, payment.failure_code) == ("failed", "verification_timed_out")
    assert payment.status_detail.startswith("Simulated, no money moved.")
    assert recorded_events() == ["payment.failed: active", "payment.expired: expired"]


@pytest.mark.parametrize(
    ("first", "outcome", "became"),
    [
        ("processing", "paid", "completed"),
        ("sped_up", "failed", "transaction_reverted"),
        ("pending", "paid", "completed"),
        ("pending", "processing", "processing"),
        ("pending", "sped_up", "processing"),
        ("pending", "not_bound", "transaction_not_bound"),
        ("pending", "not_found", "transaction_not_found"),
        ("pending", "swap_failed", "swap_failed"),
    ],
)
def test_next_outcome_decides_the_open_payment(
    api: Api, request_in: Make, first: str, outcome: str, became: str
) -> None:
    request = request_in("active")
    (opened,) = simulate(api, request, first)["payments"]
    (payment,) = simulate(api, request, outcome)["payments"]
    assert payment["id"] == opened["id"]
    assert (payment["failure_code"] or payment["status"]) == became
    reasons = list(Transition.objects.filter(payment=payment["id"]).values_list("reason", flat=True))
    assert any(reason.startswith(f"simulated as {first} by api key") for reason in reasons)
    assert any(reason.startswith(f"simulated as {outcome} by api key") for reason in reasons)


def test_payment_id_chooses_one_of_several_open_payments(api: Api, request_in: Make) -> None:
    request = request_in("active")
    (older,) = simulate(api, request, "pending")["payments"]
    newer = simulate(api, request, "pending")["payments"][0]
    body = simulate(api, request, "failed", payment_id=older["id"])
    assert {each["id"]: each["status"] for each in body["payments"]} == {
        older["id"]: "failed",
        newer["id"]: "pending",
    }
    assert simulate(api, request, "paid")["payments"][0]["id"] == newer["id"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"outcome": "paid", "payment_id": "pay_none"}, "payment_id"),
        ({"outcome": "paid", "payment_id": "FAILED"}, "payment_id"),
        ({"outcome": "paid", "payment_id": "OTHER"}, "payment_id"),
        ({"outcome": "reorged", "payment_id": "FAILED"}, "payment_id"),
        ({"outcome": "refunded", "payment_id": "FAILED"}, "payment_id"),
        ({"outcome": "pending", "payment_id": "FAILED"}, "payment_id"),
        ({"outcome": "expired", "payment_id": "FAILED"}, "payment_id"),
        ({"outcome": "paid_late", "payment_id": "FAILED"}, "payment_id"),
        ({"outcome": "refund_failed", "payment_id": "FAILED"}, "payment_id"),
        ({"outcome": "refund_failed", "refund_id": "rf_none"}, "refund_id"),
        ({"outcome": "paid", "refund_id": "rf_none"}, "refund_id"),
    ],
)
def test_wrong_id_is_rejected_and_changes_nothing(
    api: Api, request_in: Make, body: dict[str, str], param: str
) -> None:
    request, other = request_in("active"), request_in("active")
    (failed,) = simulate(api, request, "failed")["payments"]
    (others,) = simulate(api, other, "pending")["payments"]
    ids = {"FAILED": failed["id"], "OTHER": others["id"]}
    before = (Transition.objects.count(), Event.objects.count())
    answer = api.post(path(request), {name: ids.get(value, value) for name, value in body.items()})
    assert error_of(answer) == (400, "parameter_invalid")
    assert answer.json()["error"]["param"] == param
    assert (Transition.objects.count(), Event.objects.count()) == before
    assert PaymentRequest.objects.get(pk=request.pk).status == "active"


@pytest.mark.parametrize("outcome", ["not_bound", "ambiguous", "not_verifiable"])
def test_accepted_payment_completes_with_what_arrived(api: Api, request_in: Make, outcome: str) -> None:
    request = request_in("partly paid")
    failed = simulate(api, request, outcome)["payments"][0]
    assert failed["amount"]["raw"] == str(AMOUNT // 2)
    accepted = api.post(of(request, failed, "accept"), {"reason": "The customer called."})
    assert (accepted.status_code, accepted.json()["status"]) == (200, "pending")
    assert decide_due() == 1
    payment = Payment.objects.get(pk=failed["id"])
    assert (payment.status, payment.bound_by, payment.amount_received) == ("completed", "manual", AMOUNT // 2)
    assert payment.accepted_reason == "The customer called."
    assert payment.consumed_transfers.get().amount == AMOUNT // 2
    assert recorded_events() == ["payment.failed: active", "payment.succeeded: completed"]
    assert decide_due() == 0


def test_nothing_simulated_completes_in_production(
    api: Api, request_in: Make, settings: LazySettings
) -> None:
    request, clock = request_in("active"), Clock()
    (failed,) = simulate(api, request, "not_bound")["payments"]
    settings.ENVIRONMENT = "production"
    assert api.post(of(request, failed, "accept"), {"reason": "It is fine."}).status_code == 200
    for _ in range(2):
        decide_due(now=clock)
        clock.forward(hours=24)
    payment = Payment.objects.get()
    assert (payment.status, payment.failure_code) == ("failed", "verification_timed_out")
    assert PaymentRequest.objects.get().amount_paid == 0


def test_simulated_payment_is_retried_three_times(api: Api, request_in: Make) -> None:
    request = request_in("active")
    (payment,) = simulate(api, request, "not_found")["payments"]
    assert (payment["attempts"], payment["retries_left"]) == (10, 3)
    for left in (2, 1, 0):
        retried = api.post(of(request, payment, "retry")).json()
        assert (retried["status"], retried["attempts"], retried["retries_left"]) == ("pending", 0, left)
        decide_due()
        (waiting,) = api.get(f"/api/payment-requests/{request.pk}").json()["payments"]
        assert waiting["status"] == "pending"
        assert waiting["status_detail"].startswith("Simulated, no money moved.")
        simulate(api, request, "timed_out")
    assert error_of(api.post(of(request, payment, "retry"))) == (409, "retry_limit_reached")
    assert recorded_events() == ["payment.failed: active"] * 4


def test_retried_payment_times_out_24_hours_after_the_retry(api: Api, request_in: Make) -> None:
    request, clock = request_in("active"), Clock()
    (payment,) = simulate(api, request, "not_found")["payments"]
    day_ago = timezone.now() - timedelta(hours=24)
    Payment.objects.update(created_at=day_ago, verifying_since=day_ago)
    api.post(of(request, payment, "retry"))
    clock.forward(hours=23, minutes=59)
    decide_due(now=clock)
    assert Payment.objects.get().status == "pending"
    clock.forward(minutes=2)
    decide_due(now=clock)
    assert Payment.objects.get().failure_code == "verification_timed_out"


def test_hash_submitted_again_reopens_a_retryable_payment_once(
    api: Api, public: Api, request_in: Make
) -> None:
    request = request_in("active")
    (payment,) = simulate(api, request, "not_found")["payments"]
    submitted = {"transaction_hash": payment["transaction_hash"], "chain_id": request.chain_id}
    page = f"/api/public/payment-requests/{request.pk}/payments"
    for status in ("pending", "failed"):
        assert public.post(page, submitted).json()["status"] == status
        simulate(api, request, "not_found")


def test_late_payment_is_a_new_one_beside_a_retried_one(api: Api, request_in: Make) -> None:
    request = request_in("active")
    (payment,) = simulate(api, request, "timed_out")["payments"]
    api.post(of(request, payment, "retry"))
    body = simulate(api, request, "paid_late")
    assert (body["status"], body["paid_late"]) == ("completed", True)
    assert [each["status"] for each in body["payments"]] == ["completed", "pending"]


def test_open_payment_of_a_paid_request_completes_as_overpaid(api: Api, request_in: Make) -> None:
    request = request_in("active")
    (payment,) = simulate(api, request, "processing")["payments"]
    simulate(api, request, "pending")
    simulate(api, request, "paid")
    body = simulate(api, request, "paid", payment_id=payment["id"])
    assert body["amount_overpaid"]["raw"] == str(AMOUNT)
    assert recorded_events() == ["payment.succeeded: completed", "payment.overpaid: completed"]


def test_sped_up_payment_keeps_its_id_and_lists_its_old_hash(api: Api, public: Api, request_in: Make) -> None:
    request = request_in("active")
    (pending,) = simulate(api, request, "pending")["payments"]
    (sped_up,) = simulate(api, request, "sped_up")["payments"]
    assert sped_up["replaced_hashes"] == [pending["transaction_hash"]]
    assert sped_up["transaction_hash"] != pending["transaction_hash"]
    submitted = {"transaction_hash": pending["transaction_hash"], "chain_id": request.chain_id}
    again = public.post(f"/api/public/payment-requests/{request.pk}/payments", submitted)
    assert (again.status_code, again.json()["id"]) == (200, pending["id"])
    assert simulate(api, request, "paid")["status"] == "completed"


def test_refund_on_its_way_is_completed_or_fails_later(api: Api, request_in: Make) -> None:
    request, clock = request_in("completed"), Clock()
    (sent,) = simulate(api, request, "refund_processing")["refunds"]
    cancelled = api.post(path(request), {"outcome": "refund_cancelled"})
    assert error_of(cancelled) == (409, "refund_not_cancellable")
    clock.forward(hours=24, seconds=1)
    assert decide_due(now=clock) == 1
    (failed,) = api.get(f"/api/payment-requests/{request.pk}").json()["refunds"]
    assert (failed["id"], failed["status"]) == (sent["id"], "failed")
    assert failed["failure_code"] == "verification_timed_out"
    assert simulate(api, request, "refund_completed")["refunds"][0]["status"] == "completed"
    done = api.post(path(request), {"outcome": "refund_failed", "refund_id": sent["id"]})
    assert error_of(done) == (409, "refund_not_ready")


def test_claimed_refund_has_the_customers_address(api: Api, request_in: Make) -> None:
    request = request_in("completed")
    (waiting,) = simulate(api, request, "refund_requires_address")["refunds"]
    assert (waiting["recipient_address"], waiting["address_source"]) == (None, None)
    (claimed,) = simulate(api, request, "refund_claimed", refund_id=waiting["id"])["refunds"]
    assert (claimed["id"], claimed["address_source"]) == (waiting["id"], "customer")
    assert claimed["recipient_address"]
    again = api.post(path(request), {"outcome": "refund_claimed", "refund_id": waiting["id"]})
    assert error_of(again) == (409, "refund_not_ready")


def test_cancelled_refund_that_was_sent_is_completed(api: Api, request_in: Make) -> None:
    request = request_in("completed")
    (cancelled,) = simulate(api, request, "refund_cancelled")["refunds"]
    body = simulate(api, request, "refund_completed", refund_id=cancelled["id"])
    assert [refund["status"] for refund in body["refunds"]] == ["completed"]


@pytest.mark.parametrize("references", [True, False])
def test_open_payments_wait_whatever_the_chain_requires(
    api: Api, merchant: Merchant, coin: Token, references: bool
) -> None:
    coin.chain.confirmations = "finalized"
    coin.chain.save()
    request = a_request(merchant, coin, references=references)
    for outcome in OPEN:
        (payment,) = simulate(api, request, outcome)["payments"]
        assert payment["status"] == ("pending" if outcome == "pending" else "processing")
        assert payment["bound_by"] == ("reference" if references else "payer")
    assert simulate(api, request, "paid")["status"] == "completed"
