"""A sender's proof afterwards pays only its request, whatever else happens in the transaction."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from payments.models import Lookup, Payment, PaymentRequest, TransferProof
from tests.conftest import Api
from tests.integration.payments.test_proof_afterwards import (
    give,
    looked,
    message_for,
)
from tests.support.checkout.bare import sign
from tests.support.payments.world import submit
from tests.support.threats.evm_world import USDC_UNIT, Safe, World, transfer_data

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
AMOUNT = 10 * USDC_UNIT


def prove_with(public: Api, safe: Safe, payment: Payment) -> int:
    text = message_for(public, payment, safe.address).json()["message"]
    return int(give(public, payment, safe.address, sign(text, safe.key)).status_code)


@pytest.fixture
def two_orders(world: World, ask: Ask) -> tuple[Safe, list[Payment]]:
    """Two requests of one shop. One transaction pays both with two transfers, without references."""
    safe, requests = world.look_alike_safe(), [ask(), ask()]
    calls = [(world.chain.usdc, 0, transfer_data(each.recipient_address, AMOUNT)) for each in requests]
    sent = safe.send(safe.multi_send(*calls))
    payments = [looked(submit(each, sent)) for each in requests]
    assert [each.failure_code for each in payments] == ["transaction_not_bound"] * 2
    return safe, payments


def test_second_order_is_proved_after_the_first_was_credited(
    public: Api, two_orders: tuple[Safe, list[Payment]]
) -> None:
    safe, (first, second) = two_orders
    assert prove_with(public, safe, first) == 200
    assert looked(first).status == Payment.Status.COMPLETED
    assert prove_with(public, safe, second) == 200
    assert looked(second).status == Payment.Status.COMPLETED
    assert [first.amount_received, second.amount_received] == [AMOUNT, AMOUNT]


def test_order_proved_before_the_first_was_credited_counts(
    public: Api, two_orders: tuple[Safe, list[Payment]]
) -> None:
    safe, (first, second) = two_orders
    assert [prove_with(public, safe, each) for each in (first, second)] == [200, 200]
    due = Lookup.objects.filter(of_payment=second)
    due.update(next_check_at=timezone.now() + timedelta(hours=1))
    assert looked(first).status == Payment.Status.COMPLETED
    due.update(next_check_at=timezone.now())
    assert looked(second).status == Payment.Status.COMPLETED
    assert TransferProof.objects.filter(binds=True).count() == 2
