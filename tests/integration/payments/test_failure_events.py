"""`payment.failed` is sent once per request for hashes that anyone can submit, and always for the request's own
payments.
"""

from collections.abc import Callable

import pytest

from chains.models import Chain
from payments.models import Payment, PaymentRequest
from payments.submission.hashes import record_discovered, retry_payment, submit_for_merchant
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look, look_until_decided, pay, submit
from webhooks.models import Event

Make = Callable[..., PaymentRequest]
AMOUNT = 10_000_000


def failures() -> int:
    return Event.objects.filter(type="payment.failed").count()


def unbound(chain: LocalChain) -> str:
    return chain.transfer(chain.usdc, chain.recipient, AMOUNT)


def test_what_nothing_binds_sends_one_event_per_request(request_for: Make, local_chain: LocalChain) -> None:
    request, other, clock = request_for(), request_for(), Clock()
    hashes = [
        unbound(local_chain),
        unbound(local_chain),
        local_chain.transfer(local_chain.dai, local_chain.recipient, AMOUNT),
        local_chain.transfer(local_chain.usdc, local_chain.payer, AMOUNT),
    ]
    for sent in hashes:
        assert look_until_decided(submit(request, sent), clock).status == "failed"
    assert failures() == 1
    request.refresh_from_db()
    assert request.unbound_failure_sent
    look_until_decided(submit(other, hashes[0]), clock)
    assert failures() == 2, "another request has an event of its own"


def test_a_merchants_retry_of_such_a_one_sends_no_other(request_for: Make, local_chain: LocalChain) -> None:
    request, clock = request_for(), Clock()
    payment = look_until_decided(submit(request, unbound(local_chain)), clock)
    retried = look_until_decided(retry_payment(payment, actor="test"), clock)
    assert (retried.status, retried.retries, failures()) == ("failed", 1, 1)


@pytest.mark.parametrize("way", ["merchant", "discovery"])
def test_merchant_or_service_submission_sends_event_each_time(
    request_for: Make, local_chain: LocalChain, way: str
) -> None:
    request, clock = request_for(), Clock()
    look_until_decided(submit(request, unbound(local_chain)), clock)
    for _ in range(2):
        sent = unbound(local_chain)
        if way == "merchant":
            submit_for_merchant(request, chain=request.chain, transaction_hash=sent, actor="test")
        else:
            record_discovered(request, chain=request.chain, transaction_hash=sent)
        look_until_decided(Payment.objects.get(transaction_hash=sent), clock)
    assert failures() == 3


def test_a_transaction_that_was_bound_sends_an_event_each_time(
    request_for: Make, local_chain: LocalChain, chain: Chain
) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations="3")
    request, clock = request_for(), Clock()
    look_until_decided(submit(request, "0x" + "ab" * 32), clock)
    assert failures() == 1
    payment = submit(request, pay(local_chain, request))
    look(clock)
    payment.refresh_from_db()
    assert payment.is_in_flight
    local_chain.reorganise()
    local_chain.rpc("anvil_dropTransaction", payment.transaction_hash)
    look_until_decided(payment, clock)
    assert failures() == 2
    look_until_decided(retry_payment(payment, actor="test"), clock)
    assert failures() == 3


def test_discovered_payment_is_reverified_only_if_not_found(
    request_for: Make, local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    sent = unbound(local_chain)
    record_discovered(request, chain=request.chain, transaction_hash=sent)
    payment = look_until_decided(Payment.objects.get(), clock)
    for code, status in (("not_verifiable", "failed"), ("transaction_not_found", "pending")):
        Payment.objects.filter(pk=payment.pk).update(failure_code=code)
        record_discovered(request, chain=request.chain, transaction_hash=sent)
        payment.refresh_from_db()
        assert payment.status == status, code
