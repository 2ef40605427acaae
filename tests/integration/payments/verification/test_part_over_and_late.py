"""Funds that arrive are always credited: too little, too much, too late, or after a cancellation."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from demo.contracts.deploy import rpc
from payments.models import Payment, PaymentRequest
from payments.requests.lifecycle import cancel_request, expire_due
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look_until_decided, pay, submit
from webhooks.models import Event

Status = PaymentRequest.Status


def told(event_type: str) -> list[dict[str, Any]]:
    """Return the `data.object` of each event of this type."""
    events = Event.objects.filter(type=event_type).order_by("created")
    return [json.loads(bytes(event.body))["data"]["object"] for event in events]


def paid(chain: LocalChain, request: PaymentRequest, amount: int) -> Payment:
    """Pay this amount; return the verified payment."""
    payment = look_until_decided(submit(request, pay(chain, request, amount)), Clock())
    request.refresh_from_db()
    assert payment.status == Payment.Status.COMPLETED
    return payment


def close(request: PaymentRequest, **fields: Any) -> None:
    """Set the request's expiry to the past."""
    past = timezone.now() - timedelta(minutes=1)
    PaymentRequest.objects.filter(pk=request.pk).update(expires_at=past, expiry_check_at=past, **fields)


def test_part_leaves_request_active_and_the_rest_completes_it(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for("10")
    paid(local_chain, request, 3_000_000)
    assert (request.status, request.amount_paid, request.amount_remaining) == (
        Status.ACTIVE,
        3_000_000,
        7_000_000,
    )
    assert request.payments.get().status_detail == "Verified on the chain; 7 USDC is still to be paid."
    assert [event["amount"] for event in told("payment.partially_paid")] == [3_000_000]
    assert not told("payment.succeeded")
    paid(local_chain, request, 7_000_000)
    assert (request.status, request.amount_remaining) == (Status.COMPLETED, 0)
    (succeeded,) = told("payment.succeeded")
    assert (succeeded["amount"], succeeded["amount_paid"]["raw"]) == (7_000_000, "10000000")


def test_too_much_completes_it_and_says_by_how_much(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for("10")
    paid(local_chain, request, 10_500_000)
    assert (request.status, request.amount_overpaid) == (Status.COMPLETED, 500_000)
    assert told("payment.succeeded")[0]["amount_overpaid"]["raw"] == "500000"
    assert "0.50 USDC more than requested" in request.payments.get().status_detail


def test_second_payment_of_completed_request_is_overpaid(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for("10")
    paid(local_chain, request, 10_000_000)
    paid(local_chain, request, 10_000_000)
    assert (request.status, request.amount_overpaid) == (Status.COMPLETED, 10_000_000)
    assert len(told("payment.succeeded")) == 1
    assert [event["amount"] for event in told("payment.overpaid")] == [10_000_000]


def test_full_payment_after_expiry_completes_the_request_late(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for("10")
    close(request)
    assert expire_due() == 1
    paid(local_chain, request, 10_000_000)
    assert (request.status, request.paid_late) == (Status.COMPLETED, True)
    assert len(told("payment.expired")) == len(told("payment.succeeded")) == 1


def test_a_part_after_expiry_is_kept_and_told(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for("10")
    close(request)
    expire_due()
    paid(local_chain, request, 1_000_000)
    assert (request.status, request.amount_paid) == (Status.EXPIRED, 1_000_000)
    assert [event["request_status"] for event in told("payment.partially_paid")] == ["expired"]


def test_cancelled_request_stays_cancelled_and_credits_payment(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for("10")
    cancel_request(request.pk, actor="test")
    paid(local_chain, request, 4_000_000)
    assert (request.status, request.amount_paid) == (Status.CANCELLED, 4_000_000)
    assert [event["request_status"] for event in told("payment.partially_paid")] == ["cancelled"]
    paid(local_chain, request, 6_000_000)
    assert request.status == Status.CANCELLED
    assert [event["request_status"] for event in told("payment.succeeded")] == ["cancelled"]
    paid(local_chain, request, 1_000_000)
    assert len(told("payment.succeeded")) == len(told("payment.overpaid")) == 1


def mined_at(chain: LocalChain, transaction_hash: str) -> datetime:
    """Return the timestamp of the transaction's block."""
    receipt = rpc(chain.url, "eth_getTransactionReceipt", transaction_hash)
    block = rpc(chain.url, "eth_getBlockByNumber", receipt["blockNumber"], False)
    return datetime.fromtimestamp(int(block["timestamp"], 16), UTC)


def end_price(request: PaymentRequest, at: datetime) -> None:
    """Give the request a price that ended at this time; let the request expire."""
    price, rate = {"currency": "USD", "amount": "10.00"}, {"value": "1", "currency": "USD", "token": "USDC"}
    close(request, price=price, rate=rate)
    PaymentRequest.objects.filter(pk=request.pk).update(expires_at=at)
    assert expire_due() == 1


@pytest.mark.parametrize(("seconds", "status"), [(120, Status.COMPLETED), (121, Status.EXPIRED)])
def test_price_holds_two_minutes_past_its_end_by_block_time(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, seconds: int, status: str
) -> None:
    request = request_for("10")
    transaction_hash = pay(local_chain, request)
    end_price(request, mined_at(local_chain, transaction_hash) - timedelta(seconds=seconds))
    payment = look_until_decided(submit(request, transaction_hash), Clock())
    request.refresh_from_db()
    assert (payment.status, request.amount_remaining) == (Payment.Status.COMPLETED, 0)
    assert request.status == status
    is_in_time = status == Status.COMPLETED
    assert (len(told("payment.succeeded")), len(told("payment.partially_paid"))) == (
        is_in_time,
        not is_in_time,
    )


def test_payment_mined_in_time_completes_request_after_late_one(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for("10")
    in_time = pay(local_chain, request)
    end = mined_at(local_chain, in_time)
    rpc(local_chain.url, "evm_setNextBlockTimestamp", int(end.timestamp()) + 1)
    late = pay(local_chain, request)
    end_price(request, end - timedelta(seconds=120))
    look_until_decided(submit(request, late), Clock())
    request.refresh_from_db()
    assert (request.status, request.amount_remaining) == (Status.EXPIRED, 0)
    look_until_decided(submit(request, in_time), Clock())
    request.refresh_from_db()
    assert (request.status, request.amount_overpaid) == (Status.COMPLETED, 10_000_000)
    assert (len(told("payment.succeeded")), len(told("payment.overpaid"))) == (1, 0)
