"""T-03: what only looks like a transfer of the token asked for credits nothing, and spoils no real one."""

from collections.abc import Callable

import pytest

from chains.models import Chain, Token
from payments.models import PaymentRequest
from tests.support.threats.evm_world import (
    UNPROVED,
    USDC_UNIT,
    World,
    call_data,
    is_paid,
    refusal,
    transfer_data,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
AMOUNT = 10 * USDC_UNIT


@pytest.fixture
def odd_token(world: World, chain: Chain) -> Token:
    """A token of the catalogue that also logs what no ERC-20 transfer is; the payer has some."""
    if "LookAlikeLogs token" not in world.placed:
        address = world.placed["LookAlikeLogs token"] = world.token("LookAlikeLogs")
        world.call(address, call_data("mint(address,uint256)", world.chain.payer, 10**12))
    address = world.placed["LookAlikeLogs token"]
    return Token.objects.create(
        chain=chain, symbol="ODD", name="Odd Coin", decimals=6, contract_address=address
    )


ODD_LOGS = {
    "an ERC-721 transfer, of four topics": ("transferNumbered(address,uint256)", ()),
    "an anonymous log": ("transferAnonymously(address,uint256)", ()),
    "no data": ("transferSized(address,uint256,uint256)", (0,)),
    "31 bytes of data": ("transferSized(address,uint256,uint256)", (31,)),
    "33 bytes of data": ("transferSized(address,uint256,uint256)", (33,)),
    "64 bytes of data": ("transferSized(address,uint256,uint256)", (64,)),
}


@pytest.mark.parametrize("kind", ODD_LOGS)
def test_a_log_of_another_shape_by_the_token_itself_is_no_transfer(
    world: World, ask: Ask, odd_token: Token, either_node: bool, kind: str
) -> None:
    request = ask(token=odd_token)
    signature, more = ODD_LOGS[kind]
    data = call_data(signature, request.recipient_address, AMOUNT, *more) + bytes(request.reference)
    sent = world.call(odd_token.contract_address, data)
    assert world.succeeded(sent)
    assert len(world.receipt(sent)["logs"]) == 1
    assert refusal(request, sent) == "wrong_amount"


@pytest.mark.parametrize("kind", ODD_LOGS)
def test_odd_logs_beside_a_real_transfer_neither_add_to_it_nor_spoil_it(
    world: World, ask: Ask, odd_token: Token, either_node: bool, kind: str
) -> None:
    request, safe = ask(token=odd_token), world.safe()
    token, recipient = odd_token.contract_address, request.recipient_address
    world.call(token, call_data("mint(address,uint256)", safe.address, AMOUNT))
    signature, more = ODD_LOGS[kind]
    odd = call_data(signature, recipient, 10**9, *more) + bytes(request.reference)
    real = transfer_data(recipient, AMOUNT, bytes(request.reference))
    sent = safe.send(safe.multi_send((token, 0, odd), (token, 0, real), (token, 0, odd)))
    if not either_node:
        assert refusal(request, sent) in UNPROVED
        return
    assert is_paid(request, sent)
    assert request.amount_paid == AMOUNT


def test_a_look_alike_with_a_transfer_of_next_to_nothing_beside_it(
    world: World, ask: Ask, either_node: bool
) -> None:
    """The look-alike has the same name, symbol and decimals; of the real token one unit moves."""
    request, safe = ask(), world.safe()
    fake = world.token("TestToken")
    world.call(fake, call_data("mint(address,uint256)", safe.address, AMOUNT))
    recipient, reference = request.recipient_address, bytes(request.reference)
    sent = safe.send(
        safe.multi_send(
            (fake, 0, transfer_data(recipient, AMOUNT, reference)),
            (world.chain.usdc, 0, transfer_data(recipient, 1, reference)),
        )
    )
    assert not is_paid(request, sent)
    assert request.amount_paid == (1 if either_node else 0), (
        "what a batch calls beside one token is not known"
    )


def test_a_look_alike_alone(world: World, ask: Ask, either_node: bool) -> None:
    request, safe = ask(), world.safe()
    fake = world.token("TestToken")
    world.call(fake, call_data("mint(address,uint256)", safe.address, AMOUNT))
    data = transfer_data(request.recipient_address, AMOUNT, bytes(request.reference))
    assert refusal(request, safe.send(safe.execution(fake, data))) == "wrong_token"
