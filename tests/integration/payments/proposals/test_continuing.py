"""A proposal's execution is verified like any transaction, even if its block is reorganised away."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from eth_account import Account
from eth_utils.crypto import keccak

from chains.models import Chain
from payments.models import DiscoveryCursor, Payment, PaymentRequest
from payments.requests.lifecycle import is_held, lock_request
from payments.verification.reopening import reopen
from tests.conftest import Api
from tests.integration.threats.accounts.test_proposals import FAILURE, SUCCESS, forger, logging, made_up
from tests.support.payments.proposing import Customer, search, verify
from tests.support.payments.world import Clock, look, unsigned
from tests.support.threats.evm_world import World, transfer_data
from tests.support.threats.real_accounts import ENTRY_POINTS, execute, handle_ops
from tests.verifying import discover_due

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]


def looked(payment: Payment, clock: Clock) -> Payment:
    look(clock)
    payment.refresh_from_db()
    return payment


def test_execution_after_days_is_verified_for_another_day(
    world: World, ask: Ask, public: Api, chain: Chain
) -> None:
    chain.confirmations = "5"
    chain.save()
    request, clock = ask(), Clock()
    proposed, payment = Customer(public, request).propose(world.safe())
    Payment.objects.update(verifying_since=timezone.now() - timedelta(days=2))
    proposed.execute()
    search(payment, clock)
    assert looked(payment, clock).status == Payment.Status.PROCESSING
    world.chain.mine(5)
    assert verify(payment, clock).status == Payment.Status.COMPLETED


def test_reopened_execution_that_is_gone_holds_nothing(world: World, ask: Ask, public: Api) -> None:
    request, clock, account = ask(), Clock(), world.safe()
    customer = Customer(public, request)
    before = world.chain.rpc("evm_snapshot")
    plain = account.execution(world.chain.usdc, transfer_data(request.recipient_address, request.amount))
    customer.submit(account.proposed, customer.route(account.address))
    payment = request.payments.get()
    account.send(plain)
    assert verify(payment, clock).failure_code == "transaction_not_bound"
    lock_request(request.pk)
    reopen(payment, actor="test", reason="signed", is_in_flight=True, bound_by=Payment.BoundBy.PAYER)
    assert is_held(request, timezone.now())
    world.chain.revert(before)
    looked(payment, clock)
    assert (payment.status, payment.lookup.is_awaited) == (Payment.Status.PENDING, True)
    assert not is_held(request, timezone.now())


@pytest.mark.parametrize("logs_again", [True, False])
def test_transaction_that_is_mined_again_keeps_its_first_block(
    world: World, ask: Ask, public: Api, chain: Chain, logs_again: bool
) -> None:
    """The bundler's account logged the id in the first block. The payment in the bundle counts both times."""
    chain.confirmations = "5"
    chain.save()
    request, clock, payer, other = ask(), Clock(), world.account(), world.account()
    hostile = forger(world, [SUCCESS, bytes.fromhex(made_up(7)[2:])], bytes(32))
    customer = Customer(public, request)
    customer.submit(made_up(7), customer.route(hostile))
    payment = request.payments.get()
    call = customer.build(customer.route(payer.address))
    paying = payer.operation(execute(call["to"], 0, bytes.fromhex(call["data"][2:])))
    meddling = other.operation(execute(hostile, 0, b""))
    before = world.chain.rpc("evm_snapshot")
    sent = world.call(ENTRY_POINTS["0.7"], handle_ops(meddling, paying))
    raw = world.chain.rpc("eth_getRawTransactionByHash", sent)
    search(payment, clock)
    assert looked(payment, clock).is_in_flight
    first = payment.lookup.first_block_time
    world.chain.revert(before)
    if not logs_again:
        world.chain.rpc("anvil_setCode", hostile, "0x00")
    clock.forward(seconds=5)
    assert looked(payment, clock).status == Payment.Status.PENDING
    assert world.chain.rpc("eth_sendRawTransaction", raw) == sent
    world.chain.mine(5)
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert (payment.transaction_hash, payment.lookup.first_block_time) == (sent, first)


@pytest.mark.parametrize("name", [SUCCESS, FAILURE], ids=["success", "failure"])
@pytest.mark.parametrize("found_by", ["customer", "merchant", "discovery"])
def test_hash_that_an_account_logged_as_its_proposal_counts(
    world: World, ask: Ask, public: Api, api: Api, name: bytes, found_by: str
) -> None:
    """A thief sees the transaction before our nodes do, and submits its hash as a proposal's id."""
    request, clock, thief = ask(), Clock(), Account.create().address
    customer = Customer(public, request)
    customer.build(customer.route(world.chain.payer))
    DiscoveryCursor.objects.create(
        chain=request.chain, next_block=int(world.chain.rpc("eth_blockNumber"), 16)
    )
    raw = world.chain.sign(unsigned(world.chain, request), world.stranger())
    hash_ = "0x" + keccak(raw).hex()
    world.chain.rpc("anvil_setCode", thief, logging([name, bytes.fromhex(hash_[2:])], bytes(32)))
    assert customer.submit(hash_, customer.route(thief)).status_code == 201
    world.call(thief)
    assert verify(request.payments.get(), clock).status == Payment.Status.FAILED
    world.chain.send_raw("0x" + raw.hex())
    if found_by == "customer":
        assert customer.submit(hash_, None).status_code in (200, 201)
    elif found_by == "merchant":
        body = {"transaction_hash": hash_, "chain_id": request.chain_id}
        assert api.post(f"/api/payment-requests/{request.pk}/payments", body).status_code in (200, 201)
    else:
        discover_due(now=clock)
    payment = request.payments.get(transaction_hash=hash_)
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert customer.submit(hash_, None).json()["id"] == payment.pk


@pytest.mark.parametrize("found_by", ["customer", "merchant"])
def test_hash_that_an_account_logged_in_a_real_payment_counts(
    world: World, ask: Ask, public: Api, api: Api, found_by: str
) -> None:
    """In one transaction, the thief pays a small amount and logs the customer's hash.

    So the thief's payment completes.
    """
    request, clock = ask(), Clock()
    customer, thief, other = Customer(public, request), world.account(), world.account()
    raw = world.chain.sign(unsigned(world.chain, request), world.stranger())
    hash_ = "0x" + keccak(raw).hex()
    hostile = forger(world, [SUCCESS, bytes.fromhex(hash_[2:])], bytes(32))
    customer.submit(hash_, customer.route(hostile))
    coin = transfer_data(request.recipient_address, 1) + request.reference
    paying = thief.operation(execute(world.chain.usdc, 0, coin))
    meddling = other.operation(execute(hostile, 0, b""))
    world.contracts.send(ENTRY_POINTS["0.7"], handle_ops(paying, meddling))
    assert verify(request.payments.get(), clock).status == Payment.Status.COMPLETED
    world.chain.send_raw("0x" + raw.hex())
    if found_by == "customer":
        assert customer.submit(hash_, None).status_code == 201
    else:
        body = {"transaction_hash": hash_, "chain_id": request.chain_id}
        assert api.post(f"/api/payment-requests/{request.pk}/payments", body).status_code == 201
    payment = request.payments.get(transaction_hash=hash_)
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert customer.submit(hash_, None).json()["id"] == payment.pk
    request.refresh_from_db()
    assert request.amount_paid == request.amount + 1


def test_known_hash_counts_although_an_account_logged_it(world: World, ask: Ask, public: Api) -> None:
    request, clock, thief = ask(), Clock(), Account.create().address
    customer = Customer(public, request)
    raw = world.chain.sign(unsigned(world.chain, request), world.stranger())
    hash_ = "0x" + keccak(raw).hex()
    world.chain.rpc("anvil_setCode", thief, logging([FAILURE, bytes.fromhex(hash_[2:])], bytes(32)))
    assert customer.submit(hash_, customer.route(thief)).status_code == 201
    world.call(thief)
    world.chain.send_raw("0x" + raw.hex())
    assert verify(request.payments.get(), clock).status == Payment.Status.COMPLETED
