"""A token calls the merchant's contract when it pays it, as ERC-777 does.

Money that this hook sends away doesn't count.
"""

import pytest

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.support.payments.world import make_request
from tests.support.threats.evm_world import (
    USDC_UNIT,
    World,
    call_data,
    is_paid,
    refusal,
    submit_all,
    transfer_data,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
AMOUNT = 10 * USDC_UNIT
TILL = "0x" + "71" * 20


@pytest.fixture
def token(world: World, chain: Chain) -> Token:
    """A catalogue token that calls its recipients."""
    address = world.token("ReceiverHookToken")
    return Token.objects.create(
        chain=chain, symbol="HOOK", name="Hook Coin", decimals=6, contract_address=address
    )


@pytest.fixture
def shop(world: World, token: Token) -> str:
    """A merchant's contract that the token calls. Each test sets its reaction."""
    shop = world.deploy("Accomplice")
    world.call(token.contract_address, call_data("register(address)", shop))
    world.call(token.contract_address, call_data("mint(address,uint256)", world.chain.payer, 5 * AMOUNT))
    return shop


@pytest.fixture
def request_of_shop(merchant: Merchant, token: Token, shop: str) -> PaymentRequest:
    return make_request(merchant, token, "10", shop)


def hooked(world: World, shop: str, to: str, data: bytes) -> None:
    """Have the shop make this call whenever it is paid."""
    world.call(shop, call_data("load(address,bytes)", to, data))


def paying(request: PaymentRequest) -> bytes:
    return transfer_data(request.recipient_address, AMOUNT, bytes(request.reference))


def pay(world: World, request: PaymentRequest) -> str:
    sent = world.call(request.token.contract_address, paying(request))
    assert world.succeeded(sent)
    return sent


def test_tokens_that_the_hook_forwards_to_the_till_count(
    world: World, token: Token, shop: str, request_of_shop: PaymentRequest, either_node: bool
) -> None:
    hooked(world, shop, token.contract_address, transfer_data(TILL, AMOUNT))
    sent = pay(world, request_of_shop)
    if either_node:
        assert is_paid(request_of_shop, sent)
    else:
        assert refusal(request_of_shop, sent) == "not_verifiable", "the token may have taken it as a fee"


def test_tokens_that_an_accomplice_sends_back_pay_nothing(
    world: World, token: Token, shop: str, request_of_shop: PaymentRequest
) -> None:
    """The token also calls the accomplice, which returns the tokens to the payer."""
    accomplice = world.deploy("Accomplice")
    world.call(token.contract_address, call_data("register(address)", accomplice))
    hooked(world, accomplice, token.contract_address, transfer_data(world.chain.payer, AMOUNT))
    hooked(world, shop, token.contract_address, transfer_data(accomplice, AMOUNT))
    assert refusal(request_of_shop, pay(world, request_of_shop)) == "not_verifiable"


def test_payment_that_the_hook_triggers_is_credited_itself(
    world: World,
    merchant: Merchant,
    token: Token,
    shop: str,
    request_of_shop: PaymentRequest,
    either_node: bool,
) -> None:
    """When it is paid, the shop sends a stranger's signed payment to another merchant.

    Each payment counts for its own request.
    """
    stranger = world.safe()
    world.call(token.contract_address, call_data("mint(address,uint256)", stranger.address, AMOUNT))
    other = make_request(merchant, token, "10", world.chain.recipient)
    hooked(world, shop, stranger.address, stranger.execution(token.contract_address, paying(other)))
    sent = pay(world, request_of_shop)
    submit_all(sent, request_of_shop, other)
    assert is_paid(request_of_shop, sent)
    assert request_of_shop.amount_paid == AMOUNT
    if either_node:
        assert is_paid(other, sent)
    else:
        assert refusal(other, sent) == "not_verifiable"
