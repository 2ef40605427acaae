"""A contract account's wallet returns an id instead of a hash. The service finds the execution by this id."""

from collections.abc import Callable

import pytest

from chains.models import Token
from payments.models import Payment, PaymentRequest
from tests.conftest import Api
from tests.support.payments.proposing import Customer, accounts, search, verify
from tests.support.payments.world import Clock, look
from tests.support.threats.evm_world import World
from webhooks.models import Event

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
KINDS = ["safe 1.3.0", "safe 1.4.1", "safe 1.5.0", "operation 0.6", "operation 0.7", "operation 0.8"]
WAITING = "Waiting for the other signers"


def events(request: PaymentRequest) -> list[str]:
    rows = Event.objects.filter(merchant=request.merchant).order_by("pk")
    return list(rows.values_list("type", flat=True))


def is_waiting(payment: Payment) -> bool:
    return (payment.status, payment.status_detail, payment.attempts) == ("pending", WAITING, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_proposal_waits_and_then_pays_with_tokens(
    world: World, ask: Ask, public: Api, kind: str, either_node: bool
) -> None:
    request, clock = ask(), Clock()
    proposed, payment = Customer(public, request).propose(accounts(world, kind))
    assert is_waiting(payment)
    for _ in range(3):
        assert look(clock) == 0
        assert is_waiting(search(payment, clock))
    sent = proposed.execute()
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert (payment.transaction_hash, payment.replaced_hashes) == (sent, [proposed.id])
    assert payment.bound_by == "reference"
    request.refresh_from_db()
    assert request.status == PaymentRequest.Status.COMPLETED
    assert events(request) == ["payment.succeeded"]


@pytest.mark.parametrize("kind", ["safe 1.3.0", "safe 1.4.1", "operation 0.7"])
def test_proposal_pays_with_native_coin(world: World, ask: Ask, public: Api, ether: Token, kind: str) -> None:
    request, clock = ask("0.01", ether), Clock()
    proposed, payment = Customer(public, request).propose(accounts(world, kind))
    assert is_waiting(search(payment, clock))
    sent = proposed.execute()
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert (payment.transaction_hash, payment.bound_by) == (sent, "reference")
