"""An allowance pays nothing. A third party that moves the payer's tokens pays with its call."""

from collections.abc import Callable

from eth_account import Account

from payments.models import PaymentRequest
from tests.support.threats.evm_world import USDC_UNIT, World, call_data, is_paid, refusal

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
AMOUNT = 10 * USDC_UNIT


def allow(world: World, spender: str, tail: bytes = b"") -> str:
    sent = world.call(world.chain.usdc, call_data("approve(address,uint256)", spender, AMOUNT) + tail)
    assert world.succeeded(sent)
    return sent


def test_allowance_without_a_transfer_pays_nothing(world: World, ask: Ask) -> None:
    request = ask()
    sent = allow(world, request.recipient_address, bytes(request.reference))
    assert refusal(request, sent) == "wrong_amount"


def test_transfer_from_by_a_third_party_pays(world: World, ask: Ask) -> None:
    """`transferFrom` is sent directly to the token. The reference follows its three arguments."""
    request, key = ask(), world.stranger()
    allow(world, Account.from_key(key).address)
    data = call_data(
        "transferFrom(address,address,uint256)", world.chain.payer, request.recipient_address, AMOUNT
    )
    sent = world.call(world.chain.usdc, data + bytes(request.reference), key=key)
    assert is_paid(request, sent)


def pay_by_router(world: World, request: PaymentRequest, reference: bytes, tail: bytes = b"") -> str:
    router = world.place("Router")
    allow(world, router)
    signature = "pay(address,address,address,uint256,bytes)"
    recipient = request.recipient_address
    data = call_data(signature, world.chain.usdc, world.chain.payer, recipient, AMOUNT, reference)
    sent = world.call(router, data + tail)
    assert world.succeeded(sent)
    return sent


def test_reference_that_a_router_passes_on_binds(world: World, ask: Ask) -> None:
    request = ask()
    assert is_paid(request, pay_by_router(world, request, bytes(request.reference)))


def test_reference_that_a_router_drops_binds_nothing(world: World, ask: Ask, either_node: bool) -> None:
    thief = ask()
    expected = "transaction_not_bound" if either_node else "not_verifiable"
    assert refusal(thief, pay_by_router(world, thief, b"", bytes(thief.reference))) == expected
