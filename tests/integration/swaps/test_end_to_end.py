"""From the first click to the webhook: swaps through the public API, on real chains, with a real aggregator."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from chains.models import Token
from demo.aggregator.contracts import ROUTER
from tests.support.payments.world import Clock
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.paying import Customer, quotes_asked
from tests.support.swaps.world import EURC, SwapWorld
from tests.verifying import follow_swaps, verify_due
from webhooks.models import Event

Send = Callable[[Any], str]


def pay(customer: Customer, route: dict[str, Any], send: Send) -> str:
    """Approve if necessary, sign and send the route's transaction, submit its hash; return the hash."""
    for unsigned in customer.approval(route)["transactions"]:
        send(unsigned)
    built = customer.built(route)
    assert (built["binding"], built["payer_proof"]) == ("provider", None)
    sent = send(built["transaction"])
    customer.submit(sent, route)
    return sent


def follow(customer: Customer, world: SwapWorld, sent: str) -> dict[str, Any]:
    """Run the workers until the request is completed; return the state that the page sees."""
    clock = Clock()
    verify_due(now=clock)
    world.aggregator.delivered(sent)
    for _ in range(60):
        verify_due(now=clock)
        follow_swaps(now=clock)
        state = customer.state()
        if state["status"] == "completed":
            return state
        assert [payment["failure_message"] for payment in state["payments"]] == [None]
        clock.forward(seconds=10)
    raise AssertionError(f"still {state['status']}: {state['payments']}")


def on_solana(world: SwapWorld, symbol: str) -> Token:
    if world.solana_row is None:
        pytest.skip("Surfnet has no build for this machine.")
    return world.token(world.solana_row, symbol)


def check_paid(customer: Customer, state: dict[str, Any], sent: str, route: dict[str, Any]) -> None:
    """Check everything that the customer and the merchant see after a swap has paid the request."""
    (payment,) = state["payments"]
    assert (payment["status"], payment["type"], payment["bound_by"]) == ("completed", "swap", "provider")
    assert (payment["provider"], payment["chain_id"]) == ("lifi", route["from"]["chain_id"])
    assert payment["destination_chain_id"] == state["chain_id"]
    assert payment["transaction_hash"] == sent
    assert payment["token"]["symbol"] == route["from"]["token"]["symbol"]
    if payment["chain_id"] == payment["destination_chain_id"]:
        assert payment["destination_transaction_hash"] == sent
    else:
        assert payment["destination_transaction_hash"] not in (None, sent)
    assert int(payment["amount_received"]["raw"]) >= int(state["amount"]["raw"])
    assert int(state["amount_paid"]["raw"]) == int(payment["amount_received"]["raw"])
    event = Event.objects.get(type="payment.succeeded")
    told = json.loads(bytes(event.body))["data"]["object"]
    assert (told["id"], told["status"]) == (payment["id"], "succeeded")
    assert told["amount"] == int(payment["amount_received"]["raw"])
    assert told["currency"] == state["token"]["symbol"]
    assert told["transaction_hash"] == sent


def test_native_coin_pays_for_a_token_on_another_chain(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"))
    before = swap_world.second.token_balance(swap_world.second.usdc, swap_world.second.recipient)
    route = customer.routes(swap_world.token(swap_world.first_row, "ETH"))[0]
    sent = pay(customer, route, swap_world.first.send)
    state = follow(customer, swap_world, sent)
    check_paid(customer, state, sent, route)
    after = swap_world.second.token_balance(swap_world.second.usdc, swap_world.second.recipient)
    assert after - before == int(state["amount_paid"]["raw"])
    assert quotes_asked(swap_world) == 2


def test_a_token_that_has_to_be_reset_pays_on_another_chain(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    usdt = swap_world.token(swap_world.first_row, "USDT")
    swap_world.approve(swap_world.first, usdt.contract_address, 0)
    swap_world.approve(swap_world.first, usdt.contract_address, 7)
    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"), amount="25")
    route = customer.routes(usdt)[0]
    assert len(customer.approval(route)["transactions"]) == 2
    sent = pay(customer, route, swap_world.first.send)
    check_paid(customer, follow(customer, swap_world, sent), sent, route)
    data = "0xdd62ed3e" + "".join(each[2:].lower().rjust(64, "0") for each in (customer.wallet, ROUTER))
    left = swap_world.first.rpc("eth_call", {"to": usdt.contract_address, "data": data}, "latest")
    assert int(left, 16) == 0, "the approval was exact"


def test_token_listed_only_by_provider_pays_for_native_coin(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    customer = new_customer(swap_world.token(swap_world.second_row, "ETH"), amount="0.004")
    route = customer.routes(EURC, swap_world.first_row)[0]
    sent = pay(customer, route, swap_world.first.send)
    check_paid(customer, follow(customer, swap_world, sent), sent, route)


def test_one_token_pays_for_another_on_the_same_chain(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    dai = swap_world.token(swap_world.first_row, "DAI")
    customer = new_customer(swap_world.token(swap_world.first_row, "USDC"))
    route = customer.routes(dai)[0]
    assert [step["type"] for step in route["steps"]][1] == "swap"
    sent = pay(customer, route, swap_world.first.send)
    clock = Clock()
    for _ in range(20):
        verify_due(now=clock)
        follow_swaps(now=clock)
        if (state := customer.state())["status"] == "completed":
            break
        clock.forward(seconds=5)
    check_paid(customer, state, sent, route)


def test_from_an_evm_chain_to_solana(new_customer: NewCustomer, swap_world: SwapWorld) -> None:
    usdc = on_solana(swap_world, "USDC")
    assert swap_world.solana is not None
    recipient = str(swap_world.solana.new_wallet(lamports=10**9, usdc=1).pubkey())
    customer = new_customer(usdc, recipient=recipient)
    route = customer.routes(swap_world.token(swap_world.first_row, "DAI"))[0]
    sent = pay(customer, route, swap_world.first.send)
    swap_world.solana.finalize(str(swap_world.aggregator.delivered(sent).delivery.hash))
    check_paid(customer, follow(customer, swap_world, sent), sent, route)


@pytest.mark.parametrize("symbol", ["USDC", "SOL"])
def test_from_solana_to_an_evm_chain(new_customer: NewCustomer, swap_world: SwapWorld, symbol: str) -> None:
    token = on_solana(swap_world, symbol)
    ledger = swap_world.solana
    assert ledger is not None
    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"), wallet=ledger.payer)
    route = customer.routes(token)[0]
    assert [step["type"] for step in route["steps"]] == ["bridge", "transfer"], (
        "nothing is approved on Solana"
    )
    sent = pay(customer, route, lambda unsigned: ledger.finalize(ledger.sign_and_send(unsigned)))
    check_paid(customer, follow(customer, swap_world, sent), sent, route)
