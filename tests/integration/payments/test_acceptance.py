"""The merchant can accept an unbound transaction as a payment. The reason stays in the history."""

from collections.abc import Callable

import pytest

from config.api.errors import ApiError
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from payments.submission.merchant_acceptance import accept_payment
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, look, pay, submit

AMOUNT = 10_000_000


def unbound(request: PaymentRequest, chain: LocalChain) -> Payment:
    sent = chain.transfer(chain.usdc, chain.recipient, AMOUNT)
    payment = submit(request, sent)
    look(Clock())
    payment.refresh_from_db()
    assert payment.failure_code == "transaction_not_bound"
    return payment


def test_by_the_api(api: Api, request_for: Callable[..., PaymentRequest], local_chain: LocalChain) -> None:
    request = request_for()
    payment = unbound(request, local_chain)
    path = f"/api/payment-requests/{request.id}/payments/{payment.id}/accept"
    assert api.post(path, {}).json()["error"]["code"] == "parameter_missing"
    answer = api.post(path, {"reason": "the customer wrote to us"})
    assert (answer.status_code, answer.json()["status"]) == (200, "pending")
    look(Clock())
    request.refresh_from_db()
    payment.refresh_from_db()
    assert (request.status, payment.bound_by, payment.retries) == ("completed", "manual", 0)
    assert ConsumedTransfer.objects.get().amount == AMOUNT
    line = Transition.objects.get(payment=payment, from_status="failed")
    assert line.reason == "accepted: the customer wrote to us"
    assert line.actor.startswith("api key quitt_")
    assert api.post(path, {"reason": "again"}).status_code == 200
    assert ConsumedTransfer.objects.count() == 1


def test_one_transfer_is_accepted_for_one_request(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    first, second = request_for(), request_for()
    payment = unbound(first, local_chain)
    rival = submit(second, payment.transaction_hash)
    look(Clock())
    rival.refresh_from_db()
    accept_payment(payment, reason="ours", actor="test")
    accept_payment(rival, reason="ours too", actor="test")
    look(Clock())
    statuses = sorted(Payment.objects.values_list("status", "failure_code"))
    assert statuses == [("completed", ""), ("failed", "transaction_already_used")]
    assert ConsumedTransfer.objects.count() == 1


def test_another_requests_payment_can_not_be_accepted_away(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    paid, other = request_for(), request_for()
    sent = pay(local_chain, paid)
    payment = submit(other, sent)
    look(Clock())
    payment.refresh_from_db()
    accept_payment(payment, reason="mine", actor="test")
    look(Clock())
    payment.refresh_from_db()
    assert payment.failure_code == "transaction_not_bound"
    assert not ConsumedTransfer.objects.exists()


def test_what_failed_for_another_reason_can_not_be_accepted(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    payment = submit(request, local_chain.transfer(local_chain.dai, local_chain.recipient, AMOUNT))
    look(Clock())
    payment.refresh_from_db()
    with pytest.raises(ApiError) as refusal:
        accept_payment(payment, reason="close enough", actor="test")
    assert refusal.value.problems[0].code == "payment_not_retryable"
    payment.refresh_from_db()
    assert (payment.status, payment.accepted_by) == (Payment.Status.FAILED, "")
