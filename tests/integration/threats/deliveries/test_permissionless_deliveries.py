"""Anyone can complete some bridges' deliveries. A delivery pays only the request for which its provider reports it.

The thief completes the delivery in a transaction of the thief, between calls with the thief's reference.
"""

from collections.abc import Callable

import pytest

from payments.models import PaymentRequest
from tests.support.threats.evm_facts import REFERENCE, claims, facts_by, paid
from tests.support.threats.evm_world import (
    USDC_UNIT,
    World,
    call_data,
    is_paid,
    transfer_data,
)
from tests.support.threats.real_accounts import SIMPLE_7702, execute_batch, handle_ops

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
AMOUNT = 10 * USDC_UNIT
Calls = list[tuple[str, int, bytes]]
Run = Callable[[World, Calls], str]


def by_minting(world: World) -> str:
    """Return a contract that mints to the merchant for any caller, like CCTP's receiveMessage."""
    mint = call_data("mint(address,uint256)", world.chain.recipient, AMOUNT)
    return loaded(world, world.chain.usdc, mint)


def out_of_a_pool(world: World) -> str:
    """Return a contract that pays the merchant with its own tokens for any caller, like Wormhole's completeTransfer."""
    bridge = loaded(world, world.chain.usdc, transfer_data(world.chain.recipient, AMOUNT))
    world.fund(bridge, coins=0)
    return bridge


def loaded(world: World, to: str, data: bytes) -> str:
    bridge = world.deploy("Accomplice")
    world.call(bridge, call_data("load(address,bytes)", to, data))
    return bridge


def by_a_contract(world: World, calls: Calls) -> str:
    payer = world.deploy("BatchPayer")
    world.fund(payer)
    listed = [(*call, False) for call in calls]
    return world.call(payer, call_data("run((address,uint256,bytes,bool)[])", listed) + REFERENCE)


def by_a_safe(world: World, calls: Calls) -> str:
    safe = world.safe()
    return safe.send(safe.multi_send(*calls), tail=REFERENCE)


def by_its_own_batch(world: World, calls: Calls) -> str:
    account = world.delegated(world.contracts.delegate(SIMPLE_7702))
    return account.run(execute_batch(*calls) + REFERENCE)


def by_an_operation(world: World, calls: Calls) -> str:
    account = world.account("0.8")
    operation = account.operation(execute_batch(*calls))
    return world.call(account.entry_point, handle_ops(operation, version="0.8") + REFERENCE)


@pytest.mark.parametrize(
    ("run", "deliver"),
    [
        (by_a_contract, by_minting),
        (by_a_safe, out_of_a_pool),
        (by_its_own_batch, by_minting),
        (by_an_operation, out_of_a_pool),
    ],
)
@pytest.mark.parametrize("traced", [True, False], ids=["with traces", "without traces"])
def test_delivery_between_the_thiefs_calls_is_not_claimed(
    world: World, untraced_url: str, traced: bool, deliver: Callable[[World], str], run: Run
) -> None:
    usdc, recipient = world.chain.usdc, world.chain.recipient
    own = [(usdc, 0, transfer_data(recipient, amount, REFERENCE)) for amount in (0, 1)]
    bridge = deliver(world)
    sent = run(world, [own[0], (bridge, 0, REFERENCE), own[1]])
    assert world.succeeded(sent)
    facts = facts_by(world.chain, sent, world.chain.url if traced else untraced_url)
    moved = paid(facts, recipient, usdc)
    delivered = [transfer for transfer in moved if transfer.amount == AMOUNT]
    [(references, made_by)] = claims(delivered)
    assert references == ()
    assert made_by in ("", bridge), "no account of the thief's"
    claimed = sum(transfer.amount for transfer in moved if transfer not in delivered and transfer.references)
    assert claimed == (1 if traced else 0)


def test_payment_beside_a_delivery_is_credited(world: World, ask: Ask) -> None:
    payers, bridge = ask(), by_minting(world)
    pay = transfer_data(payers.recipient_address, AMOUNT, bytes(payers.reference))
    sent = by_a_contract(world, [(bridge, 0, b""), (world.chain.usdc, 0, pay)])
    assert is_paid(payers, sent)
    assert payers.amount_paid == AMOUNT
