"""An unpaid request expires or can be cancelled, unless a payment holds it."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from chains.models import Chain
from config.api.errors import ApiError
from payments.models import PaymentRequest, Transition
from payments.requests.lifecycle import cancel_request, expire_due
from payments.submission.hashes import submit_for_merchant
from payments.submission.sightings import sight
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look, look_until_decided, pay, submit
from webhooks.models import Event

Status = PaymentRequest.Status


def test_a_request_expires_once_with_one_event(request_for: Callable[..., PaymentRequest]) -> None:
    request = request_for(lifetime=timedelta(minutes=1))
    late = timezone.now() + timedelta(minutes=1, seconds=1)
    assert expire_due(late - timedelta(seconds=30)) == 0
    assert [expire_due(late), expire_due(late)] == [1, 0]
    request.refresh_from_db()
    assert (request.status, request.expired_at) == (Status.EXPIRED, late)
    told = json.loads(bytes(Event.objects.get(type="payment.expired").body))["data"]["object"]
    assert (told["id"], told["amount"], told["status"]) == (None, 10_000_000, "expired")
    assert told["amount_paid"]["raw"] == "0"
    assert Transition.objects.get(request=request, to_status="expired").actor == "expiry"


def test_a_mined_payment_holds_expiry_off_until_it_is_decided(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, chain: Chain
) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations="3")
    request, clock = request_for(lifetime=timedelta(minutes=1)), Clock()
    payment = submit(request, pay(local_chain, request))
    look(clock)
    clock.forward(hours=2)
    assert expire_due(clock()) == 0
    local_chain.mine(3)
    look_until_decided(payment, clock)
    request.refresh_from_db()
    assert (request.status, request.paid_late) == (Status.COMPLETED, False), "its block is in time"


def test_cancelling_twice_is_no_error_and_one_change(request_for: Callable[..., PaymentRequest]) -> None:
    request = request_for()
    first = cancel_request(request.pk, actor="test")
    again = cancel_request(request.pk, actor="test")
    assert first.cancelled_at == again.cancelled_at
    assert Transition.objects.filter(request=request, to_status="cancelled").count() == 1
    assert not Event.objects.exists()


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.EXPIRED])
def test_an_ended_request_can_not_be_cancelled(
    request_for: Callable[..., PaymentRequest], status: PaymentRequest.Status
) -> None:
    request = request_for()
    PaymentRequest.objects.filter(pk=request.pk).update(status=status, amount_paid=request.amount)
    with pytest.raises(ApiError) as refusal:
        cancel_request(request.pk, actor="test")
    assert refusal.value.problems[0].code == "payment_request_not_active"
    request.refresh_from_db()
    assert (request.status, request.cancelled_at) == (status, None)


def test_a_payment_under_way_holds_cancellation_off(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, chain: Chain
) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations="3")
    request = request_for()
    submit(request, pay(local_chain, request))
    look(Clock())
    with pytest.raises(ApiError) as refusal:
        cancel_request(request.pk, actor="test")
    assert refusal.value.problems[0].code == "payment_in_progress"
    request.refresh_from_db()
    assert request.status == Status.ACTIVE


@pytest.mark.parametrize("is_mined", [True, False])
def test_bound_payment_blocks_cancel_before_its_first_check(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, is_mined: bool
) -> None:
    request = request_for()
    local_chain.rpc("evm_setAutomine", is_mined)
    try:
        hash_ = pay(local_chain, request)
        sighting = sight(request, request.chain, hash_, timezone.now())
    finally:
        local_chain.rpc("evm_setAutomine", True)
        local_chain.mine()
    assert sighting.is_mined == is_mined
    submit_for_merchant(request, chain=request.chain, transaction_hash=hash_, actor="test", sighting=sighting)
    with pytest.raises(ApiError) as refusal:
        cancel_request(request.pk, actor="test")
    assert refusal.value.problems[0].code == "payment_in_progress"
    request.refresh_from_db()
    assert request.status == Status.ACTIVE


def test_unbound_transaction_does_not_block_cancel(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    hash_ = pay(local_chain, request_for())
    sighting = sight(request, request.chain, hash_, timezone.now())
    submit_for_merchant(request, chain=request.chain, transaction_hash=hash_, actor="test", sighting=sighting)
    assert cancel_request(request.pk, actor="test").status == Status.CANCELLED
