"""After a reorganisation, a swap's provider is polled only if it may deliver again."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from payments.models import Payment, PaymentRequest, Swap
from payments.swaps.redelivery import follow_again
from payments.verification.finality import flag_reorged
from tests.support.payments.rows import new_payment


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
