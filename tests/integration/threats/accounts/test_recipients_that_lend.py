"""Money pays nothing if the merchant's contract sends it out again in the same transaction, or sent it out before.

The merchant is a contract that lends, or forwards its money for any caller. The attacker owns all other
accounts.
"""

from collections.abc import Callable

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
    transfer_data,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
AMOUNT = 10 * USDC_UNIT
WEI = 10**16
RUN = "run((address,uint256,bytes,bool)[])"
Ask = Callable[..., PaymentRequest]


@pytest.fixture
def shop(world: World) -> str:
    """A merchant's contract that lends its own money."""
    shop = world.deploy("LendingShop")
    world.fund(shop)
    return shop


@pytest.fixture
def ask_for(merchant: Merchant, usdc: Token) -> Ask:
    """Return a function that makes requests to this recipient, 10 USDC by default."""

    def make(recipient: str, amount: str = "10", token: Token | None = None) -> PaymentRequest:
        return make_request(merchant, token or usdc, amount, recipient)

    return make


@pytest.fixture
def flash(world: World, chain: Chain) -> Token:
    """A catalogue token that anyone can borrow without cover, within one transaction."""
    address = world.token("FlashToken")
    return Token.objects.create(
        chain=chain, symbol="FLASH", name="Flash Coin", decimals=6, contract_address=address
    )


def run(*calls: tuple[str, bytes], value: int = 0) -> bytes:
    """Return the input with which a BatchPayer makes these calls."""
    return call_data(RUN, [(to, value, data, False) for to, data in calls])


def paying(request: PaymentRequest, amount: int = AMOUNT) -> tuple[str, bytes]:
    data = transfer_data(request.recipient_address, amount, bytes(request.reference))
    return (request.token.contract_address, data)


def sending(token: str, to: str, amount: int = AMOUNT) -> tuple[str, bytes]:
    return (token, transfer_data(to, amount))


def done(world: World, to: str, data: bytes) -> str:
    sent = world.call(to, data)
    assert world.succeeded(sent)
    return sent


def test_flash_minted_tokens_that_are_burned_pay_nothing(
    world: World, ask_for: Ask, shop: str, flash: Token
) -> None:
    """The token is minted for the payer, paid, forwarded by the shop to an accomplice, returned and burned."""
    request, token = ask_for(shop, token=flash), flash.contract_address
    payer, accomplice = world.deploy("BatchPayer"), world.deploy("BatchPayer")
    pass_on = (shop, call_data("passOn(address,address,uint256)", token, accomplice, AMOUNT))
    give_back = (accomplice, run(sending(token, payer)))
    mint = call_data(
        "flashMint(address,uint256,bytes)", payer, AMOUNT, run(paying(request), pass_on, give_back)
    )
    sent = done(world, token, mint)
    assert world.chain.token_balance(token, shop) == 0
    assert refusal(request, sent) == "not_verifiable"


def test_loan_hides_behind_no_other_payment(world: World, ask_for: Ask, shop: str) -> None:
    """The shop gains 10 from the first payment.

    The borrower keeps the loan, and another account of the attacker repays it.
    """
    first, second, usdc = ask_for(shop), ask_for(shop), world.chain.usdc
    payer, borrower = world.deploy("BatchPayer"), world.deploy("BatchPayer")
    world.fund(payer, usdc=2 * AMOUNT)
    lend = call_data(
        "lend(address,address,uint256,bytes)", usdc, borrower, AMOUNT, run((payer, run(paying(second))))
    )
    before = world.chain.token_balance(usdc, shop)
    sent = done(world, payer, run(paying(first), (shop, lend)))
    assert world.chain.token_balance(usdc, shop) - before == AMOUNT
    assert is_paid(first, sent)
    assert refusal(second, sent) == "not_verifiable"


def test_shop_that_forwards_every_coin_is_paid_each_time(world: World, ask_for: Ask, ether: Token) -> None:
    """Two customers pay in one transaction. Each payment is forwarded in the same call."""
    till = "0x" + "71" * 20
    shop = world.deploy("ForwardingShop", ["address"], [till])
    first, second = ask_for(shop, "0.01", ether), ask_for(shop, "0.02", ether)
    payer = world.deploy("BatchPayer")
    data = call_data(RUN, [(shop, r.amount, bytes(r.reference), False) for r in (first, second)])
    sent = world.call(payer, data, value=3 * WEI)
    assert world.succeeded(sent)
    assert is_paid(first, sent)
    assert is_paid(second, sent)


def test_token_passed_on_after_the_payment_counts(
    world: World, ask_for: Ask, shop: str, either_node: bool
) -> None:
    """The till keeps the money, which only concerns the shop."""
    request, usdc, payer = ask_for(shop), world.chain.usdc, world.deploy("BatchPayer")
    world.fund(payer, usdc=AMOUNT)
    pass_on = (shop, call_data("passOn(address,address,uint256)", usdc, "0x" + "71" * 20, AMOUNT))
    sent = done(world, payer, run(paying(request), pass_on))
    if either_node:
        assert is_paid(request, sent)
    else:
        assert refusal(request, sent) == "not_verifiable", "who called the token is not known"
