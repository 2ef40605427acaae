"""If no node knows a hash, its ten lookups have growing delays. Then the payment fails, and can be retried."""

from collections.abc import Callable

import pytest
from eth_utils.crypto import keccak

from config.api.errors import ApiError
from payments.models import Payment, PaymentRequest
from payments.submission.hashes import retry_payment
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look, look_until_decided, submit, unsigned
from tests.verifying import check_finality
from webhooks.models import Event

UNKNOWN = "0x" + "ab" * 32


def test_it_is_looked_for_eleven_times_with_doubling_pauses(
    request_for: Callable[..., PaymentRequest],
) -> None:
    payment, clock, pauses = submit(request_for(), UNKNOWN), Clock(), []
    for look_number in range(11):
        assert look(clock) == 1
        payment.refresh_from_db()
        if look_number < 10:
            assert (payment.status, payment.attempts) == (Payment.Status.PROCESSING, look_number + 1)
            pauses.append((payment.lookup.next_check_at - clock()).total_seconds())
            assert look(clock) == 0, "looked before it was due"
            clock.forward(seconds=pauses[-1] + 0.01)
    for number, pause in enumerate(pauses):
        assert 5 * 2**number - 1 <= pause <= 5 * 2**number * 1.1
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "transaction_not_found")
    assert Event.objects.filter(type="payment.failed").count() == 1


def test_one_that_turns_up_late_is_credited(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    raw = local_chain.sign(unsigned(local_chain, request))
    payment = submit(request, "0x" + keccak(raw).hex())
    look(clock)
    payment.refresh_from_db()
    assert payment.attempts == 1
    local_chain.send_raw("0x" + raw.hex())
    assert look_until_decided(payment, clock, looks=2).status == Payment.Status.COMPLETED


def test_a_failed_one_is_retried_three_times_in_all(request_for: Callable[..., PaymentRequest]) -> None:
    payment, clock = submit(request_for(), UNKNOWN), Clock()
    for retries in range(3):
        look_until_decided(payment, clock)
        assert payment.retries_left == 3 - retries
        retried = retry_payment(payment, actor="test")
        assert (retried.status, retried.attempts, retried.failure_code) == (Payment.Status.PENDING, 0, "")
    look_until_decided(payment, clock)
    with pytest.raises(ApiError) as refusal:
        retry_payment(payment, actor="test")
    assert refusal.value.problems[0].code == "retry_limit_reached"
    payment.refresh_from_db()
    assert (payment.status, payment.retries) == (Payment.Status.FAILED, 3)
    assert Event.objects.filter(type="payment.failed").count() == 1, "anyone can make up a hash"


def test_submitting_it_again_reopens_it_once(request_for: Callable[..., PaymentRequest]) -> None:
    request, clock = request_for(), Clock()
    payment = look_until_decided(submit(request, UNKNOWN), clock)
    assert submit(request, UNKNOWN).status == Payment.Status.PENDING
    look_until_decided(payment, clock)
    again = submit(request, UNKNOWN)
    assert (again.pk, again.status) == (payment.pk, Payment.Status.FAILED)
    assert again.retries_left == 2


def test_a_no_in_a_final_block_is_not_retryable(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, 10_000_000)
    payment = look_until_decided(submit(request, sent), clock)
    assert payment.retries_left == 3, "a reorganisation can still turn it"
    local_chain.mine(70)
    clock.forward(minutes=3)
    assert check_finality(now=clock) == 1
    payment.refresh_from_db()
    assert (payment.status, payment.retries_left) == ("failed", 0)
    with pytest.raises(ApiError) as refusal:
        retry_payment(payment, actor="test")
    assert refusal.value.problems[0].code == "payment_not_retryable"
    assert submit(request, sent).status == Payment.Status.FAILED
