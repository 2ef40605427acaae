"""The merchant submits a customer's transaction with `POST /api/payment-requests/{id}/payments`."""

import uuid
from collections.abc import Callable

import pytest

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, look_until_decided, make_request, pay, submit

Make = Callable[..., PaymentRequest]
UNKNOWN = "0x" + "ab" * 32


def path(request: PaymentRequest) -> str:
    return f"/api/payment-requests/{request.id}/payments"


def body(request: PaymentRequest, transaction_hash: str) -> dict[str, object]:
    return {"transaction_hash": transaction_hash, "chain_id": request.chain_id}


def test_a_customers_native_payment_is_added_and_credited(
    api: Api, merchant: Merchant, local_chain: LocalChain, chain: Chain
) -> None:
    ether = Token.objects.create(chain=chain, symbol="ETH", name="Ether", decimals=18, contract_address="")
    request = make_request(merchant, ether, "0.01", local_chain.recipient)
    answer = api.post(path(request), body(request, pay(local_chain, request).upper().replace("0X", "0x")))
    assert answer.status_code == 201
    shown = answer.json()
    assert (shown["object"], shown["status"], shown["replaced_hashes"]) == ("payment", "pending", [])
    payment = Payment.objects.get(pk=shown["id"])
    assert (payment.submitted_publicly, payment.submitter) == (False, "")
    assert look_until_decided(payment, Clock()).status == "completed"
    again = api.post(path(request), body(request, payment.transaction_hash))
    assert (again.status_code, again.json()["status"]) == (200, "completed")
    assert ConsumedTransfer.objects.count() == 1


def test_a_key_makes_it_one_call(api: Api, request_for: Make) -> None:
    request, key = request_for(), {"Idempotency-Key": str(uuid.uuid4())}
    first = api.post(path(request), body(request, UNKNOWN), **key)
    again = api.post(path(request), body(request, UNKNOWN), **key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again["Idempotent-Replayed"] == "true"
    assert Payment.objects.count() == 1


def test_a_failed_one_is_retried_by_the_merchants_own_retries(api: Api, request_for: Make) -> None:
    request, clock = request_for(), Clock()
    payment = submit(request, UNKNOWN)
    for retries in range(3):
        assert look_until_decided(payment, clock).failure_code == "transaction_not_found"
        answer = api.post(path(request), body(request, UNKNOWN))
        assert (answer.status_code, answer.json()["status"]) == (200, "pending")
        payment.refresh_from_db()
        assert (payment.retries, payment.reopened_publicly) == (retries + 1, False)
    look_until_decided(payment, clock)
    answer = api.post(path(request), body(request, UNKNOWN))
    assert (answer.status_code, answer.json()["status"]) == (200, "failed")


def test_the_public_uses_up_one_retry_at_most(request_for: Make) -> None:
    request, clock = request_for(), Clock()
    payment = submit(request, UNKNOWN)
    for _ in range(3):
        look_until_decided(payment, clock)
        submit(request, UNKNOWN)
    payment.refresh_from_db()
    assert (payment.status, payment.retries, payment.retries_left) == ("failed", 1, 2)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"transaction_hash": "0x12"}, "transaction_hash_invalid"),
        ({"chain_id": 999_999_999}, "chain_unknown"),
        ({"route_id": "rt_1"}, "parameter_unknown"),
        ({"transaction_hash": None}, "parameter_missing"),
    ],
)
def test_bad_input_is_refused_and_stores_nothing(
    api: Api, request_for: Make, change: dict[str, object], code: str
) -> None:
    request = request_for()
    sent = {name: value for name, value in {**body(request, UNKNOWN), **change}.items() if value is not None}
    answer = api.post(path(request), sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    assert not Payment.objects.exists()


def test_what_paid_another_request_is_refused(api: Api, request_for: Make, local_chain: LocalChain) -> None:
    paid, other = request_for(), request_for()
    sent = pay(local_chain, paid)
    look_until_decided(submit(paid, sent), Clock())
    answer = api.post(path(other), body(other, sent))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "transaction_already_used")
    assert Payment.objects.count() == 1


def test_missing_request_and_call_without_key_are_rejected(api: Api, public: Api, request_for: Make) -> None:
    request = request_for()
    absent = api.post(f"/api/payment-requests/{uuid.UUID(int=0)}/payments", body(request, UNKNOWN))
    assert absent.status_code == 404
    assert public.post(path(request), body(request, UNKNOWN)).status_code == 401
    assert not Payment.objects.exists()
