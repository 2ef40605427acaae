"""Approval and swap in one atomic batch (EIP-5792) of an EIP-7702 account, with the API and the local aggregator."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from chains.models import Token
from demo.aggregator.contracts import ROUTER
from payments.models import Payment, PaymentRequest, Quote, Route
from tests import fault_proxy
from tests.fault_proxy import FaultProxy, proxying
from tests.support.payments.world import Clock
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.following import assert_nothing_counted, follow_until_decided
from tests.support.swaps.paying import Customer, code
from tests.support.swaps.world import SwapWorld
from tests.support.threats.evm_world import World, call_data
from tests.support.threats.real_accounts import (
    METAMASK_7702,
    SIMPLE_7702,
    DelegatedAccount,
    execute_batch,
    execute_by_mode,
    hidden,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Call = tuple[str, int, bytes]


@dataclass
class Paying:
    """A customer on the first chain whose account can execute batches."""

    customer: Customer
    account: DelegatedAccount
    token: Token

    def route(self) -> dict[str, Any]:
        return self.customer.routes(self.token)[0]

    def batch(self, route: dict[str, Any]) -> list[Call]:
        """Return the calls that the page sends to the wallet: the approvals, then the swap."""
        approvals = self.customer.approval(route)["transactions"]
        response = self.customer.build(route, batch=True)
        assert response.status_code == 200, response.content
        return [call_of(each) for each in (*approvals, response.json()["transaction"])]

    def pay(self, encode: Any = execute_batch) -> str:
        """Send the batch and submit its hash; return the payment's id."""
        route = self.route()
        sent = self.account.run(encode(*self.batch(route)))
        return str(self.customer.submit(sent, route)["id"])


def call_of(transaction: dict[str, Any]) -> Call:
    return transaction["to"], int(transaction["value"], 16), bytes.fromhex(transaction["data"][2:])


@pytest.fixture
def paying(swap_world: SwapWorld, new_customer: NewCustomer, world: World) -> Any:
    """Return a function that makes a customer with DAI or USDT, an account with this delegate, and a request."""

    def make(
        delegate: str = SIMPLE_7702, *, symbol: str = "DAI", across: bool = True, amount: str = "10.50"
    ) -> Paying:
        token = swap_world.token(swap_world.first_row, symbol)
        account = world.delegated(world.contracts.delegate(delegate))
        fund(world, token, account.address)
        requested = swap_world.token(swap_world.second_row if across else swap_world.first_row, "USDC")
        return Paying(new_customer(requested, amount, account.address), account, token)

    return make


def fund(world: World, token: Token, owner: str, whole: int = 1000) -> None:
    amount = whole * 10**token.decimals
    data = call_data("transfer(address,uint256)", owner, amount)
    assert world.succeeded(world.call(token.contract_address, data))


@pytest.fixture
def untraced(swap_world: SwapWorld, untraced_url: str) -> SwapWorld:
    swap_world.first_row.rpc_urls = [untraced_url]
    swap_world.first_row.save()
    return swap_world


def has_built_nothing() -> bool:
    return not (
        Route.objects.exclude(built_at=None).exists() or Quote.objects.exclude(built_at=None).exists()
    )


@pytest.mark.parametrize("across", [True, False], ids=["another chain", "same chain"])
@pytest.mark.parametrize(
    ("delegate", "encode"), [(SIMPLE_7702, execute_batch), (METAMASK_7702, execute_by_mode)]
)
def test_batch_of_approval_and_swap_pays_the_request(
    paying: Any, delegate: str, encode: Any, across: bool
) -> None:
    payment = follow_until_decided(paying(delegate, across=across).pay(encode), Clock())
    assert (payment.status, payment.type, payment.bound_by) == ("completed", "swap", "provider")
    assert payment.quote is not None
    assert payment.amount == payment.quote.amount_in
    assert PaymentRequest.objects.get().status == "completed"


def test_batch_resets_a_small_allowance_and_approves_exactly(paying: Any, world: World) -> None:
    """USDT changes an allowance only to or from zero. So there are three calls in one transaction."""
    customer = paying(symbol="USDT")
    small = call_data("approve(address,uint256)", ROUTER, 5)
    customer.account.run(execute_batch((customer.token.contract_address, 0, small)))
    route = customer.route()
    calls = customer.batch(route)
    assert [data[:4].hex() for _, _, data in calls[:2]] == ["095ea7b3", "095ea7b3"]
    assert len(calls) == 3
    sent = customer.account.run(execute_batch(*calls))
    assert world.succeeded(sent)
    payment = follow_until_decided(customer.customer.submit(sent, route)["id"], Clock())
    assert payment.status == "completed"


def test_relayed_batch_pays_by_the_calls_of_its_account(paying: Any, world: World) -> None:
    """Another account, such as a bundler or a relayer, sends the transaction.

    The delegate allows anyone to run batches.
    """
    customer = paying()
    customer.account.delegate_to(world.place("OpenBatch"))
    route = customer.route()
    batch = execute_batch(*customer.batch(route))
    sent = customer.account.run(batch, key=world.chain.payer_key)
    payment = follow_until_decided(customer.customer.submit(sent, route)["id"], Clock())
    assert (payment.status, payment.bound_by) == ("completed", "provider")


def test_delegate_that_skips_the_swap_pays_nothing(paying: Any, world: World) -> None:
    """The transaction contains the whole batch and succeeds. But the account's code makes another call."""
    customer = paying()
    customer.account.delegate_to(world.place("Impostor"))
    route = customer.route()
    approve = customer.batch(route)[0]
    sent = customer.account.run(hidden(execute_batch(*customer.batch(route)), approve[0], approve[2]))
    assert world.succeeded(sent)
    payment = follow_until_decided(customer.customer.submit(sent, route)["id"], Clock())
    assert_nothing_counted(payment, "transaction_not_bound")


def test_batch_pays_no_other_request(paying: Any) -> None:
    """Before the customer, a thief submits the hash of the customer's batch with the thief's own route."""
    customer, thief = paying(across=False), paying(across=False)
    route, stolen = customer.route(), thief.route()
    thief.batch(stolen)
    sent = customer.account.run(execute_batch(*customer.batch(route)))
    theft = follow_until_decided(thief.customer.submit(sent, stolen)["id"], Clock())
    assert (theft.status, theft.failure_code) == ("failed", "transaction_not_bound")
    payment = follow_until_decided(customer.customer.submit(sent, route)["id"], Clock())
    assert payment.status == "completed"
    assert PaymentRequest.objects.get(pk=thief.customer.order["id"]).amount_paid == 0


def test_swaps_of_two_requests_in_one_batch_each_pay_their_own(paying: Any) -> None:
    """A thief puts a victim's swap and a smaller one of the thief into one transaction."""
    victim, thief = paying(across=False), paying(across=False, amount="2")
    theirs, own = victim.route(), thief.route()
    approve = (thief.token.contract_address, 0, call_data("approve(address,uint256)", ROUTER, 10**21))
    sent = thief.account.run(execute_batch(approve, victim.batch(theirs)[-1], thief.batch(own)[-1]))
    payments = [
        follow_until_decided(each.customer.submit(sent, route)["id"], Clock())
        for each, route in ((thief, own), (victim, theirs))
    ]
    assert [payment.status for payment in payments] == ["completed", "completed"]
    assert [round(payment.amount_received / 10**6, 1) for payment in payments] == [2.0, 10.6]


@pytest.mark.parametrize("delegate", [SIMPLE_7702, METAMASK_7702])
def test_listed_account_batches_without_traces_across_chains(
    untraced: SwapWorld, paying: Any, delegate: str
) -> None:
    encode = execute_batch if delegate == SIMPLE_7702 else execute_by_mode
    payment = follow_until_decided(paying(delegate).pay(encode), Clock())
    assert (payment.status, payment.bound_by) == ("completed", "provider")


@pytest.mark.usefixtures("untraced")
def test_batch_is_refused_if_nothing_could_show_its_calls(
    paying: Any, world: World, new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    """Without traces, three batches can't be verified: on one chain, with unknown code, and without a delegation."""
    unknown, plain = paying(), paying()
    unknown.account.delegate_to(world.place("OpenBatch"))
    plain.account.delegate_to("0x" + "00" * 20)
    for each in (unknown, plain, paying(across=False)):
        route = each.route()
        assert code(each.customer.build(route, batch=True), 409) == "batch_unavailable"
    assert has_built_nothing()


@pytest.fixture
def node(swap_world: SwapWorld) -> Iterator[FaultProxy]:
    with proxying(swap_world.first.url) as node:
        swap_world.first_row.rpc_urls = [node.url]
        swap_world.first_row.save()
        yield node


def test_batch_that_no_node_simulates_is_refused(paying: Any, node: FaultProxy) -> None:
    customer = paying()
    route = customer.route()
    node.break_with(fault_proxy.lacking("eth_simulateV1"))
    assert code(customer.customer.build(route, batch=True), 409) == "batch_unavailable"
    assert has_built_nothing()


def test_batch_beyond_the_wallets_balance_is_refused(paying: Any, world: World) -> None:
    customer = paying()
    route = customer.route()
    away = call_data("transfer(address,uint256)", world.chain.recipient, 999 * 10**18)
    customer.account.run(execute_batch((customer.token.contract_address, 0, away)))
    assert code(customer.customer.build(route, batch=True), 409) == "insufficient_funds"
    assert has_built_nothing()


def test_batch_whose_simulation_fails_is_refused(paying: Any) -> None:
    customer = paying()
    route = customer.route()
    quote = Quote.objects.get(route_id=route["id"])
    quote.action["data"] = quote.action["data"][:8] + "ff" * 32
    quote.save()
    assert code(customer.customer.build(route, batch=True), 409) == "transaction_would_fail"
    assert has_built_nothing()


def test_approved_token_needs_no_batch_and_is_built_the_same(paying: Any) -> None:
    customer = paying()
    route = customer.route()
    approve = customer.customer.approval(route)["transactions"]
    customer.account.run(execute_batch(*map(call_of, approve)))
    batched = customer.customer.build(route, batch=True).json()["transaction"]
    alone = customer.customer.built(route)["transaction"]
    assert (batched["to"], batched["data"]) == (alone["to"], alone["data"])


def test_direct_and_native_routes_have_no_batch(new_customer: NewCustomer, swap_world: SwapWorld) -> None:
    customer = new_customer(swap_world.token(swap_world.first_row, "USDC"))
    for symbol in ("USDC", "ETH"):
        route = customer.routes(swap_world.token(swap_world.first_row, symbol))[0]
        response = customer.build(route, batch=True)
        assert code(response, 400) == "parameter_invalid"
        assert response.json()["error"]["param"] == "batch"
    assert has_built_nothing()
    assert not Payment.objects.exists()
