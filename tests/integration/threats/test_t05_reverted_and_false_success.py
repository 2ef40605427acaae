"""A reverted call credits nothing, at the top level or inside.

A transfer that returns false credits nothing either.
"""

from collections.abc import Callable

from chains.models import Chain, Token
from payments.models import PaymentRequest
from tests.support.threats.evm_world import USDC_UNIT, World, call_data, refusal, transfer_data

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
AMOUNT = 10 * USDC_UNIT
CALLS = "((address,uint256,bytes,bool)[])"
WEI = 10**16


def test_reverted_transaction_pays_nothing(world: World, ask: Ask) -> None:
    request = ask()
    payer = world.stranger()
    beyond = transfer_data(request.recipient_address, 10**15, bytes(request.reference))
    sent = world.call(world.chain.usdc, beyond, key=payer)
    assert not world.succeeded(sent)
    assert refusal(request, sent) == "transaction_reverted"


def test_token_transfer_reverted_inside_pays_nothing(world: World, ask: Ask) -> None:
    request = ask()
    batch = world.deploy("BatchPayer")
    world.fund(batch)
    pay = transfer_data(request.recipient_address, AMOUNT, bytes(request.reference))
    taken_back = call_data(f"runAndRevert{CALLS}", [(world.chain.usdc, 0, pay, False)])
    sent = world.call(batch, call_data(f"run{CALLS}", [(batch, 0, taken_back, True)]))
    assert world.succeeded(sent)
    assert refusal(request, sent) == "wrong_amount"


def test_native_coin_reverted_inside_pays_nothing(world: World, ask: Ask, ether: Token) -> None:
    """The call that moves the coin succeeds, but the outer call fails. In a trace, the inner call has no error."""
    request = ask("0.01", ether)
    batch = world.deploy("BatchPayer")
    world.fund(batch)
    before = world.coins(request.recipient_address)
    pay = (request.recipient_address, WEI, bytes(request.reference), False)
    taken_back = call_data(f"runAndRevert{CALLS}", [pay])
    sent = world.call(batch, call_data(f"run{CALLS}", [(batch, 0, taken_back, True)]))
    assert world.succeeded(sent)
    assert world.coins(request.recipient_address) == before
    assert refusal(request, sent) == "wrong_amount"


def test_transfer_that_returns_false_pays_nothing(world: World, ask: Ask, chain: Chain) -> None:
    address = world.token("FalseToken")
    token = Token.objects.create(
        chain=chain, symbol="NO", name="No Coin", decimals=6, contract_address=address
    )
    request = ask(token=token)
    data = transfer_data(request.recipient_address, AMOUNT, bytes(request.reference))
    sent = world.call(address, data)
    assert world.succeeded(sent)
    assert refusal(request, sent) == "wrong_amount"
