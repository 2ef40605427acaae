"""A request is paid with another token, by the public API, on real chains, with the local aggregator."""

import json

import pytest

from chains.models import Token
from demo.services import surfnet
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.support.payments.rows import delivery_hash
from tests.support.payments.world import Clock
from tests.support.solana.ledger import new_address
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.following import follow_until_decided, pay_by_swap
from tests.support.swaps.paying import Customer
from tests.support.swaps.world import SwapWorld
from webhooks.models import Event


def complete(world: SwapWorld, customer: Customer, paid_with: Token) -> Payment:
    """Pay, have the aggregator deliver, and look up the payment until it is verified."""
    payment_id, sent = pay_by_swap(world, customer, paid_with)
    delivery = world.aggregator.delivered(sent).delivery
    if world.solana is not None and customer.order["chain_id"] == surfnet.CHAIN_ID:
        assert delivery is not None
        world.solana.finalize(delivery.hash)
    return follow_until_decided(payment_id, Clock())


def assert_paid_by_swap(payment: Payment, paid_with: Token) -> None:
    """Check all fields of a completed swap, and that its delivery was consumed on the right chain."""
    request = PaymentRequest.objects.get(pk=payment.request_id)
    assert (payment.status, payment.type, payment.bound_by) == ("completed", "swap", "provider")
    assert (payment.swap.provider, payment.swap.provider_status) == ("lifi", "DONE/COMPLETED")
    assert request.status == PaymentRequest.Status.COMPLETED
    assert payment.amount_received == request.amount_paid >= request.amount
    assert payment.quote is not None
    assert (payment.token, payment.amount) == (paid_with, payment.quote.amount_in)
    consumed = ConsumedTransfer.objects.get()
    assert (consumed.payment, consumed.amount) == (payment, payment.amount_received)
    assert (consumed.chain_id, consumed.transaction_hash) == (request.chain_id, payment.delivered_by)


@pytest.mark.parametrize(("symbol", "requested"), [("ETH", "USDC"), ("USDT", "USDC"), ("DAI", "ETH")])
def test_from_one_evm_chain_to_another(
    new_customer: NewCustomer, swap_world: SwapWorld, symbol: str, requested: str
) -> None:
    world = swap_world
    paid_with = world.token(world.first_row, symbol)
    if symbol == "USDT":
        world.approve(world.first, paid_with.contract_address, 0)
        world.approve(world.first, paid_with.contract_address, 1)  # an allowance that must be reset first
    customer = new_customer(
        world.token(world.second_row, requested), "0.0105" if requested == "ETH" else "10.50"
    )
    payment = complete(world, customer, paid_with)
    assert_paid_by_swap(payment, paid_with)
    assert delivery_hash(payment) not in ("", payment.transaction_hash)
    assert payment.swap.delivery.block_number is not None
    assert payment.from_address == world.first.payer


def test_what_the_page_and_the_merchant_are_told_of_it(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    world = swap_world
    world.second_row.explorer_url = "https://harbour.example/"
    world.second_row.save()
    customer = new_customer(world.token(world.second_row, "USDC"))
    payment = complete(world, customer, world.token(world.first_row, "ETH"))
    (shown,) = customer.state()["payments"]
    assert (shown["type"], shown["provider"], shown["provider_status"]) == ("swap", "lifi", "DONE/COMPLETED")
    assert (shown["chain_id"], shown["destination_chain_id"]) == (world.first_row.pk, world.second_row.pk)
    assert (shown["token"]["symbol"], shown["amount"]["decimals"]) == ("ETH", 18)
    assert shown["amount_received"] == {
        "raw": str(payment.amount_received),
        "formatted": shown["amount_received"]["formatted"],
        "decimals": 6,
    }
    delivered_by = shown["destination_transaction_hash"]
    assert shown["destination_explorer_url"] == f"https://harbour.example/tx/{delivered_by}"
    assert shown["destination_confirmations"] >= shown["destination_confirmations_required"] == 1
    assert "from_address" not in shown
    event = Event.objects.get(type="payment.succeeded")
    told = json.loads(bytes(event.body))["data"]["object"]
    assert (told["amount"], told["currency"]) == (payment.amount_received, "USDC")
    assert told["amount_details"]["raw"] == str(payment.amount_received)
    assert (told["chain_id"], told["transaction_hash"]) == (world.second_row.pk, payment.transaction_hash)
    assert (told["type"], told["source_chain_id"]) == ("swap", world.first_row.pk)
    assert told["destination_transaction_hash"] == delivered_by


@pytest.mark.parametrize("symbol", ["DAI", "ETH"])
def test_same_chain_swap_is_verified_from_its_own_transaction(
    new_customer: NewCustomer, swap_world: SwapWorld, symbol: str
) -> None:
    world = swap_world
    paid_with = world.token(world.first_row, symbol)
    customer = new_customer(world.token(world.first_row, "USDC"))
    payment_id, sent = pay_by_swap(world, customer, paid_with)
    world.aggregator.set(status="server_error")
    payment = follow_until_decided(payment_id, Clock())
    assert (payment.status, payment.type, payment.bound_by) == ("completed", "swap", "provider")
    assert (payment.token, payment.swap.provider, payment.swap.provider_status) == (paid_with, "lifi", "")
    assert delivery_hash(payment) == ""
    (shown,) = customer.state()["payments"]
    assert shown["destination_transaction_hash"] == sent == shown["transaction_hash"]
    assert ConsumedTransfer.objects.get().transaction_hash == sent


def test_native_coin_of_same_chain_swap_is_proved_by_trace(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    world = swap_world
    customer = new_customer(world.token(world.first_row, "ETH"), "0.0105")
    payment_id, _ = pay_by_swap(world, customer, world.token(world.first_row, "DAI"))
    payment = follow_until_decided(payment_id, Clock())
    assert (payment.status, payment.bound_by) == ("completed", "provider")
    assert ConsumedTransfer.objects.get().slot != "value"


def test_from_an_evm_chain_to_solana(new_customer: NewCustomer, swap_world: SwapWorld) -> None:
    world = swap_world
    if world.solana is None:
        pytest.skip("Surfnet has no build for this machine.")
    paid_with = world.token(world.first_row, "ETH")
    customer = new_customer(world.token(world.solana_row, "USDC"), recipient=new_address())
    payment = complete(world, customer, paid_with)
    assert_paid_by_swap(payment, paid_with)


@pytest.mark.parametrize("symbol", ["USDC", "SOL"])
def test_from_solana_to_an_evm_chain(new_customer: NewCustomer, swap_world: SwapWorld, symbol: str) -> None:
    world = swap_world
    if world.solana is None:
        pytest.skip("Surfnet has no build for this machine.")
    paid_with = world.token(world.solana_row, symbol)
    customer = new_customer(world.token(world.second_row, "USDC"), wallet=world.solana.payer)
    payment = complete(world, customer, paid_with)
    assert_paid_by_swap(payment, paid_with)
    assert payment.from_address == world.solana.payer


def test_packed_calls_are_bound_by_the_beginning_of_the_id(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    world = swap_world
    world.aggregator.set(packed=True)
    paid_with = world.token(world.first_row, "ETH")
    payment = complete(world, new_customer(world.token(world.second_row, "USDC")), paid_with)
    assert_paid_by_swap(payment, paid_with)
    assert payment.quote is not None
    data = world.first.rpc("eth_getTransactionByHash", payment.transaction_hash)["input"]
    assert bytes(payment.quote.bound_by).hex() not in data
