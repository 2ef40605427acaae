"""A person requests a lookup now. It runs earlier and costs no attempt. Only the chain decides the result."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from config.api.errors import ApiError
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from payments.submission.rechecking import Recheck, check_now
from tests.chain import LocalChain
from tests.support.payments.rows import change
from tests.support.payments.world import Clock, look, look_until_decided, pay, submit
from tests.verifying import check_finality, claim_due

Make = Callable[..., PaymentRequest]


def test_a_waiting_payment_is_due_at_once_and_no_attempt_is_lost(request_for: Make, chain: object) -> None:
    payment = submit(request_for(), "0x" + "ab" * 32)
    clock = Clock()
    for _ in range(4):
        look(clock)
        payment.refresh_from_db()
        assert payment.lookup.next_check_at
        clock.forward(seconds=(payment.lookup.next_check_at - clock()).total_seconds() + 0.01)
    assert payment.attempts == 4
    change(Payment.objects, next_check_at=timezone.now() + timedelta(minutes=5))
    assert check_now(payment, actor="test") is Recheck.BROUGHT_FORWARD
    assert check_now(payment, actor="test") is Recheck.DUE_ALREADY, "a second click changes nothing"
    assert look() == 1
    payment.refresh_from_db()
    assert (payment.status, payment.attempts) == ("processing", 4)


def test_a_look_under_way_is_left_alone(request_for: Make) -> None:
    payment = submit(request_for(), "0x" + "ab" * 32)
    lease, _ = claim_due(timezone.now())
    change(Payment.objects, next_check_at=timezone.now() + timedelta(minutes=5))
    assert check_now(payment, actor="test") is Recheck.DUE_ALREADY
    payment.refresh_from_db()
    assert payment.lookup.claim_id == lease.claim_id


def test_a_failed_payment_is_retried(request_for: Make) -> None:
    payment = look_until_decided(submit(request_for(), "0x" + "ab" * 32), Clock())
    assert payment.failure_code == "transaction_not_found"
    assert check_now(payment, actor="admin alice") is Recheck.REOPENED
    payment.refresh_from_db()
    last = Transition.objects.latest("id")
    assert (payment.status, payment.retries, last.actor) == ("pending", 1, "admin alice")


def test_a_failure_that_can_not_change_stays(request_for: Make) -> None:
    payment = look_until_decided(submit(request_for(), "0x" + "ab" * 32), Clock())
    Payment.objects.update(failure_code="wrong_recipient")
    with pytest.raises(ApiError):
        check_now(payment, actor="test")
    assert Payment.objects.get().status == "failed"


def test_rechecking_completed_payment_changes_no_amounts(request_for: Make, local_chain: LocalChain) -> None:
    request = request_for()
    payment = look_until_decided(submit(request, pay(local_chain, request)), Clock())
    change(Payment.objects, finality_check_at=None, finality_misses=2)
    before = request.__class__.objects.values("status", "amount_paid").get()
    assert check_now(payment, actor="test") is Recheck.AT_FINALITY
    assert check_now(payment, actor="test") is Recheck.DUE_ALREADY
    assert check_finality() == 1
    payment.refresh_from_db()
    assert (payment.status, payment.reorged) == ("completed", False)
    assert PaymentRequest.objects.values("status", "amount_paid").get() == before
    assert ConsumedTransfer.objects.count() == 1


def test_one_blank_answer_to_a_person_is_no_alarm(request_for: Make, local_chain: LocalChain) -> None:
    request = request_for()
    payment = look_until_decided(submit(request, pay(local_chain, request)), Clock())
    change(Payment.objects, finality_check_at=None, finality_misses=2)
    local_chain.reorganise()
    local_chain.rpc("anvil_dropTransaction", payment.transaction_hash)
    local_chain.mine(70)
    check_now(payment, actor="test")
    check_finality()
    payment.refresh_from_db()
    assert (payment.reorged, payment.lookup.finality_misses) == (False, 1)
