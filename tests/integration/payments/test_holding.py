"""Only a payment that a node knows can hold a request, and only for a limited time. It also hides the ways to pay."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from config.api.errors import ApiError
from payments.models import Payment, PaymentRequest
from payments.requests.lifecycle import (
    HELD_EXPIRY_PAUSE,
    cancel_request,
    covering_payment,
    expire_due,
    is_held,
)
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, look, pay, submit

Make = Callable[..., PaymentRequest]
UNKNOWN = "0x" + "ef" * 32
AMOUNT = 10_000_000


@pytest.fixture
def not_mining(local_chain: LocalChain) -> Iterator[None]:
    """A chain that accepts transactions but mines none."""
    local_chain.rpc("evm_setAutomine", False)
    yield
    local_chain.rpc("evm_setAutomine", True)
    local_chain.mine()


def waiting(request: PaymentRequest, transaction_hash: str, clock: Clock) -> Payment:
    payment = submit(request, transaction_hash)
    look(clock)
    payment.refresh_from_db()
    return payment


def details(public: Api, request: PaymentRequest) -> dict[str, object]:
    answer: dict[str, object] = public.get(f"/api/public/payment-requests/{request.id}").json()
    return answer


@pytest.mark.usefixtures("each_kind")
def test_a_made_up_hash_takes_no_way_to_pay_away(
    public: Api, request_for: Make, local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    payment = waiting(request, UNKNOWN, clock)
    assert (payment.lookup.seen_at, payment.is_bound) == (None, False)
    assert covering_payment(request, clock()) is None
    answer = public.post(
        f"/api/public/payment-requests/{request.id}/routes",
        {"wallet_address": local_chain.payer, "chain_id": request.chain_id, "token_id": request.token_id},
    )
    assert (answer.status_code, len(answer.json()["routes"])) == (200, 1)
    (shown,) = details(public, request)["payments"]  # type: ignore[misc]
    assert (shown["is_seen"], shown["is_bound"], shown["likely_failure"]) == (False, False, None)
    page = public.get(f"/pay/{request.shortcode}")
    assert b'data-state="active"' in page.content


def test_unseen_hashes_hold_for_two_minutes_from_the_first(request_for: Make) -> None:
    request = request_for(lifetime=timedelta(minutes=30))
    first = submit(request, UNKNOWN)
    now = timezone.now()
    assert is_held(request, now)
    submit(request, "0x" + "11" * 32)
    Payment.objects.filter(pk=first.pk).update(created_at=now - timedelta(minutes=2, seconds=1))
    assert not is_held(request, now), "the second one does not begin another two minutes"
    cancel_request(request.pk, actor="test")


@pytest.mark.usefixtures("each_kind", "not_mining")
def test_self_bound_transaction_holds_and_covers_for_15_minutes(
    public: Api, request_for: Make, local_chain: LocalChain
) -> None:
    request, clock = request_for(lifetime=timedelta(minutes=1)), Clock()
    payment = waiting(request, pay(local_chain, request), clock)
    assert (payment.is_bound_unmined, payment.is_in_flight, payment.amount) == (True, False, AMOUNT)
    assert payment.held_from is not None
    assert payment.lookup.seen_at is not None
    assert payment.bound_by == "reference"
    assert covering_payment(request, clock()) == payment
    (shown,) = details(public, request)["payments"]  # type: ignore[misc]
    assert (shown["is_seen"], shown["is_bound"]) == (True, True)
    with pytest.raises(ApiError):
        cancel_request(request.pk, actor="test")
    assert expire_due(payment.held_from + timedelta(minutes=14, seconds=59)) == 0
    after = payment.held_from + timedelta(minutes=15)
    assert covering_payment(request, after) is None
    assert expire_due(after + HELD_EXPIRY_PAUSE) == 1


@pytest.mark.usefixtures("not_mining")
def test_hold_of_15_minutes_counts_from_first_bound_transaction(
    request_for: Make, local_chain: LocalChain
) -> None:
    request, clock = request_for(lifetime=timedelta(minutes=30)), Clock()
    first = waiting(request, pay(local_chain, request), clock)
    now = timezone.now()
    Payment.objects.filter(pk=first.pk).update(
        status="failed", is_bound_unmined=False, held_from=now - timedelta(minutes=15)
    )
    second = waiting(request, pay(local_chain, request), clock)
    assert second.is_bound_unmined
    assert not is_held(request, now), "counted from the first, which has failed since"
    Payment.objects.filter(pk=first.pk).update(held_from=None)
    Payment.objects.filter(pk=second.pk).update(held_from=request.expires_at)
    assert is_held(request, request.expires_at + timedelta(minutes=14, seconds=59))
    assert not is_held(request, request.expires_at + timedelta(minutes=15))


@pytest.mark.usefixtures("each_kind", "not_mining")
def test_a_seen_transaction_that_does_not_bind_holds_nothing(
    request_for: Make, local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, AMOUNT)
    payment = waiting(request, sent, clock)
    assert (payment.is_bound_unmined, payment.held_from) == (False, None)
    assert payment.lookup.seen_at is not None
    assert not is_held(request, clock())
    assert covering_payment(request, clock()) is None
    cancel_request(request.pk, actor="test")


def test_what_covers_a_part_leaves_the_ways_to_pay_the_rest(
    request_for: Make, local_chain: LocalChain, chain: object
) -> None:
    request, clock = request_for(), Clock()
    request.chain.confirmations = "3"
    request.chain.save(update_fields=["confirmations"])
    payment = waiting(request, pay(local_chain, request, AMOUNT // 2), clock)
    assert payment.is_in_flight
    assert covering_payment(request, clock()) is None
    other = waiting(request, pay(local_chain, request, AMOUNT // 2), clock)
    assert other.is_in_flight
    assert covering_payment(request, clock()) in (payment, other)
