"""An undecided payment waits: in the pool, below the required depth, or without a node. Waiting uses no retry."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from chains.models import Chain
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look, look_until_decided, pay, submit

DEAD_NODE = "http://127.0.0.1:9"


@pytest.fixture
def not_mining(local_chain: LocalChain) -> Iterator[None]:
    """A chain that accepts transactions but mines none."""
    local_chain.rpc("evm_setAutomine", False)
    yield
    local_chain.rpc("evm_setAutomine", True)
    local_chain.mine()


def check_now(payment: Payment, clock: Clock) -> Payment:
    """Set the clock to the next lookup and run it."""
    payment.refresh_from_db()
    assert payment.lookup.next_check_at
    clock.forward(seconds=max((payment.lookup.next_check_at - clock()).total_seconds(), 0) + 0.01)
    assert look(clock) == 1
    payment.refresh_from_db()
    return payment


def needs(chain: Chain, confirmations: str) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations=confirmations)


def test_it_waits_for_the_depth_that_the_chain_asks_for(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, chain: Chain
) -> None:
    needs(chain, "4")
    request, clock = request_for(), Clock()
    payment = submit(request, pay(local_chain, request))
    for depth in (1, 2, 3):
        check_now(payment, clock)
        assert (payment.status, payment.lookup.confirmations) == (Payment.Status.PROCESSING, depth)
        assert payment.status_detail == f"In a block; {depth} of 4 confirmations."
        assert (payment.lookup.confirmations_required, payment.is_in_flight) == (4, True)
        assert not ConsumedTransfer.objects.exists()
        local_chain.mine()
    assert check_now(payment, clock).status == Payment.Status.COMPLETED
    assert payment.attempts == 0


def test_it_waits_for_the_block_that_the_network_calls_finalized(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, chain: Chain
) -> None:
    needs(chain, "finalized")
    request, clock = request_for(), Clock()
    payment = submit(request, pay(local_chain, request))
    check_now(payment, clock)
    assert (payment.status, payment.lookup.confirmations_required) == (Payment.Status.PROCESSING, None)
    assert "finalized" in payment.status_detail
    local_chain.mine(70)  # two epochs of 32 slots
    assert check_now(payment, clock).status == Payment.Status.COMPLETED


@pytest.mark.usefixtures("not_mining")
def test_in_the_pool_it_is_seen_but_not_in_flight(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    payment = submit(request, pay(local_chain, request))
    for _ in range(12):
        check_now(payment, clock)
    assert (payment.status, payment.attempts) == (Payment.Status.PROCESSING, 0)
    assert (payment.lookup.block_number, payment.is_in_flight) == (None, False)
    assert payment.status_detail == "Seen by the network; not in a block yet."


def test_dead_nodes_use_no_retry_and_pause_at_most_5_minutes(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, chain: Chain
) -> None:
    request, clock = request_for(), Clock()
    payment = submit(request, pay(local_chain, request))
    Chain.objects.filter(pk=chain.pk).update(rpc_urls=[DEAD_NODE])
    for _ in range(15):
        check_now(payment, clock)
        assert payment.lookup.next_check_at
        assert payment.lookup.next_check_at - clock() <= timedelta(minutes=5)
    assert (payment.status, payment.attempts) == (Payment.Status.PROCESSING, 0)
    assert "have not answered since" in payment.status_detail
    Chain.objects.filter(pk=chain.pk).update(rpc_urls=[local_chain.url])
    assert check_now(payment, clock).status == Payment.Status.COMPLETED


def test_payment_fails_retryable_after_a_day_without_response(
    request_for: Callable[..., PaymentRequest], chain: Chain
) -> None:
    request, clock = request_for(), Clock()
    Chain.objects.filter(pk=chain.pk).update(rpc_urls=[DEAD_NODE])
    payment = submit(request, "0x" + "cd" * 32)
    check_now(payment, clock)
    clock.forward(hours=23, minutes=50)
    assert check_now(payment, clock).status == Payment.Status.PROCESSING
    clock.forward(minutes=10)
    check_now(payment, clock)
    assert (payment.failure_code, payment.retries_left) == ("verification_timed_out", 3)


def test_reorganisation_before_the_depth_returns_it_to_waiting(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, chain: Chain
) -> None:
    needs(chain, "3")
    request, clock = request_for(), Clock()
    sent = pay(local_chain, request)
    raw = local_chain.rpc("eth_getRawTransactionByHash", sent)
    payment = submit(request, sent)
    check_now(payment, clock)
    first_block = payment.lookup.block_hash
    local_chain.reorganise()
    check_now(payment, clock)
    assert payment.status == Payment.Status.PROCESSING
    assert (payment.lookup.confirmations, payment.is_in_flight) == (0, False)
    assert not ConsumedTransfer.objects.exists()
    if local_chain.rpc("eth_getTransactionByHash", sent) is None:
        local_chain.rpc("eth_sendRawTransaction", raw)
    local_chain.mine(3)
    look_until_decided(payment, clock)
    assert payment.status == Payment.Status.COMPLETED
    assert payment.lookup.block_hash != first_block
    assert ConsumedTransfer.objects.count() == 1
