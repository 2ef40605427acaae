"""One request gets payments, refunds, cancellations and acceptances, all at the same moment."""

import random
import secrets
from collections.abc import Callable
from typing import Any

import pytest

from chains.models import Chain
from config.api.errors import ApiError
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.reading import now, with_request
from payments.refunds.services import cancel_refund, create_refund
from payments.requests.lifecycle import cancel_request
from payments.submission.hashes import submit_for_merchant
from payments.submission.merchant_acceptance import accept_payment
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, look, pay
from tests.threads import at_once
from tests.verifying import verify_due
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 200
UNIT = 500_000
"""A twentieth of the request, in base units of USDC."""


def look_until_none_is_open(clock: Clock) -> None:
    for _ in range(60):
        look(clock)
        waiting = Payment.objects.filter(status__in=Payment.OPEN).order_by("lookup__next_check_at").first()
        if waiting is None:
            return
        assert waiting.lookup.next_check_at is not None
        clock.forward(seconds=max((waiting.lookup.next_check_at - clock()).total_seconds(), 0) + 0.01)
    raise AssertionError("payments are still open")


def refunds_of(request: PaymentRequest) -> list[Any]:
    return now(with_request(Refund.objects.filter(request=request)))


def send(api: Api, chain: LocalChain, refund: Refund) -> None:
    """As the merchant, sign and send the refund; submit its hash."""
    built = api.post(f"/api/refunds/{refund.pk}/build", {"wallet_address": chain.payer})
    assert built.status_code == 200, built.content
    sent = chain.send(built.json()["transaction"])
    assert api.post(f"/api/refunds/{refund.pk}/submit", {"transaction_hash": sent}).status_code == 200


def test_200_threads_leave_one_request_consistent_with_the_chain(
    api: Api,
    chain: Chain,
    local_chain: LocalChain,
    request_for: Callable[..., PaymentRequest],
) -> None:
    request, customer = request_for("10"), chain.family.normalise_address(f"0x{secrets.token_hex(20)}")
    bound = [pay(local_chain, request, UNIT * (1 + number % 3)) for number in range(16)]
    plain = [local_chain.transfer(local_chain.usdc, request.recipient_address, UNIT) for _ in range(4)]

    def submit(hash_: str) -> Any:
        return submit_for_merchant(request, chain=chain, transaction_hash=hash_, actor="test")

    def refund(number: int) -> Any:
        return create_refund(
            request.pk,
            amount=UNIT * (1 + number % 4),
            recipient_address=customer,
            payment_id=None,
            reason=None,
            actor="test",
        )

    def cancel_some() -> None:
        for refund in Refund.objects.filter(request=request, cancelled_at=None)[:2]:
            cancel_refund(refund, actor="test")

    def accept_some() -> None:
        for payment in request.payments.exclude(status__in=Payment.OPEN):
            try:
                accept_payment(payment, reason="at once", actor="test")
            except ApiError:
                continue

    jobs: list[Callable[[], Any]] = [lambda hash_=hash_: submit(hash_) for hash_ in [*bound, *plain] * 3]
    jobs += [lambda number=number: refund(number) for number in range(40)]
    jobs += [cancel_some] * 20 + [accept_some] * 20 + [verify_due] * 40
    jobs += [lambda: cancel_request(request.pk, actor="test")] * (THREADS - len(jobs))
    random.Random(1).shuffle(jobs)
    assert len(jobs) == THREADS
    # Two rounds: refunds need a request that has ended, and the first round ends it.
    for _ in range(2):
        results = at_once(jobs)
        assert {type(result) for result in results if isinstance(result, Exception)} <= {ApiError}
    clock = Clock()
    look_until_none_is_open(clock)
    for current in refunds_of(request):
        if current.standing.is_open:
            send(api, local_chain, current.refund)
    look_until_none_is_open(clock)

    request.refresh_from_db()
    credited = request.payments.filter(status=Payment.Status.COMPLETED)
    hashes = {*bound, *credited.filter(bound_by="manual").values_list("transaction_hash", flat=True)}
    assert {payment.transaction_hash for payment in credited} == hashes
    assert request.amount_paid == sum(payment.amount_received or 0 for payment in credited)
    refunded = local_chain.token_balance(local_chain.usdc, customer)
    assert (request.refund_totals.completed, request.refund_totals.open) == (refunded, 0)
    assert request.net == request.amount_paid - refunded >= 0
    shown = api.get(f"/api/payment-requests/{request.id}").json()
    assert (shown["amount_refunded"]["raw"], shown["amount_refund_open"]["raw"]) == (str(refunded), "0")
    ended = [each for each in refunds_of(request) if each.standing.status == Refund.Status.COMPLETED]
    assert refunded == sum(each.refund.amount for each in ended)
    assert Event.objects.filter(type="payment.succeeded").count() == 1
    assert request.status in ("completed", "cancelled")
