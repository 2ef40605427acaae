"""After a reorganisation, a swap's provider is polled only if it may deliver again."""

import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from payments.models import Lookup, Payment, PaymentRequest, Swap
from payments.swaps.redelivery import follow_again
from payments.swaps.status import Delivered
from payments.verification.finality import flag_reorged
from tests.support.payments.rows import new_payment
from tests.support.payments.scripted_nodes import ScriptedNodes, mined, transfer_to
from webhooks.models import Event


def swap(request: PaymentRequest, **columns: Any) -> Payment:
    """A completed swap that paid the request."""
    payment = new_payment(
        request=request,
        chain=request.chain,
        transaction_hash=f"0x{1:064x}",
        type="swap",
        status="completed",
        completed_at=timezone.now(),
        amount_received=request.amount,
        provider="lifi",
        **columns,
    )
    flag_reorged(payment)
    return Payment.objects.get(pk=payment.pk)


def test_swap_on_one_chain_is_not_polled_after_a_reorganisation(
    request_for: Callable[..., PaymentRequest],
) -> None:
    payment = swap(request_for())
    assert (payment.reorged, payment.swap.next_poll_at) == (True, None)


def test_swap_with_a_delivery_is_polled_after_a_reorganisation(
    request_for: Callable[..., PaymentRequest],
) -> None:
    payment = swap(request_for(), delivery_hash=f"0x{2:064x}")
    assert payment.swap.next_poll_at is not None


def test_poll_of_a_swap_without_a_delivery_is_the_last(request_for: Callable[..., PaymentRequest]) -> None:
    payment, claim = swap(request_for()), uuid.uuid4()
    Swap.objects.update(next_poll_at=timezone.now(), claim_id=claim, lease_until=timezone.now())
    follow_again(payment, None, claim, lambda _: pytest.fail("a node was queried"), timezone.now())
    row = Swap.objects.get()
    assert (row.next_poll_at, row.claim_id, row.lease_until) == (None, None, None)


@pytest.mark.parametrize("more", [0, 5])
def test_event_has_the_amount_of_the_new_delivery(
    request_for: Callable[..., PaymentRequest], more: int
) -> None:
    request, now = request_for(), timezone.now()
    PaymentRequest.objects.filter(pk=request.pk).update(status="completed", amount_paid=request.amount)
    payment, claim, again = swap(request, delivery_hash=f"0x{2:064x}"), uuid.uuid4(), f"0x{3:064x}"
    old = {"first_block_time": now - timedelta(days=1), "first_block_number": 7}
    Lookup.objects.filter(of_swap=payment.pk).update(**old)
    Swap.objects.update(claim_id=claim, lease_until=now)
    nodes, amount = ScriptedNodes(), request.amount + more
    nodes.has(mined(again, transfer_to(request, amount, references=False)))
    follow_again(payment, Delivered(again, amount), claim, nodes.of, now)
    payment.refresh_from_db()
    assert (payment.reorged, payment.amount_received) == (False, amount)
    body = json.loads(Event.objects.filter(type="payment.reorged").latest("created").body)
    assert int(body["data"]["object"]["amount"]) == amount
    delivery = Lookup.objects.get(of_swap=payment.pk)
    assert (delivery.transaction_hash, delivery.first_block_number) == (again, 100)
