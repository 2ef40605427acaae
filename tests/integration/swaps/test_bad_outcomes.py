"""The local aggregator fails in every possible way after it has the money. No failure completes a payment wrongly."""

from datetime import timedelta

import pytest
from django.utils import timezone

from payments.models import ConsumedTransfer, Payment, PaymentRequest
from payments.providers import registry
from tests.support.payments.rows import delivery_hash
from tests.support.payments.world import Clock
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.following import assert_nothing_counted, follow_until_decided, pay_by_swap, step
from tests.support.swaps.world import SwapWorld


@pytest.fixture
def paid(new_customer: NewCustomer, swap_world: SwapWorld) -> "Paid":
    """A customer who pays 10.50 USDC on the second chain with native coin of the first."""
    return Paid(new_customer, swap_world)


class Paid:
    def __init__(self, new_customer: NewCustomer, world: SwapWorld) -> None:
        self._new_customer = new_customer
        self.world = world
        self.clock = Clock()

    def pay(self) -> Payment:
        customer = self._new_customer(self.world.token(self.world.second_row, "USDC"))
        payment_id, sent = pay_by_swap(self.world, customer, self.world.token(self.world.first_row, "ETH"))
        self.sent = sent
        return Payment.objects.get(pk=payment_id)

    def settled(self) -> None:
        """Wait until the money has moved, to any recipient."""
        self.world.aggregator.delivered(self.sent)

    def decide(self, payment: Payment) -> Payment:
        return follow_until_decided(payment.pk, self.clock)


@pytest.mark.parametrize(
    ("delivery", "code"),
    [
        ("other_token", "swap_partial"),
        ("refund", "swap_refunded"),
        ("other_recipient", "wrong_recipient"),
    ],
)
def test_a_delivery_that_is_none(paid: Paid, delivery: str, code: str) -> None:
    paid.world.aggregator.set(delivery=delivery)
    payment = paid.pay()
    paid.settled()
    assert_nothing_counted(paid.decide(payment), code)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("unknown_hash", "transaction_not_found"),
        ("other_chain", "wrong_chain"),
        ("other_token", "swap_partial"),
        ("other_recipient", "wrong_recipient"),
        ("FAILED/NOT_PROCESSABLE_REFUND_NEEDED", "swap_failed"),
        ("FAILED/UNKNOWN_ERROR", "swap_failed"),
        ("FAILED/REFUNDED", "swap_refunded"),
        ("DONE/REFUNDED", "swap_refunded"),
        ("DONE/PARTIAL", "swap_partial"),
    ],
)
def test_false_provider_status_credits_nothing_and_fails(paid: Paid, status: str, code: str) -> None:
    payment = paid.pay()
    paid.settled()
    paid.world.aggregator.set(status=status)
    assert_nothing_counted(paid.decide(payment), code)


@pytest.mark.parametrize(
    "status",
    [
        "not_found",
        "not_found_quietly",
        "INVALID",
        "PENDING/WAIT_SOURCE_CONFIRMATIONS",
        "PENDING/REFUND_IN_PROGRESS",
        "PENDING/UNKNOWN_ERROR",
        "unknown_word",
        "other_source",
        "other_id",
        "malformed",
        "empty",
        "no_hash",
        "server_error",
        "rate_limited",
    ],
)
def test_unfinished_status_uses_no_retry_until_the_true_one(paid: Paid, status: str) -> None:
    payment = paid.pay()
    paid.settled()
    paid.world.aggregator.set(status=status)
    for _ in range(6):
        step(payment, paid.clock)
    assert (payment.status, payment.attempts, payment.amount_received) == ("processing", 0, None)
    assert payment.status_detail
    assert not ConsumedTransfer.objects.exists()
    paid.world.aggregator.set(status="honest")
    registry.forget()  # another worker has no failed call behind it
    assert paid.decide(payment).status == "completed"


def test_a_provider_that_turns_to_and_fro(paid: Paid) -> None:
    paid.world.aggregator.set(status="flip_flop")
    payment = paid.pay()
    paid.settled()
    assert paid.decide(payment).status == "completed"


def test_wrong_reported_amount_of_single_delivery_is_ignored(paid: Paid) -> None:
    """Our own node sees the amount, and only one transfer can be the delivery."""
    payment = paid.pay()
    paid.settled()
    paid.world.aggregator.set(status="less")
    assert paid.decide(payment).status == "completed"
    request = PaymentRequest.objects.get(pk=payment.request_id)
    assert request.status == "completed"


def test_less_than_promised_leaves_the_request_partly_paid(paid: Paid) -> None:
    paid.world.aggregator.set(delivery="less")
    payment = paid.pay()
    paid.settled()
    assert paid.decide(payment).status == "completed"
    request = PaymentRequest.objects.get(pk=payment.request_id)
    assert request.status == "active"
    assert 0 < request.amount_paid < request.amount


@pytest.mark.parametrize("delivery", ["batch", "batch_same_recipient", "late"])
def test_a_delivery_among_others_or_late_is_found(paid: Paid, delivery: str) -> None:
    paid.world.aggregator.set(delivery=delivery, delay_seconds=0.3)
    payment = paid.pay()
    paid.settled()
    assert paid.decide(payment).status == "completed"
    request = PaymentRequest.objects.get(pk=payment.request_id)
    assert request.status == "completed"
    assert ConsumedTransfer.objects.get().amount == request.amount_paid


def test_the_hash_of_another_swaps_delivery_is_not_counted_twice(paid: Paid) -> None:
    first = paid.pay()
    paid.settled()
    assert paid.decide(first).status == "completed"
    second = paid.pay()
    paid.settled()
    paid.world.aggregator.set(status="foreign_hash", hash=delivery_hash(first))
    paid.decide(second)
    assert (second.failure_code, ConsumedTransfer.objects.count()) in (
        ("transaction_already_used", 1),
        ("", 1),
    )
    second.refresh_from_db()
    assert (second.status, second.failure_code) == ("failed", "transaction_already_used")
    assert PaymentRequest.objects.get(pk=second.request_id).amount_paid == 0


def test_nothing_at_all_for_a_day(paid: Paid) -> None:
    paid.world.aggregator.set(delivery="none")
    payment = paid.pay()
    step(payment, paid.clock)
    step(payment, paid.clock)
    assert payment.swap.provider_status.startswith("PENDING")
    Payment.objects.filter(pk=payment.pk).update(verifying_since=timezone.now() - timedelta(hours=24))
    assert_nothing_counted(paid.decide(payment), "verification_timed_out")
