"""T-02: an attacker who watches the wallet submits other people's payments as his own, before and after them."""

from collections.abc import Callable

import pytest

from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look, make_request, pay, submit
from tests.verifying import verify_due

Make = Callable[..., PaymentRequest]


def decided(payment: Payment) -> Payment:
    look(Clock())
    payment.refresh_from_db()
    return payment


@pytest.mark.parametrize("first", ["attacker", "payer"])
def test_the_attacker_never_wins_and_the_payer_always_does(
    request_for: Make, local_chain: LocalChain, first: str
) -> None:
    honest, attackers = request_for(), request_for()
    sent = pay(local_chain, honest)
    order = (attackers, honest) if first == "attacker" else (honest, attackers)
    payments = {request.pk: submit(request, sent) for request in order}
    assert decided(payments[honest.pk]).status == Payment.Status.COMPLETED
    assert decided(payments[attackers.pk]).failure_code == "transaction_not_bound"


def test_also_when_the_attacker_is_another_merchants_customer(
    request_for: Make, local_chain: LocalChain, other_merchant: Merchant
) -> None:
    honest = request_for()
    attackers = make_request(other_merchant, honest.token, "10", honest.recipient_address)
    sent = pay(local_chain, honest)
    assert decided(submit(attackers, sent)).failure_code == "transaction_not_bound"
    assert decided(submit(honest, sent)).status == Payment.Status.COMPLETED


def test_a_claim_that_failed_burns_nothing(request_for: Make, local_chain: LocalChain) -> None:
    honest = request_for()
    sent = pay(local_chain, honest)
    for _ in range(4):
        assert decided(submit(request_for(), sent)).failure_code == "transaction_not_bound"
    assert decided(submit(honest, sent)).amount_received == honest.amount


def test_a_plain_transfer_that_somebody_sent_anyway_belongs_to_nobody(
    request_for: Make, local_chain: LocalChain
) -> None:
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, 10_000_000)
    assert decided(submit(request_for(), sent)).failure_code == "transaction_not_bound"
    assert verify_due() == 0
