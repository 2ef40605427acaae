"""The sandbox: every end of a payment on demand, by the engine's own doors, never mistaken for money."""

import json
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone

from chains.addresses import normalise_transaction_hash
from chains.models import Chain, Token
from config.api.errors import ApiError
from merchants.models import Merchant
from merchants.services import issue_key
from payments.finality import check_finality
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from payments.requests import cancel_request
from payments.sandbox import HASH_PREFIX, Outcome, simulate
from payments.verification import verify_due
from tests.chain import LocalChain
from tests.conftest import Api
from tests.payments.world import Clock, look_until_decided, make_request, pay, submit
from tests.threads import at_once
from webhooks.models import DEFAULT_EVENT_TYPES, Delivery, Event, EventType

Status = PaymentRequest.Status
AMOUNT = 10_000_000
RECIPIENTS = {
    "evm": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "solana": "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM",
}


@pytest.fixture
def coin(db: None) -> Token:
    """A token on a chain that has no node at all: whoever asked one would fail."""
    chain = Chain.objects.create(
        id=8453,
        name="Base",
        chain_type="evm",
        native_symbol="ETH",
        confirmations="5",
        explorer_url="https://scan.example",
    )
    address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=address
    )


@pytest.fixture
def solana_coin(db: None) -> Token:
    """The same on Solana."""
    chain = Chain.objects.create(
        id=1151111081099710,
        name="Solana",
        chain_type="solana",
        native_symbol="SOL",
        confirmations="finalized",
    )
    mint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=mint
    )


def a_request(merchant: Merchant, token: Token, amount: str = "10", **more: Any) -> PaymentRequest:
    return make_request(merchant, token, amount, RECIPIENTS[token.chain.chain_type], **more)


@pytest.fixture
def request_in(merchant: Merchant, coin: Token) -> Callable[[str], PaymentRequest]:
    """Return a maker of requests of 10 USDC in a state of their life, which came to it without any event."""

    def make(state: str) -> PaymentRequest:
        request = a_request(merchant, coin)
        past = timezone.now() - timedelta(minutes=1)
        if state in ("expired", "overdue"):
            PaymentRequest.objects.filter(pk=request.pk).update(expires_at=past, expiry_check_at=past)
        if state == "expired":
            PaymentRequest.objects.filter(pk=request.pk).update(status=Status.EXPIRED, expired_at=past)
        if state.startswith("cancelled"):
            cancel_request(request.pk, actor="test")
        if state == "completed, for real":
            PaymentRequest.objects.filter(pk=request.pk).update(
                status=Status.COMPLETED, amount_paid=AMOUNT, completed_at=past
            )
        elif state in ("completed", "cancelled, paid"):
            simulate(request.pk, Outcome.PAID, by="test")
        elif state in ("partly paid", "cancelled, partly paid"):
            simulate(request.pk, Outcome.UNDERPAID, by="test")
        request.refresh_from_db()
        Delivery.objects.all().delete()
        Event.objects.all().delete()
        return request

    return make


def told() -> list[str]:
    """Return the events in the order in which they happened, each with the request's status in it."""
    bodies = [json.loads(bytes(event.body)) for event in Event.objects.order_by("created")]
    return [f"{body['type']}: {body['data']['object']['request_status']}" for body in bodies]


def path(request: PaymentRequest) -> str:
    return f"/api/test/payment-requests/{request.pk}/simulate"


@dataclass(frozen=True)
class Then:
    """What has become of the request: its status, what is paid, whether late, and the events."""

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
    ("partly paid", "overpaid"): Then("completed", MORE, False, ["payment.succeeded: completed"]),
    ("partly paid", "paid_late"): Then(
        "completed", AMOUNT, True, ["payment.expired: expired", "payment.succeeded: completed"]
    ),
    ("partly paid", "failed"): Then("active", HALF, False, ["payment.failed: active"]),
    ("partly paid", "expired"): Then("expired", HALF, False, ["payment.expired: expired"]),
    ("partly paid", "reorged"): Then(
        "completed", AMOUNT, False, ["payment.succeeded: completed", "payment.reorged: completed"]
    ),
    ("partly paid", "bridge_refunded"): Then("active", HALF, False, ["payment.failed: active"]),
    ("overdue", "paid"): Then("completed", AMOUNT, True, ["payment.succeeded: completed"]),
    ("overdue", "underpaid"): Then("active", HALF, False, ["payment.partially_paid: active"]),
    ("overdue", "overpaid"): Then("completed", MORE, True, ["payment.succeeded: completed"]),
    ("overdue", "paid_late"): Then(
        "completed", AMOUNT, True, ["payment.expired: expired", "payment.succeeded: completed"]
    ),
    ("overdue", "failed"): Then("active", 0, False, ["payment.failed: active"]),
    ("overdue", "expired"): Then("expired", 0, False, ["payment.expired: expired"]),
    ("overdue", "reorged"): Then(
        "completed", AMOUNT, True, ["payment.succeeded: completed", "payment.reorged: completed"]
    ),
    ("overdue", "bridge_refunded"): Then("active", 0, False, ["payment.failed: active"]),
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
    (REAL, "paid"): REFUSED,
    (REAL, "overpaid"): Then("completed", MORE, False, ["payment.overpaid: completed"]),
    (REAL, "reorged"): REFUSED,
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
        assert told() == []
        unchanged = PaymentRequest.objects.get(pk=request.pk)
        assert (unchanged.status, unchanged.expires_at) == (request.status, request.expires_at)
        return
    assert response.status_code == 200, response.content
    body = response.json()
    assert body == api.get(f"/api/payment-requests/{request.pk}").json()
    assert body["id"] == str(request.pk)
    became = Then(body["status"], int(body["amount_paid"]["raw"]), body["paid_late"], told())
    assert became == then
    assert not Payment.objects.filter(status__in=Payment.OPEN).exists()


def test_the_table_knows_each_outcome_in_each_plain_state() -> None:
    for state in ("active", "partly paid", "overdue", "expired", "cancelled", "cancelled, paid", "completed"):
        assert {outcome for known, outcome in TABLE if known == state} == set(Outcome), state


def test_a_simulated_payment_is_like_a_real_one_with_its_history_and_its_consumed_transfer(
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
    ("outcome", "type_", "code"),
    [("failed", "direct", "transaction_reverted"), ("bridge_refunded", "swap", "swap_refunded")],
)
def test_a_failure_says_why_in_the_payment_and_in_the_event(
    api: Api, request_in: Callable[[str], PaymentRequest], outcome: str, type_: str, code: str
) -> None:
    request = request_in("active")
    for count in (1, 2):
        payment = api.post(path(request), {"outcome": outcome}).json()["payments"][0]
        assert (payment["status"], payment["type"], payment["failure_code"]) == ("failed", type_, code)
        assert (payment["amount_received"], payment["retries_left"]) == (None, 0)
        assert payment["failed_at"]
        events = [json.loads(bytes(event.body))["data"]["object"] for event in Event.objects.all()]
        assert [event["failure_code"] for event in events] == [code] * count
        assert {event["amount"] for event in events} == {AMOUNT}
    assert ConsumedTransfer.objects.count() == 0


def test_an_event_goes_out_to_whoever_wants_its_type(
    api: Api, request_in: Callable[[str], PaymentRequest]
) -> None:
    assert api.put("/api/webhooks", {"url": "http://127.0.0.1:9999/hook"}).status_code == 200
    outcomes = ("underpaid", "failed", "paid_late", "overpaid", "reorged")
    first = request_in("active")
    for outcome in outcomes:
        assert api.post(path(first), {"outcome": outcome}).status_code == 200
    sent = set(Delivery.objects.values_list("type", flat=True))
    assert sent == {str(type_) for type_ in DEFAULT_EVENT_TYPES}
    api.put("/api/webhooks", {"url": "http://127.0.0.1:9999/hook", "enabled_events": EventType.values})
    second = request_in("active")
    for outcome in outcomes:
        assert api.post(path(second), {"outcome": outcome}).status_code == 200
    assert set(Delivery.objects.values_list("type", flat=True)) == set(EventType.values)


def test_a_payment_undone_is_flagged_once_and_calls_the_operator(
    api: Api, request_in: Callable[[str], PaymentRequest], caplog: pytest.LogCaptureFixture
) -> None:
    request = request_in("completed")
    with caplog.at_level(logging.ERROR, logger="payments.finality"):
        (payment,) = api.post(path(request), {"outcome": "reorged"}).json()["payments"]
    assert (payment["status"], payment["reorged"]) == ("completed", True)
    assert [record.message for record in caplog.records] == [
        f"simulated payment {payment['id']} was completed, and its block has vanished since: a person is needed"
    ]
    assert api.post(path(request), {"outcome": "reorged"}).status_code == 409
    assert Event.objects.filter(type="payment.reorged").count() == 1


@pytest.mark.parametrize("outcome", Outcome)
def test_no_chain_is_asked_about_a_simulated_payment_and_it_is_unmistakable(
    api: Api, request_in: Callable[[str], PaymentRequest], outcome: Outcome
) -> None:
    request = request_in("active")
    body = api.post(path(request), {"outcome": outcome}).json()
    for payment in body["payments"]:
        assert bytes.fromhex(payment["transaction_hash"][2:]).startswith(HASH_PREFIX)
        assert normalise_transaction_hash("evm", payment["transaction_hash"]) == payment["transaction_hash"]
        assert "no money moved" in payment["status_detail"]
        assert payment["explorer_url"] is None
    assert len(body["payments"]) == (outcome != Outcome.EXPIRED)
    stored = Payment.objects.all()
    assert all(payment.is_simulated and not payment.submitted_publicly for payment in stored)
    assert all(payment.finality_check_at is None for payment in stored)

    def no_client(chain: Chain) -> Any:
        raise AssertionError(f"{chain} was asked")

    clock = Clock()
    clock.forward(days=2)
    # Even if a row were due by some mistake, nothing would take it up.
    Payment.objects.update(finality_check_at=timezone.now(), next_check_at=timezone.now())
    Payment.objects.filter(status=Payment.Status.FAILED).update(status=Payment.Status.PENDING)
    assert verify_due(client=no_client, now=clock) == check_finality(client=no_client, now=clock) == 0


@pytest.mark.parametrize("outcome", ["paid", "failed", "bridge_refunded"])
def test_a_simulated_payment_is_neither_retried_nor_accepted_nor_submitted_again(
    api: Api, public: Api, request_in: Callable[[str], PaymentRequest], outcome: str
) -> None:
    request = request_in("active")
    (payment,) = api.post(path(request), {"outcome": outcome}).json()["payments"]
    of_payment = f"/api/payment-requests/{request.pk}/payments/{payment['id']}"
    for answer in (
        api.post(f"{of_payment}/retry"),
        api.post(f"{of_payment}/accept", {"reason": "It is fine."}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "payment_not_retryable")
    submitted = {"transaction_hash": payment["transaction_hash"], "chain_id": request.chain_id}
    again = public.post(f"/api/public/payment-requests/{request.pk}/payments", submitted)
    assert (again.status_code, again.json()["status"]) == (200, payment["status"])
    assert Payment.objects.get().status == payment["status"]


def test_a_simulated_payment_pays_no_other_request(
    api: Api, public: Api, request_in: Callable[[str], PaymentRequest]
) -> None:
    first, second = request_in("active"), request_in("active")
    (payment,) = api.post(path(first), {"outcome": "paid"}).json()["payments"]
    submitted = {"transaction_hash": payment["transaction_hash"], "chain_id": second.chain_id}
    answer = public.post(f"/api/public/payment-requests/{second.pk}/payments", submitted)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "transaction_already_used")
    assert not second.payments.exists()


def test_real_money_still_counts_after_a_simulated_payment(
    api: Api, merchant: Merchant, usdc: Token, local_chain: LocalChain
) -> None:
    request = make_request(merchant, usdc, "10", local_chain.recipient)
    api.post(path(request), {"outcome": "failed"})
    api.post(path(request), {"outcome": "underpaid"})
    real = look_until_decided(submit(request, pay(local_chain, request, 5_000_000)), Clock())
    request.refresh_from_db()
    assert (real.status, real.amount_received, request.status) == ("completed", 5_000_000, "completed")
    late = look_until_decided(submit(request, pay(local_chain, request, 10_000_000)), Clock())
    request.refresh_from_db()
    assert (late.status, request.amount_overpaid) == ("completed", 10_000_000)
    assert [payment.finality_check_at is None for payment in request.payments.order_by("created_at")] == [
        True,
        True,
        False,
        False,
    ]


def test_simulated_payments_use_up_none_of_the_customers_submissions(
    api: Api, public: Api, request_in: Callable[[str], PaymentRequest]
) -> None:
    request = request_in("active")
    for _ in range(31):
        api.post(path(request), {"outcome": "failed"})
    submitted = {"transaction_hash": "0x" + "ab" * 32, "chain_id": request.chain_id}
    assert public.post(f"/api/public/payment-requests/{request.pk}/payments", submitted).status_code == 201


@pytest.mark.parametrize("outcome", ["expired", "paid_late"])
def test_time_is_not_over_while_a_real_payment_is_under_way(
    api: Api, request_in: Callable[[str], PaymentRequest], outcome: str
) -> None:
    request = request_in("active")
    api.post(path(request), {"outcome": "failed"})
    submit(request, "0x" + "ab" * 32)
    answer = api.post(path(request), {"outcome": outcome})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "payment_in_progress")
    unchanged = PaymentRequest.objects.get(pk=request.pk)
    assert (unchanged.status, unchanged.expires_at) == ("active", request.expires_at)
    assert unchanged.payments.count() == 2


def test_a_single_base_unit_has_no_part(api: Api, merchant: Merchant, coin: Token) -> None:
    request = a_request(merchant, coin, "0.000001")
    answer = api.post(path(request), {"outcome": "underpaid"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "parameter_invalid", "outcome")
    assert not request.payments.exists()
    over = api.post(path(request), {"outcome": "overpaid"}).json()
    assert over["amount_overpaid"]["raw"] == "1"


def test_two_base_units_are_halved_and_an_odd_part_is_rounded_down(
    api: Api, merchant: Merchant, coin: Token
) -> None:
    request = a_request(merchant, coin, "0.000003")
    paid = [api.post(path(request), {"outcome": "underpaid"}).json()["amount_paid"]["raw"] for _ in range(2)]
    assert paid == ["1", "2"]
    assert api.post(path(request), {"outcome": "underpaid"}).status_code == 400


def test_the_largest_amount_there_is_can_be_paid_and_not_overpaid(
    api: Api, merchant: Merchant, coin: Token
) -> None:
    Token.objects.filter(pk=coin.pk).update(decimals=0)
    coin.refresh_from_db()
    request = a_request(merchant, coin, str(2**256 - 1))
    assert api.post(path(request), {"outcome": "overpaid"}).status_code == 400
    assert api.post(path(request), {"outcome": "paid"}).json()["status"] == "completed"


@pytest.mark.parametrize("outcome", Outcome)
def test_on_solana_it_is_the_same(api: Api, merchant: Merchant, solana_coin: Token, outcome: Outcome) -> None:
    request = a_request(merchant, solana_coin)
    answer = api.post(path(request), {"outcome": outcome})
    assert answer.status_code == 200, answer.content
    for payment in answer.json()["payments"]:
        assert (
            normalise_transaction_hash("solana", payment["transaction_hash"]) == payment["transaction_hash"]
        )


@pytest.mark.parametrize("confirmations", ["1", "64", "safe", "finalized"])
def test_it_is_as_deep_as_the_chain_asks_for(
    api: Api, merchant: Merchant, coin: Token, confirmations: str
) -> None:
    Chain.objects.filter(pk=coin.chain_id).update(confirmations=confirmations)
    request = a_request(merchant, coin)
    assert api.post(path(request), {"outcome": "paid"}).json()["status"] == "completed"


def test_without_references_the_payer_binds_it(api: Api, merchant: Merchant, coin: Token) -> None:
    request = a_request(merchant, coin, references=False)
    body = api.post(path(request), {"outcome": "paid"}).json()
    assert (body["status"], body["payments"][0]["bound_by"]) == ("completed", "payer")


def test_the_same_idempotency_key_makes_it_happen_once(
    api: Api, request_in: Callable[[str], PaymentRequest]
) -> None:
    request = request_in("active")
    key = {"Idempotency-Key": "simulation-1"}
    first = api.post(path(request), {"outcome": "underpaid"}, **key)
    again = api.post(path(request), {"outcome": "underpaid"}, **key)
    assert (first.status_code, again.status_code) == (200, 200)
    assert again["Idempotent-Replayed"] == "true"
    assert again.json() == first.json()
    assert request.payments.count() == 1


def test_production_has_no_sandbox(
    api: Api, public: Api, request_in: Callable[[str], PaymentRequest], settings: LazySettings
) -> None:
    request = request_in("active")
    settings.ENVIRONMENT = "production"
    unknown = api.post("/api/test/nothing").json()["error"]
    for caller in (api, public):
        for answer in (caller.post(path(request), {"outcome": "paid"}), caller.get(path(request))):
            error = answer.json()["error"]
            assert answer.status_code == 404
            assert {**error, "request_id": ""} == {**unknown, "request_id": ""}
    with pytest.raises(Exception, match="no sandbox") as refusal:
        simulate(request.pk, Outcome.PAID, by="test")
    assert getattr(refusal.value, "status_code", None) == 404
    request.refresh_from_db()
    assert (request.status, request.payments.count(), Event.objects.count()) == ("active", 0, 0)


def test_only_the_own_merchant_may_with_the_permission(
    api: Api,
    public: Api,
    request_in: Callable[[str], PaymentRequest],
    merchant: Merchant,
    other_merchant: Merchant,
) -> None:
    request = request_in("active")
    stranger = Api(issue_key(merchant=other_merchant, permissions=["create_payments"])[1])
    reader = Api(issue_key(merchant=merchant, permissions=["manage_webhooks"])[1])
    body = {"outcome": "paid"}
    answers = [caller.post(path(request), body) for caller in (stranger, reader, public)]
    assert [answer.status_code for answer in answers] == [404, 403, 401]
    assert api.post(f"/api/test/payment-requests/{uuid.uuid4()}/simulate", body).status_code == 404
    assert api.post("/api/test/payment-requests/nonsense/simulate", body).status_code == 404
    assert not request.payments.exists()


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "parameter_missing", "outcome"),
        ({"outcome": None}, "parameter_missing", "outcome"),
        ({"outcome": "stolen"}, "parameter_invalid", "outcome"),
        ({"outcome": ["paid"]}, "parameter_invalid", "outcome"),
        ({"outcome": "paid", "amount": "1"}, "parameter_unknown", "amount"),
    ],
)
def test_a_bad_body_is_refused_and_nothing_happens(
    api: Api, request_in: Callable[[str], PaymentRequest], body: dict[str, Any], code: str, param: str
) -> None:
    request = request_in("active")
    answer = api.post(path(request), body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, code, param)
    assert not request.payments.exists()


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
