"""Concurrent calls: each transfer counts once, each request ends once, and each event is sent once.

Threads with their own connections run against real PostgreSQL and start at the same signal.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from chains.models import Chain
from config.api.errors import ApiError
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from payments.requests.lifecycle import cancel_request, expire_due
from tests.chain import LocalChain
from tests.support.payments.world import pay, submit
from tests.threads import at_once
from tests.verifying import verify_due
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)

Status = PaymentRequest.Status
THREADS = 200


def test_many_workers_verify_one_payment_once(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    requests = [request_for() for _ in range(5)]
    for request in requests:
        submit(request, pay(local_chain, request))
    looks = at_once([verify_due] * THREADS)
    assert sum(looks) == 5
    assert PaymentRequest.objects.filter(status=Status.COMPLETED, amount_paid=10_000_000).count() == 5
    assert ConsumedTransfer.objects.count() == Event.objects.filter(type="payment.succeeded").count() == 5
    assert Transition.objects.filter(payment=None, to_status="completed").count() == 5


def test_the_same_hash_submitted_at_once_is_one_payment(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    sent = pay(local_chain, request)
    payments = at_once([lambda: submit(request, sent)] * THREADS)
    assert len({payment.pk for payment in payments}) == Payment.objects.count() == 1


def test_concurrent_submissions_open_at_most_five_payments(
    request_for: Callable[..., PaymentRequest],
) -> None:
    request = request_for()
    results = at_once([lambda n=n: submit(request, "0x" + f"{n:064x}") for n in range(1, 41)])
    refused = [result for result in results if isinstance(result, ApiError)]
    assert Payment.objects.count() == 5
    assert len(refused) == 35
    assert {error.problems[0].code for error in refused} == {"too_many_open_payments"}


@pytest.mark.parametrize("rival", ["expiry", "cancellation"])
def test_paying_against_the_end_of_a_request_has_one_winner(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, chain: Chain, rival: str
) -> None:
    now = timezone.now()
    requests = [request_for("0.000001") for _ in range(25)]
    for request in requests:
        payment = submit(request, pay(local_chain, request))
        # The payment is so old that it doesn't hold the request.
        Payment.objects.filter(pk=payment.pk).update(created_at=now - timedelta(hours=1))
    PaymentRequest.objects.update(expires_at=now, expiry_check_at=now)
    ending = (
        [expire_due] * (THREADS // 2)
        if rival == "expiry"
        else [
            lambda r=r: cancel_request(r.pk, actor="test") for r in requests * (THREADS // 2 // len(requests))
        ]
    )
    at_once([*ending, *[verify_due] * (THREADS // 2)])
    at_once([verify_due] * 2)
    for request in PaymentRequest.objects.all():
        assert request.amount_paid == 1, "what arrived counts, whoever won"
        assert request.status in (Status.COMPLETED, Status.CANCELLED)
        ends = list(
            Transition.objects.filter(request=request, payment=None).values_list("to_status", flat=True)
        )
        assert ends in (["active", "completed"], ["active", "expired", "completed"], ["active", "cancelled"])
        succeeded = Event.objects.filter(type="payment.succeeded", dedupe_key=str(request.id))
        assert succeeded.count() == 1
    assert ConsumedTransfer.objects.count() == len(requests)
