"""One hash is submitted for 60 requests at once, in every spelling. It pays only the request that it is bound to."""

from collections.abc import Callable

import pytest

from chains.families import family_of
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.support.payments.world import pay, submit
from tests.threads import at_once
from tests.verifying import verify_due
from webhooks.models import Event

THREADS = 60


@pytest.mark.django_db(transaction=True)
def test_one_hash_for_many_requests_pays_the_bound_request(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    requests = [request_for() for _ in range(THREADS)]
    bound = requests[37]
    sent = pay(local_chain, bound)
    spellings = (sent, sent.upper().replace("0X", "0x"), f" {sent}\n", sent[2:], sent.upper())

    def submission(number: int) -> Callable[[], Payment]:
        spelled = family_of("evm").normalise_transaction_hash(spellings[number % len(spellings)])
        return lambda: submit(requests[number], spelled)

    at_once([submission(number) for number in range(THREADS)])
    at_once([verify_due] * 20)

    assert list(PaymentRequest.objects.filter(status="completed")) == [bound]
    assert Payment.objects.filter(failure_code="transaction_not_bound").count() == THREADS - 1
    assert ConsumedTransfer.objects.count() == 1
    assert Event.objects.filter(type="payment.succeeded").count() == 1


def test_repeated_lookups_credit_a_request_once(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    sent = pay(local_chain, request)
    for _ in range(3):
        submit(request, sent)
        verify_due()
    request.refresh_from_db()
    assert request.amount_paid == request.amount
    assert ConsumedTransfer.objects.count() == 1
