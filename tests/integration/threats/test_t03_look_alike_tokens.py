"""Logs and tokens that imitate the requested token credit nothing, and don't affect real transfers."""

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
    """A catalogue token that also writes logs which only look like ERC-20 transfers. The payer has some."""
    if "LookAlikeLogs token" not in world.placed:
        address = world.placed["LookAlikeLogs token"] = world.token("LookAlikeLogs")
        world.call(address, call_data("mint(address,uint256)", world.chain.payer, 10**12))
    address = world.placed["LookAlikeLogs token"]
    return Token.objects.create(
        chain=chain, symbol="ODD", name="Odd Coin", decimals=6, contract_address=address
    )


ODD_LOGS = {
    "an ERC-721 transfer, of four topics": ("transferNumbered(address,uint256)", ()),
    "64 bytes of data": ("transferSized(address,uint256,uint256)", (64,)),
}


@pytest.mark.parametrize("kind", ODD_LOGS)
def test_malformed_logs_beside_a_transfer_change_nothing(
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


def test_imitation_beside_a_transfer_of_one_unit_adds_nothing(
    world: World, ask: Ask, either_node: bool
) -> None:
    """The imitation has the real token's name, symbol and decimals. Of the real token, only one unit moves."""
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


def test_transfer_of_an_imitated_token_pays_nothing(world: World, ask: Ask) -> None:
    request, safe = ask(), world.safe()
    fake = world.token("TestToken")
    world.call(fake, call_data("mint(address,uint256)", safe.address, AMOUNT))
    data = transfer_data(request.recipient_address, AMOUNT, bytes(request.reference))
    assert refusal(request, safe.send(safe.execution(fake, data))) == "wrong_token"
