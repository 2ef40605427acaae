"""When a completed payment's block should be final, it is checked again.

If it is gone, the merchant gets an event.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from payments.models import ConsumedTransfer, Lookup, Payment, PaymentRequest
from payments.refunds.services import refundable
from payments.verification import finality
from payments.verification.finality import CHECKS_BEFORE_ALERT
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look_until_decided, pay, submit
from tests.verifying import check_finality
from webhooks.models import Event

Make = Callable[..., PaymentRequest]


@pytest.fixture
def completed(request_for: Make, local_chain: LocalChain) -> Payment:
    request = request_for()
    return look_until_decided(submit(request, pay(local_chain, request)), Clock())


def at_finality(clock: Clock, local_chain: LocalChain) -> None:
    local_chain.mine(70)
    clock.forward(minutes=3)
    assert check_finality(now=clock) == 1


def test_a_block_that_stands_closes_the_matter(completed: Payment, local_chain: LocalChain) -> None:
    clock = Clock()
    at_finality(clock, local_chain)
    completed.refresh_from_db()
    assert (completed.reorged, completed.lookup.finality_check_at) == (False, None)
    clock.forward(days=1)
    assert check_finality(now=clock) == 0


def test_before_finality_nothing_is_concluded(completed: Payment) -> None:
    clock = Clock()
    clock.forward(minutes=3)
    check_finality(now=clock)
    completed.refresh_from_db()
    assert not completed.reorged
    assert completed.lookup.finality_check_at is not None


def test_a_block_that_vanished_is_flagged_and_told_once(completed: Payment, local_chain: LocalChain) -> None:
    clock = Clock()
    local_chain.reorganise()
    local_chain.rpc("anvil_dropTransaction", completed.transaction_hash)
    for _ in range(CHECKS_BEFORE_ALERT):
        completed.refresh_from_db()
        assert not completed.reorged, "one blank answer is no alarm"
        at_finality(clock, local_chain)
    completed.refresh_from_db()
    assert local_chain.rpc("eth_getTransactionReceipt", completed.transaction_hash) is None
    assert (completed.status, completed.reorged) == (Payment.Status.COMPLETED, True)
    assert Event.objects.filter(type="payment.reorged").count() == 1
    assert ConsumedTransfer.objects.count() == 1, "what was credited stays credited until a person decides"
    clock.forward(days=31)
    assert check_finality(now=clock) == 1
    completed.refresh_from_db()
    assert (completed.reorged, completed.lookup.finality_check_at) == (True, None), (
        "it is watched for 30 days"
    )
    assert Event.objects.filter(type="payment.reorged").count() == 1


def test_reorged_ends_when_transaction_is_mined_again(completed: Payment, local_chain: LocalChain) -> None:
    clock, request = Clock(), completed.request
    raw = local_chain.rpc("eth_getRawTransactionByHash", completed.transaction_hash)
    local_chain.reorganise()
    local_chain.rpc("anvil_dropTransaction", completed.transaction_hash)
    for _ in range(CHECKS_BEFORE_ALERT):
        at_finality(clock, local_chain)
    request.refresh_from_db()
    assert (request.status, request.net, request.amount_paid) == ("completed", 0, request.amount)
    local_chain.rpc("eth_sendRawTransaction", raw)
    local_chain.mine(1)
    at_finality(clock, local_chain)
    completed.refresh_from_db()
    request.refresh_from_db()
    assert (completed.reorged, request.net, request.amount_reorged) == (False, request.amount, 0)
    bodies = [
        json.loads(event.body) for event in Event.objects.filter(type="payment.reorged").order_by("created")
    ]
    assert [body["data"]["object"]["reorged"] for body in bodies] == [True, False]
    assert refundable(request).left == request.amount, "the money can be refunded again"
    at_finality(clock, local_chain)
    completed.refresh_from_db()
    assert completed.lookup.finality_check_at is None


def test_transaction_mined_again_in_another_block_stays_paid(
    completed: Payment, local_chain: LocalChain
) -> None:
    clock, first_block = Clock(), completed.lookup.block_hash
    raw = local_chain.rpc("eth_getRawTransactionByHash", completed.transaction_hash)
    local_chain.reorganise()
    if local_chain.rpc("eth_getTransactionByHash", completed.transaction_hash) is None:
        local_chain.rpc("eth_sendRawTransaction", raw)
    at_finality(clock, local_chain)
    completed.refresh_from_db()
    assert not completed.reorged
    assert completed.lookup.block_hash != first_block
    assert not Event.objects.filter(type="payment.reorged").exists()


def test_error_on_one_payment_does_not_block_finality_of_others(
    request_for: Make, local_chain: LocalChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [request_for() for _ in range(3)]
    payments = [look_until_decided(submit(each, pay(local_chain, each)), Clock()) for each in requests]
    odd = min(payments, key=lambda payment: payment.lookup.finality_check_at or payment.created_at)
    settle = finality._check_completed

    def failing(lookup: Lookup, *given: Any) -> None:
        if lookup.payment_id == odd.pk:
            raise ValueError("something odd")
        settle(lookup, *given)

    monkeypatch.setattr(finality, "_check_completed", failing)
    clock = Clock()
    local_chain.mine(70)
    clock.forward(minutes=3)
    assert check_finality(now=clock) == 3
    waiting = Payment.objects.filter(lookup__finality_check_at__isnull=False)
    assert [payment.pk for payment in waiting] == [odd.pk]
