"""A stranger submits a customer's id first, with other accounts or as a hash. The execution is still found."""

from collections.abc import Callable
from typing import Any

import pytest
from eth_account import Account as EthAccount
from eth_utils.crypto import keccak

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from chains.models import Token
from payments.models import Payment, PaymentRequest
from payments.submission.proposals import MAX_ACCOUNTS
from tests.conftest import Api
from tests.integration.threats.accounts.test_proposals import FAILURE, SUCCESS, forger
from tests.support.payments.proposing import Account, Customer, Proposed, accounts, proposal, search, verify
from tests.support.payments.world import Clock, look
from tests.support.threats.evm_world import World, transfer_data

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
KINDS = ["safe 1.3.0", "safe 1.4.1", "operation 0.7"]


def stolen(
    customer: Customer, account: Account, thiefs: list[str], *, as_hash: bool = False
) -> tuple[Proposed, str]:
    """Have the account's signers sign, and a thief submit the id first with these accounts; return the
    customer's route.
    """
    route_id = customer.route(account.address)
    proposed = proposal(account, customer.build(route_id))
    for thief in thiefs:
        assert customer.submit(proposed.id, customer.route(thief)).status_code in (200, 201)
    if as_hash:
        assert customer.submit(proposed.id, None).status_code == 201
    return proposed, route_id


def pay_all(request: PaymentRequest, clock: Clock) -> list[Payment]:
    """Search and verify until every payment is decided or waits for signers."""
    for payment in request.payments.all():
        verify(payment, clock, looks=3)
    look(clock)
    for payment in request.payments.all():
        verify(payment, clock, looks=3)
    request.refresh_from_db()
    return list(request.payments.order_by("created_at"))


@pytest.mark.parametrize("is_native", [False, True], ids=["token", "native coin"])
@pytest.mark.parametrize("kind", KINDS)
def test_id_that_a_thief_submitted_first_is_found(
    world: World, ask: Ask, public: Api, ether: Token, kind: str, is_native: bool
) -> None:
    request, clock = ask("0.01", ether) if is_native else ask(), Clock()
    customer = Customer(public, request)
    proposed, route_id = stolen(customer, accounts(world, kind), [world.safe().address])
    again = customer.submit(proposed.id, route_id)
    assert (again.status_code, again.json()["status"]) == (200, "pending")
    sent = proposed.execute()
    payments = pay_all(request, clock)
    assert request.status == PaymentRequest.Status.COMPLETED
    assert [each.transaction_hash for each in payments if each.status == "completed"] == [sent]


def test_id_that_a_thief_submitted_as_a_hash_is_found(
    world: World, ask: Ask, public: Api, ether: Token
) -> None:
    request, clock = ask("0.01", ether), Clock()
    customer = Customer(public, request)
    proposed, route_id = stolen(customer, world.safe(), [], as_hash=True)
    assert not request.payments.get().lookup.is_awaited
    assert customer.submit(proposed.id, route_id).status_code == 200
    payment = request.payments.get()
    assert (payment.lookup.is_awaited, payment.status_detail) == (True, "Waiting for the other signers")
    assert look(clock) == 0, "it uses no retry"
    sent = proposed.execute()
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert (payment.transaction_hash, payment.replaced_hashes) == (sent, [proposed.id])


def test_hash_submitted_as_id_counts_while_logs_are_missing(
    world: World, ask: Ask, public: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before our nodes know a customer's hash, a thief submits it as the proposal of the thief's account."""
    request, clock, key = ask(), Clock(), world.stranger()
    customer = Customer(public, request)
    sender = EthAccount.from_key(key).address
    raw = world.chain.sign(customer.build(customer.route(sender)), key)
    hash_ = "0x" + keccak(raw).hex()
    assert customer.submit(hash_, None).status_code == 201
    assert customer.submit(hash_, customer.route(world.safe().address)).status_code == 200
    payment = request.payments.get()
    assert payment.lookup.is_awaited
    assert world.chain.send_raw("0x" + raw.hex()) == hash_

    def fail(*_: Any, **__: Any) -> Any:
        raise ChainError("no logs")

    monkeypatch.setattr(EvmClient, "find_executions", fail)
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert payment.lookup.proposal_id == ""


def test_operation_is_found_whatever_account_was_submitted(world: World, ask: Ask, public: Api) -> None:
    """An EntryPoint computes the id itself. So its event counts even if the account is not in the list."""
    request, clock = ask(), Clock()
    thiefs = [world.safe().address for _ in range(MAX_ACCOUNTS)]
    customer = Customer(public, request)
    proposed, _ = stolen(customer, world.account(), thiefs)
    sent = proposed.execute()
    payment = verify(request.payments.get(), clock)
    assert (payment.status, payment.transaction_hash) == (Payment.Status.COMPLETED, sent)


@pytest.mark.parametrize("event", [SUCCESS, FAILURE], ids=["success", "failure"])
@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
def test_thiefs_event_of_a_stolen_id_hides_no_execution(
    world: World, ask: Ask, public: Api, event: bytes, is_first: bool
) -> None:
    """The thief's account logs the id in a real payment of one unit, before or after the customer's page
    submits the id.
    """
    request, clock = ask(), Clock()
    customer, account = Customer(public, request), world.safe()
    route_id = customer.route(account.address)
    proposed = proposal(account, customer.build(route_id))
    hostile = forger(world, [event, bytes.fromhex(proposed.id[2:])], bytes(32))
    customer.submit(proposed.id, customer.route(hostile))
    meddler = world.safe()
    unit = transfer_data(request.recipient_address, 1, bytes(request.reference))
    if not is_first:
        customer.submit(proposed.id, route_id)
    meddler.send(meddler.multi_send((world.chain.usdc, 0, unit), (hostile, 0, b"")))
    world.chain.mine(3)
    pay_all(request, clock)
    assert request.status == PaymentRequest.Status.ACTIVE
    if is_first:
        assert customer.submit(proposed.id, route_id).status_code in (200, 201)
        assert customer.submit(proposed.id, route_id).status_code == 200
    sent = proposed.execute()
    payments = pay_all(request, clock)
    assert request.status == PaymentRequest.Status.COMPLETED
    assert sent in [each.transaction_hash for each in payments if each.status == "completed"]


def test_account_that_built_the_payment_replaces_another(
    world: World, ask: Ask, public: Api, ether: Token
) -> None:
    request, clock = ask("0.01", ether), Clock()
    thiefs = [world.safe().address for _ in range(MAX_ACCOUNTS + 2)]
    customer, account = Customer(public, request), world.safe()
    proposed, route_id = stolen(customer, account, thiefs)
    payment = request.payments.get()
    assert payment.lookup.proposal_accounts == thiefs[:MAX_ACCOUNTS]
    assert customer.submit(proposed.id, route_id).status_code == 200
    payment.lookup.refresh_from_db()
    assert payment.lookup.proposal_accounts == [*thiefs[: MAX_ACCOUNTS - 1], account.address]
    # Other accounts can't take this place again.
    assert customer.submit(proposed.id, customer.route(thiefs[-1])).status_code == 200
    payment.lookup.refresh_from_db()
    assert account.address in payment.lookup.proposal_accounts
    proposed.execute()
    pay_all(request, clock)
    assert request.status == PaymentRequest.Status.COMPLETED


def test_failure_of_a_thiefs_account_is_reopened_by_the_customer(
    world: World, ask: Ask, public: Api, ether: Token
) -> None:
    request, clock = ask("0.01", ether), Clock()
    customer, account = Customer(public, request), world.safe()
    route_id = customer.route(account.address)
    proposed = proposal(account, customer.build(route_id))
    hostile = forger(world, [FAILURE, bytes.fromhex(proposed.id[2:])], bytes(32))
    customer.submit(proposed.id, customer.route(hostile))
    world.call(hostile)
    world.chain.mine(70)
    payment = search(request.payments.get(), clock)
    assert payment.failure_code == "transaction_reverted"
    again = customer.submit(proposed.id, route_id)
    assert (again.status_code, again.json()["status"]) == (200, "pending")
    proposed.execute()
    pay_all(request, clock)
    assert request.status == PaymentRequest.Status.COMPLETED
