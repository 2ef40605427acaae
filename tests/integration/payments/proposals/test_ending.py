"""The search for an execution ends if the execution failed, was reorganised away or never came."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from chains.models import Chain
from payments.models import FailureCode, Payment, PaymentRequest
from payments.requests.lifecycle import cancel_request, is_held
from payments.submission.hashes import record_discovered, retry_payment
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.proposing import Customer, accounts, search, verify
from tests.support.payments.world import Clock, look, submit
from tests.support.threats.evm_world import World
from tests.verifying import check_finality, search_proposals
from webhooks.models import Event

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
FAILING = "The account's call failed; waiting for confirmations."


def fails(kind: str) -> dict[str, int]:
    """Return the options that have a failing call executed anyway."""
    return {"safe_gas": 100_000} if kind.startswith("safe") else {}


def types(request: PaymentRequest) -> list[str]:
    return list(Event.objects.filter(merchant=request.merchant).values_list("type", flat=True))


@pytest.mark.parametrize("kind", ["safe 1.3.0", "safe 1.4.1", "operation 0.7"])
def test_failed_execution_decides_at_the_required_depth(
    world: World, ask: Ask, public: Api, chain: Chain, kind: str
) -> None:
    chain.confirmations = "3"
    chain.save()
    request, account, clock = ask(), accounts(world, kind), Clock()
    proposed, payment = Customer(public, request).propose(account, **fails(kind))
    world.contracts.chain.rpc("anvil_setBalance", account.address, hex(10**18))
    empty(world, account.address)
    sent = proposed.execute()
    search(payment, clock)
    assert (payment.status, payment.status_detail) == (Payment.Status.PROCESSING, FAILING)
    assert not is_held(request, clock())
    assert not types(request)
    world.chain.mine(3)
    search(payment, clock)
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "transaction_reverted")
    assert (payment.transaction_hash, payment.lookup.transaction_hash) == (proposed.id, sent)
    assert types(request) == ["payment.failed"]
    assert payment.retries_left > 0, "its block is not final"


def empty(world: World, address: str) -> None:
    """Remove all tokens from the account, without its signers."""
    rpc, balance = world.chain.rpc, world.chain.token_balance(world.chain.usdc, address)
    rpc("anvil_impersonateAccount", address)
    data = "0xa9059cbb" + ("dead" * 10).rjust(64, "0") + hex(balance)[2:].rjust(64, "0")
    rpc("eth_sendTransaction", {"from": address, "to": world.chain.usdc, "data": data, "gas": hex(100_000)})
    rpc("anvil_stopImpersonatingAccount", address)
    world.chain.mine()
    assert world.chain.token_balance(world.chain.usdc, address) == 0


def test_failure_reorganised_before_its_depth_waits_again(
    world: World, ask: Ask, public: Api, chain: Chain
) -> None:
    chain.confirmations = "3"
    chain.save()
    request, account, clock = ask(), world.safe(), Clock()
    proposed, payment = Customer(public, request).propose(account, safe_gas=100_000)
    before = world.chain.rpc("evm_snapshot")
    empty(world, account.address)
    proposed.execute()
    assert search(payment, clock).likely_failure == "transaction_reverted"
    world.chain.revert(before)
    assert search(payment, clock).status == Payment.Status.PENDING
    assert (payment.status_detail, payment.likely_failure) == ("Waiting for the other signers", "")
    sent = proposed.execute()
    world.chain.mine(3)
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert payment.transaction_hash == sent
    assert types(request) == ["payment.succeeded"]


def test_reorganised_failure_is_searched_for_again(world: World, ask: Ask, public: Api) -> None:
    request, account, clock = ask(), world.safe(), Clock()
    proposed, payment = Customer(public, request).propose(account, safe_gas=100_000)
    before = world.chain.rpc("evm_snapshot")
    empty(world, account.address)
    proposed.execute()
    assert search(payment, clock).failure_code == "transaction_reverted"
    world.chain.revert(before)
    for _ in range(3):
        clock.forward(minutes=3)
        check_finality(now=clock)
    payment.refresh_from_db()
    assert payment.status == Payment.Status.PENDING
    sent = proposed.execute()
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert payment.transaction_hash == sent


@pytest.mark.parametrize("kind", ["safe 1.4.1", "operation 0.7"])
def test_reorganisation_resumes_the_search_without_an_event(
    world: World, ask: Ask, public: Api, chain: Chain, kind: str
) -> None:
    chain.confirmations = "5"
    chain.save()
    request, clock = ask(), Clock()
    proposed, payment = Customer(public, request).propose(accounts(world, kind))
    before = world.chain.rpc("evm_snapshot")
    first = proposed.execute()
    search(payment, clock)
    look(clock)
    payment.refresh_from_db()
    assert (payment.status, payment.transaction_hash, payment.is_in_flight) == ("processing", first, True)
    world.chain.revert(before)
    clock.forward(seconds=5)
    look(clock)
    payment.refresh_from_db()
    assert (payment.status, payment.status_detail) == ("pending", "Waiting for the other signers")
    assert (payment.is_in_flight, payment.attempts, payment.lookup.is_awaited) == (False, 0, True)
    assert not types(request)
    again = proposed.execute(key=world.stranger())
    world.chain.mine(5)
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert payment.transaction_hash == again != first
    assert payment.replaced_hashes == [proposed.id, first]
    assert types(request) == ["payment.succeeded"]


def test_search_ends_a_day_after_the_request_without_an_event(world: World, ask: Ask, public: Api) -> None:
    request, clock = ask(), Clock()
    proposed, payment = Customer(public, request).propose(world.safe())
    cancel_request(request.pk, actor="test")
    clock.forward(hours=23)
    search_proposals(now=clock)
    payment.refresh_from_db()
    assert payment.status == Payment.Status.PENDING
    clock.forward(hours=1, minutes=1)
    search_proposals(now=clock)
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("failed", FailureCode.TRANSACTION_NOT_FOUND)
    assert types(request) == []
    sent = proposed.execute()
    retry_payment(payment, actor="test")
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert payment.transaction_hash == sent


def test_proposal_holds_nothing_and_keeps_the_ways_to_pay(
    world: World, ask: Ask, public: Api, local_chain: LocalChain
) -> None:
    request = ask()
    customer, account = Customer(public, request), world.safe()
    customer.propose(account)
    assert not is_held(request, timezone.now())
    assert customer.build(customer.route(account.address))
    request.expires_at = timezone.now() - timedelta(seconds=1)
    assert not is_held(request, timezone.now())
    assert cancel_request(request.pk, actor="test").status == PaymentRequest.Status.CANCELLED


@pytest.mark.parametrize("by", ["customer", "discovery"])
def test_payment_of_the_executing_transaction_absorbs_the_id(
    world: World, ask: Ask, public: Api, by: str
) -> None:
    request, clock = ask(), Clock()
    customer = Customer(public, request)
    proposed, payment = customer.propose(world.safe())
    sent = proposed.execute()
    if by == "customer":
        other = submit(request, sent)
    else:
        record_discovered(request, chain=request.chain, transaction_hash=sent)
        other = Payment.objects.get(request=request, transaction_hash=sent)
    look(clock)
    search(payment, clock)
    other.refresh_from_db()
    assert (other.status, other.replaced_hashes) == (Payment.Status.COMPLETED, [proposed.id])
    assert (payment.status, payment.failure_code) == ("failed", "transaction_replaced")
    assert types(request) == ["payment.succeeded"]
    answer = customer.submit(proposed.id, None)
    assert (answer.status_code, answer.json()["id"]) == (200, other.pk)
