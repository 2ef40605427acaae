"""If a reorganisation moves a delivery to a later block, its first block decides whether the price had expired."""

import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from payments.models import Lookup, Payment, PaymentRequest, Swap
from payments.providers.base import SwapState, SwapStatus
from payments.swaps.outcomes import reported
from payments.swaps.status import Delivered
from payments.verification.storing import store
from tests.support.payments.credits import PRICE
from tests.support.payments.rows import delivery_hash, new_payment
from tests.support.payments.scripted_nodes import ScriptedNodes, mined, transfer_to
from tests.support.payments.world import Clock, look

Make = Callable[..., PaymentRequest]
DELIVERY, OTHER = "0x" + "de" * 32, "0x" + "0d" * 32
IN_TIME, TOO_LATE = 115, 123
"""Seconds after the expiry. Payments in the first 120 seconds are in time for the price."""


@pytest.fixture
def payment(request_for: Make) -> Payment:
    """A swap that pays a priced request. Its provider reports a delivery."""
    request = request_for()
    request.chain.confirmations = "3"
    request.chain.save(update_fields=["confirmations"])
    now = timezone.now()
    PaymentRequest.objects.filter(pk=request.pk).update(
        price=PRICE,
        rate={"value": "0.95"},
        created_at=now - timedelta(hours=1),
        expires_at=now - timedelta(minutes=5),
    )
    request.refresh_from_db()
    return new_payment(
        request=request,
        chain=request.chain,
        transaction_hash="0x" + "ab" * 32,
        status="processing",
        type="swap",
        next_check_at=None,
        provider="lifi",
        reported_amount=request.amount,
        delivery_hash=DELIVERY,
        delivery_next_check_at=now,
    )


def mine(nodes: ScriptedNodes, payment: Payment, seconds: int, hash_: str = DELIVERY) -> None:
    """Let the nodes know only this delivery, in a block at this time after the expiry."""
    transfer = transfer_to(payment.request, payment.request.amount, references=False)
    at = payment.request.expires_at + timedelta(seconds=seconds)
    nodes.has(mined(hash_, transfer, at=at, block=str(seconds % 10)))


def check(clock: Clock, nodes: ScriptedNodes) -> None:
    clock.forward(minutes=1)
    assert look(clock, nodes.of) == 1


def report(payment: Payment, hash_: str) -> None:
    """Let the provider report this delivery."""
    claim = uuid.uuid4()
    assert Swap.objects.filter(next_poll_at__isnull=False).update(claim_id=claim) == 1
    current = Payment.objects.select_related("swap__delivery", "request", "lookup").get(pk=payment.pk)
    delivered = Delivered(hash_, payment.request.amount)
    status = SwapStatus(SwapState.DELIVERED, "DONE", destination_hash=hash_)
    assert store([reported(current, delivered, status, "LI.FI")], claim, timezone.now()) == {payment.pk}


def is_after_price(payment: Payment) -> bool:
    payment = Payment.objects.select_related("request").get(pk=payment.pk)
    assert payment.status == "completed"
    assert (payment.request.status == "completed") is not payment.after_price
    return payment.after_price


def test_delivery_in_a_later_block_keeps_its_first_time(payment: Payment) -> None:
    clock, nodes = Clock(), ScriptedNodes()
    mine(nodes, payment, IN_TIME)
    check(clock, nodes)
    mine(nodes, payment, TOO_LATE)
    nodes.head = 102
    check(clock, nodes)
    assert not is_after_price(payment)


def test_delivery_that_vanished_for_a_while_keeps_its_time(payment: Payment) -> None:
    clock, nodes = Clock(), ScriptedNodes()
    mine(nodes, payment, IN_TIME)
    check(clock, nodes)
    nodes.has()
    check(clock, nodes)
    delivery = Lookup.objects.get(of_swap=payment.pk)
    assert (delivery.next_check_at, delivery.block_number, delivery.confirmations) == (None, None, 0)
    assert Swap.objects.get().attempts == 1, "it used a retry"
    mine(nodes, payment, TOO_LATE)
    nodes.head = 102
    report(payment, DELIVERY)
    check(clock, nodes)
    assert not is_after_price(payment)


def test_another_delivery_does_not_get_the_first_ones_time(payment: Payment) -> None:
    clock, nodes = Clock(), ScriptedNodes()
    mine(nodes, payment, IN_TIME)
    check(clock, nodes)
    nodes.has()
    check(clock, nodes)
    mine(nodes, payment, TOO_LATE, OTHER)
    nodes.head = 102
    report(payment, OTHER)
    check(clock, nodes)
    assert is_after_price(payment)
    assert delivery_hash(payment) == OTHER


def test_delivery_that_no_node_ever_saw_is_forgotten(payment: Payment) -> None:
    check(Clock(), ScriptedNodes())
    assert delivery_hash(payment) == ""
