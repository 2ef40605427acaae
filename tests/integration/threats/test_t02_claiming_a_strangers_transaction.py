"""An attacker submits strangers' transactions as payments of the attacker's request."""

from collections.abc import Callable

import pytest

from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look, pay, submit

Make = Callable[..., PaymentRequest]


def decided(payment: Payment) -> Payment:
    look(Clock())
    payment.refresh_from_db()
    return payment


@pytest.mark.parametrize("first", ["attacker", "payer"])
def test_transaction_pays_its_payer_and_never_the_attacker(
    request_for: Make, local_chain: LocalChain, first: str
) -> None:
    honest, attackers = request_for(), request_for()
    sent = pay(local_chain, honest)
    order = (attackers, honest) if first == "attacker" else (honest, attackers)
    payments = {request.pk: submit(request, sent) for request in order}
    assert decided(payments[honest.pk]).status == Payment.Status.COMPLETED
    assert decided(payments[attackers.pk]).failure_code == "transaction_not_bound"
