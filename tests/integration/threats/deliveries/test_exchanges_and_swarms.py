"""Tokens that a merchant buys pay no request. A payment in thousands of transfers delays no other payment."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from eth_account import Account

from chains.models import Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer
from tests.support.payments.world import make_request
from tests.support.threats.evm_world import USDC_UNIT, World, call_data, is_paid, refusal, submit_all

pytest_plugins = ["tests.support.threats.evm_fixtures"]
AMOUNT = 10 * USDC_UNIT
DAI_AMOUNT = 10 * 10**18


@pytest.fixture
def shop_key(world: World) -> str:
    """The private key of a merchant's wallet that also has DAI."""
    key = world.stranger()
    world.call(world.chain.dai, call_data("mint(address,uint256)", Account.from_key(key).address, DAI_AMOUNT))
    return key


def offered(world: World, book: str, reference: bytes) -> None:
    """Have the thief offer USDC for DAI. The thief's reference is after the call that moves the thief's USDC."""
    place = call_data(
        "place(address,uint256,address,uint256,bytes)",
        world.chain.usdc, AMOUNT, world.chain.dai, DAI_AMOUNT, reference,
    )  # fmt: skip
    for to, data in (
        (book, place),
        (world.chain.usdc, call_data("approve(address,uint256)", book, AMOUNT)),
    ):
        assert world.succeeded(world.call(to, data))


@pytest.mark.parametrize("signer", ["the merchant", "a stranger"])
def test_tokens_that_the_merchant_bought_pay_no_request(
    world: World, merchant: Merchant, usdc: Token, shop_key: str, signer: str
) -> None:
    """The merchant fills the thief's order, or the thief fills the merchant's, at the market price."""
    request = make_request(merchant, usdc, "10", Account.from_key(shop_key).address)
    book = world.deploy("SuffixOrders")
    allow = call_data("approve(address,uint256)", book, DAI_AMOUNT)
    assert world.succeeded(world.call(world.chain.dai, allow, key=shop_key))
    Token.objects.create(
        chain=usdc.chain, symbol="DAI", name="Dai", decimals=18, contract_address=world.chain.dai
    )
    if signer == "the merchant":
        offered(world, book, bytes(request.reference))
        fill = call_data("fill(uint256,address)", 0, request.recipient_address)
        sent = world.call(book, fill, key=shop_key)
    else:
        sell = call_data(
            "place(address,uint256,address,uint256,bytes)",
            world.chain.dai, DAI_AMOUNT, world.chain.usdc, 0, b"",
        )  # fmt: skip
        assert world.succeeded(world.call(book, sell, key=shop_key))
        payer = world.deploy("BatchPayer")
        world.fund(payer, usdc=AMOUNT)
        pay = call_data("transfer(address,uint256)", request.recipient_address, AMOUNT)
        calls = [
            (world.chain.usdc, 0, pay + bytes(request.reference), False),
            (book, 0, call_data("fill(uint256,address)", 0, payer), False),
        ]
        sent = world.call(payer, call_data("run((address,uint256,bytes,bool)[])", calls))
    assert world.succeeded(sent)
    assert world.chain.token_balance(world.chain.dai, request.recipient_address) == 0
    assert refusal(request, sent) == "not_verifiable"


def test_payment_in_a_thousand_transfers_is_stored_at_once(
    world: World, merchant: Merchant, usdc: Token
) -> None:
    """Meanwhile, the request is locked, and later payments in the batch wait."""
    request = make_request(merchant, usdc, "0.001", world.chain.recipient)
    other = make_request(merchant, usdc, "0.001", world.chain.recipient)
    swarm = world.deploy("Swarm")
    world.fund(swarm)
    pay = call_data(
        "pay(address,address,uint256,bytes)",
        world.chain.usdc, request.recipient_address, 1000, bytes(request.reference),
    )  # fmt: skip
    sent = world.call(swarm, pay)
    assert world.succeeded(sent)
    submit_all(sent, request, other)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert is_paid(request, sent)
    assert ConsumedTransfer.objects.count() == 1000
    assert len(queries) < 300
    assert refusal(other, sent) == "transaction_not_bound"
