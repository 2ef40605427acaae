"""Unusual ways in which coins and tokens reach a merchant. Each counts correctly and once."""

from collections.abc import Callable

import pytest
from eth_utils.address import to_checksum_address

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, PaymentRequest
from tests.support.payments.world import make_request
from tests.support.threats.evm_world import (
    USDC_UNIT,
    World,
    call_data,
    decide,
    is_paid,
    refusal,
    submit_all,
    transfer_data,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
AMOUNT = 10 * USDC_UNIT
WEI = 10**16
RUN = "run((address,uint256,bytes,bool)[])"


def reference(request: PaymentRequest) -> bytes:
    return bytes(request.reference)


def test_contract_pays_in_the_call_that_creates_it(world: World, ask: Ask, ether: Token) -> None:
    request = ask("0.01", ether)
    assert is_paid(request, created(world, request, reference(request)))
    assert ConsumedTransfer.objects.get().slot == "0.0"


def created(world: World, request: PaymentRequest, data: bytes, tail: bytes = b"") -> str:
    code = world.creation("PayingBirth", ["address", "bytes"], [request.recipient_address, data])
    sent = world.call(None, code + tail, value=WEI)
    assert world.succeeded(sent)
    return sent


def test_fees_of_a_block_pay_no_request(world: World, ask: Ask, ether: Token) -> None:
    """The merchant's address gets the tips of all transactions in the block.

    This is no transfer and has no reference.
    """
    thief = ask("0.0001", ether)
    miner = world.chain.rpc("eth_getBlockByNumber", "latest", False)["miner"]
    before = world.coins(thief.recipient_address)
    world.chain.rpc("anvil_setCoinbase", thief.recipient_address)
    try:
        sent = world.call(world.chain.payer, reference(thief))
    finally:
        world.chain.rpc("anvil_setCoinbase", miner)
    assert world.coins(thief.recipient_address) > before
    assert refusal(thief, sent) == "wrong_amount"


def test_value_spent_twice_in_a_batch_counts_once(world: World, ask: Ask, ether: Token) -> None:
    """The batch gets the price of one request and pays two. The second call has nothing left to send."""
    first, second = ask("0.01", ether), ask("0.01", ether)
    calls = [(r.recipient_address, r.amount, reference(r), True) for r in (first, second)]
    payer = world.deploy("BatchPayer")
    sent = world.call(payer, call_data(RUN, calls), value=WEI)
    assert world.succeeded(sent)
    submit_all(sent, first, second)
    assert is_paid(first, sent)
    assert refusal(second, sent) == "transaction_not_bound"


@pytest.fixture
def second_address(world: World, chain: Chain) -> Token:
    """A second contract address of USDC, which is a separate token in the catalogue."""
    address = world.deploy("SecondAddress", ["address"], [world.chain.usdc])
    return Token.objects.create(
        chain=chain, symbol="USDC2", name="USD Coin", decimals=6, contract_address=address
    )


def test_token_with_two_addresses_pays_by_the_called_one(
    world: World, merchant: Merchant, usdc: Token, second_address: Token, either_node: bool
) -> None:
    """Both addresses log the same transfer. The second address was called with the reference, the first was not."""
    by_first, by_second = (
        make_request(merchant, token, "10", world.chain.recipient) for token in (usdc, second_address)
    )
    proxy = second_address.contract_address
    world.call(usdc.contract_address, call_data("approve(address,uint256)", proxy, AMOUNT))
    data = transfer_data(world.chain.recipient, AMOUNT)
    sent = world.call(proxy, data + reference(by_second) + reference(by_first))
    assert world.succeeded(sent)
    submit_all(sent, by_first, by_second)
    assert refusal(by_first, sent) == ("transaction_not_bound" if either_node else "not_verifiable")
    assert is_paid(by_second, sent)


def test_maximum_amount_of_a_token_harms_no_other_payment(
    world: World, merchant: Merchant, chain: Chain, ask: Ask
) -> None:
    """The amount is the largest number that the chain can store."""
    token = Token.objects.create(
        chain=chain, symbol="BIG", name="Big Coin", decimals=6, contract_address=world.token("TestToken")
    )
    most = 2**256 - 1
    payer = world.deploy("BatchPayer")
    world.call(token.contract_address, call_data("mint(address,uint256)", payer, most))
    shop = to_checksum_address("0x" + "5b" * 20)
    request, honest = make_request(merchant, token, "10", shop), ask()
    pay = transfer_data(shop, most, reference(request))
    sent = world.call(payer, call_data(RUN, [(token.contract_address, 0, pay, False)]))
    assert world.succeeded(sent)
    paid = world.chain.transfer(world.chain.usdc, honest.recipient_address, AMOUNT, tail=reference(honest))
    submit_all(paid, honest)
    payment = decide(request, sent)
    assert (payment.status, payment.amount_received) == ("completed", most)
    assert is_paid(honest, paid)
