"""A merchant sees a simulated payment like a real one: history, events, amounts, chains."""

import json
import logging
from collections.abc import Callable

import pytest

from chains.families import family_of
from chains.models import Token
from config.api.errors import ApiError
from merchants.models import Merchant
from payments.models import ConsumedTransfer, PaymentRequest, Transition
from payments.sandbox import Outcome, simulate
from tests.conftest import Api
from tests.support.sandbox.fixtures import AMOUNT, a_request, path
from tests.threads import at_once
from webhooks.event_types import DEFAULT_EVENT_TYPES, EventType
from webhooks.models import Delivery, Event


def test_simulated_payment_has_history_and_consumed_transfer(
    api: Api, request_in: Callable[[str], PaymentRequest]
) -> None:
    request = request_in("active")
    (payment,) = api.post(path(request), {"outcome": "paid"}).json()["payments"]
    assert (payment["status"], payment["type"], payment["bound_by"]) == ("completed", "direct", "reference")
    assert payment["amount_received"] == {"raw": "10000000", "formatted": "10.000000", "decimals": 6}
    assert payment["confirmations"] == payment["confirmations_required"] == 5
    assert payment["token"]["symbol"] == "USDC"
    assert payment["from_address"] == "0x000000000000000000000000000000000000dEaD"
    assert payment["completed_at"] >= payment["created_at"]
    consumed = ConsumedTransfer.objects.get()
    assert (consumed.payment_id, consumed.amount) == (payment["id"], AMOUNT)
    history = [(str(line), line.actor) for line in Transition.objects.order_by("id")]
    assert history == [
        ("new → active", "test"),
        ("new → pending", "sandbox"),
        ("pending → processing", "sandbox"),
        ("processing → completed", "sandbox"),
        ("active → completed", "sandbox"),
    ]
    assert "by api key quitt_" in Transition.objects.get(to_status="processing").reason


@pytest.mark.parametrize(
    ("outcome", "type_", "code", "retries"),
    [("failed", "direct", "transaction_reverted", 0), ("bridge_refunded", "swap", "swap_refunded", 3)],
)
def test_a_failure_says_why_in_the_payment_and_in_the_event(
    api: Api,
    request_in: Callable[[str], PaymentRequest],
    outcome: str,
    type_: str,
    code: str,
    retries: int,
) -> None:
    request = request_in("active")
    for count in (1, 2):
        payment = api.post(path(request), {"outcome": outcome}).json()["payments"][0]
        assert (payment["status"], payment["type"], payment["failure_code"]) == ("failed", type_, code)
        assert (payment["amount_received"], payment["retries_left"]) == (None, retries)
        assert payment["failed_at"]
        events = [json.loads(bytes(event.body))["data"]["object"] for event in Event.objects.all()]
        assert [event["failure_code"] for event in events] == [code] * count
        assert {event["amount"] for event in events} == {AMOUNT}
    assert ConsumedTransfer.objects.count() == 0


def test_event_goes_to_endpoints_subscribed_to_its_type(
    api: Api, request_in: Callable[[str], PaymentRequest]
) -> None:
    assert api.put("/api/webhooks", {"url": "http://127.0.0.1:9999/hook"}).status_code == 200
    outcomes = ("underpaid", "failed", "paid_late", "overpaid", "reorged", "refunded")
    first = request_in("active")
    for outcome in outcomes:
        assert api.post(path(first), {"outcome": outcome}).status_code == 200
    sent = set(Delivery.objects.values_list("type", flat=True))
    assert sent == {str(type_) for type_ in DEFAULT_EVENT_TYPES}
    api.put("/api/webhooks", {"url": "http://127.0.0.1:9999/hook", "enabled_events": EventType.values})
    second = request_in("active")
    for outcome in outcomes:
        assert api.post(path(second), {"outcome": outcome}).status_code == 200
    assert set(Delivery.objects.values_list("type", flat=True)) == set(EventType.values) - {"refund.failed"}


def test_a_payment_undone_is_flagged_once_and_calls_the_operator(
    api: Api, request_in: Callable[[str], PaymentRequest], caplog: pytest.LogCaptureFixture
) -> None:
    request = request_in("completed")
    with caplog.at_level(logging.ERROR, logger="payments.verification.finality"):
        (payment,) = api.post(path(request), {"outcome": "reorged"}).json()["payments"]
    assert (payment["status"], payment["reorged"]) == ("completed", True)
    assert [record.message for record in caplog.records] == [
        f"simulated payment {payment['id']} is completed, but its block was reorganised away: check it by hand"
    ]
    assert api.post(path(request), {"outcome": "reorged"}).status_code == 409
    assert Event.objects.filter(type="payment.reorged").count() == 1


def test_a_single_base_unit_has_no_part(api: Api, merchant: Merchant, coin: Token) -> None:
    request = a_request(merchant, coin, "0.000001")
    answer = api.post(path(request), {"outcome": "underpaid"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "parameter_invalid", "outcome")
    assert not request.payments.exists()
    over = api.post(path(request), {"outcome": "overpaid"}).json()
    assert over["amount_overpaid"]["raw"] == "1"


def test_simulated_underpayment_is_half_rounded_down(api: Api, merchant: Merchant, coin: Token) -> None:
    request = a_request(merchant, coin, "0.000003")
    paid = [api.post(path(request), {"outcome": "underpaid"}).json()["amount_paid"]["raw"] for _ in range(2)]
    assert paid == ["1", "2"]
    assert api.post(path(request), {"outcome": "underpaid"}).status_code == 400


def test_largest_amount_can_be_paid_but_not_overpaid(api: Api, merchant: Merchant, coin: Token) -> None:
    Token.objects.filter(pk=coin.pk).update(decimals=0)
    coin.refresh_from_db()
    request = a_request(merchant, coin, str(2**256 - 1))
    assert api.post(path(request), {"outcome": "overpaid"}).status_code == 400
    assert api.post(path(request), {"outcome": "paid"}).json()["status"] == "completed"


@pytest.mark.parametrize("outcome", ["paid", "swap_completed", "replaced"])
def test_solana_outcome_has_solana_signatures(
    api: Api, merchant: Merchant, solana_coin: Token, outcome: str
) -> None:
    request = a_request(merchant, solana_coin)
    answer = api.post(path(request), {"outcome": outcome})
    assert answer.status_code == 200, answer.content
    for payment in answer.json()["payments"]:
        assert (
            family_of("solana").normalise_transaction_hash(payment["transaction_hash"])
            == payment["transaction_hash"]
        )


@pytest.mark.django_db(transaction=True)
def test_many_at_once_pay_it_once(merchant: Merchant, coin: Token) -> None:
    request = a_request(merchant, coin)
    answers = at_once([lambda: simulate(request.pk, Outcome.PAID, by="test").status] * 20)
    assert answers.count("completed") == 1
    refused = [str(answer.detail) for answer in answers if isinstance(answer, ApiError)]
    assert refused == ["The payment request is completed, and nothing remains to be paid."] * 19
    request.refresh_from_db()
    assert (request.amount_paid, request.payments.count()) == (AMOUNT, 1)
    assert Event.objects.filter(type="payment.succeeded").count() == 1
