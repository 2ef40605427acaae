"""If a completed execution is reorganised away, the service searches for its proposal again."""

from collections.abc import Callable

import pytest

from chains.models import Token
from payments.models import Lookup, Payment, PaymentRequest
from payments.verification.finality import CHECKS_BEFORE_ALERT
from tests.conftest import Api
from tests.support.payments.proposing import Customer, Proposed, accounts, search, verify
from tests.support.payments.world import Clock, look
from tests.support.threats.evm_world import World
from tests.verifying import check_finality, search_proposals
from webhooks.models import Event

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]


def gone(world: World, customer: Customer, kind: str, clock: Clock) -> tuple[Proposed, Payment]:
    """Execute a proposal and complete its payment, then reorganise its transaction away."""
    proposed, payment = customer.propose(accounts(world, kind))
    before = world.chain.rpc("evm_snapshot")
    proposed.execute()
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    world.chain.revert(before)
    for _ in range(CHECKS_BEFORE_ALERT):
        world.chain.mine(70)
        clock.forward(minutes=3)
        check_finality(now=clock)
    payment.refresh_from_db()
    assert payment.reorged
    return proposed, payment


@pytest.mark.parametrize("kind", ["safe 1.3.0", "safe 1.4.1", "operation 0.7"])
def test_proposal_that_is_executed_again_is_paid_anew(
    world: World, ask: Ask, public: Api, ether: Token, kind: str
) -> None:
    request, clock = ask("0.01", ether), Clock()
    customer = Customer(public, request)
    proposed, payment = gone(world, customer, kind, clock)
    search(payment, clock)
    assert request.payments.count() == 1
    shown = public.get(customer.path).json()["payments"][0]
    assert (shown["status"], shown["is_awaiting_signers"]) == ("completed", False)
    sent = proposed.execute(world.stranger())
    world.chain.mine(5)
    search(payment, clock)
    look(clock)
    again = request.payments.get(transaction_hash=sent)
    assert again.status == Payment.Status.COMPLETED
    request.refresh_from_db()
    assert (request.amount_paid, request.net) == (2 * request.amount, request.amount)
    payment.refresh_from_db()
    assert (payment.reorged, payment.lookup.proposal_check_at) == (True, None)
    assert search_proposals(now=clock) == 0


def test_search_for_a_removed_execution_ends_after_a_day(
    world: World, ask: Ask, public: Api, ether: Token
) -> None:
    request, clock = ask("0.01", ether), Clock()
    _, payment = gone(world, Customer(public, request), "safe 1.4.1", clock)
    count = Event.objects.count()
    clock.forward(hours=25)
    assert search_proposals(now=clock) == 1
    payment.refresh_from_db()
    assert (payment.status, payment.reorged) == (Payment.Status.COMPLETED, True)
    assert Lookup.objects.get().proposal_check_at is None
    assert Event.objects.count() == count


def test_search_ends_when_the_execution_is_mined_again(
    world: World, ask: Ask, public: Api, ether: Token
) -> None:
    request, clock = ask("0.01", ether), Clock()
    customer = Customer(public, request)
    proposed, payment = customer.propose(world.safe())
    before = world.chain.rpc("evm_snapshot")
    sent = proposed.execute()
    raw = world.chain.rpc("eth_getRawTransactionByHash", sent)
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    world.chain.revert(before)
    for _ in range(CHECKS_BEFORE_ALERT):
        world.chain.mine(70)
        clock.forward(minutes=3)
        check_finality(now=clock)
    assert Lookup.objects.get().proposal_check_at is not None
    assert world.chain.rpc("eth_sendRawTransaction", raw) == sent
    world.chain.mine(70)
    clock.forward(minutes=3)
    check_finality(now=clock)
    payment.refresh_from_db()
    assert (payment.reorged, payment.lookup.proposal_check_at) == (False, None)
    assert request.payments.count() == 1
