"""In a batch, each sweep fails on its own and within its own gas, whatever a token or a recipient does."""

import pytest

from chains.families.base import Sweep
from chains.families.evm.deposits.addresses import FACTORY
from chains.families.evm.deposits.calls import GAS_PER_SWEEP, sweep_call
from tests.support.chains.deposits import (
    BURN_GAS,
    CALL_BACK,
    NATIVE,
    NONE,
    RETURN_LARGE,
    REVERT,
    REVERT_LARGE,
    DepositWorld,
    deposit_for,
    failed_sweeps,
    forwarder_sweep,
    new_address,
    swept_coins,
)

COIN = 10**18
FAILING = (REVERT, REVERT_LARGE, BURN_GAS)


@pytest.mark.parametrize("trouble", [REVERT, REVERT_LARGE, BURN_GAS, RETURN_LARGE])
def test_troublesome_token_fails_alone_in_a_batch(world: DepositWorld, trouble: int) -> None:
    recipient = new_address()
    bad, good = deposit_for(recipient), deposit_for(recipient)
    token = world.place("TroublesomeToken", token=True)
    world.mint(token, bad.address, 7)
    world.make_trouble(token, trouble)
    world.mint(world.chain.usdc, good.address, 5)
    world.pay(bad.address, COIN)
    receipt = world.sweep((recipient, bad, token), (recipient, bad, ""), (recipient, good, world.chain.usdc))
    # A token that returns too much data, or returns too early, moves nothing. That is the token's fault, so
    # it isn't reported.
    assert failed_sweeps(receipt) == ([(bad.address, token)] if trouble in FAILING else [])
    assert world.balance(token, bad.address) == 7
    assert world.coins(recipient) == COIN
    assert world.balance(world.chain.usdc, recipient) == 5


@pytest.mark.parametrize("trouble", [REVERT, REVERT_LARGE, BURN_GAS, RETURN_LARGE])
def test_troublesome_recipient_fails_alone_in_a_batch(world: DepositWorld, trouble: int) -> None:
    bad_recipient, recipient = world.place("TroublesomeRecipient"), new_address()
    world.make_trouble(bad_recipient, trouble)
    bad, good = deposit_for(bad_recipient), deposit_for(recipient)
    world.pay(bad.address, COIN)
    world.pay(good.address, COIN)
    receipt = world.sweep((bad_recipient, bad, ""), (recipient, good, ""))
    assert failed_sweeps(receipt) == ([(bad.address, "")] if trouble in FAILING else [])
    assert world.coins(recipient) == COIN
    # A failed sweep doesn't log a swept coin.
    assert swept_coins([receipt], bad.address) == world.coins(bad_recipient)
    assert world.coins(bad.address) + world.coins(bad_recipient) == COIN


def test_failed_sweep_succeeds_once_the_trouble_is_over(world: DepositWorld) -> None:
    recipient = world.place("TroublesomeRecipient")
    world.make_trouble(recipient, REVERT)
    deposit = deposit_for(recipient)
    world.pay(deposit.address, COIN)
    assert failed_sweeps(world.sweep((recipient, deposit, "")))
    world.make_trouble(recipient, NONE)
    assert not failed_sweeps(world.sweep((recipient, deposit, "")))
    assert world.coins(recipient) == COIN


def test_address_without_code_is_no_token(world: DepositWorld) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    no_token = new_address()
    assert failed_sweeps(world.sweep((recipient, deposit, no_token))) == [(deposit.address, no_token)]


@pytest.mark.parametrize("kind", ["factory", "forwarder", "recipient"])
def test_contract_that_is_no_token_fails_alone(world: DepositWorld, kind: str) -> None:
    recipient = world.place("TroublesomeRecipient")
    deposit = deposit_for(recipient)
    world.pay(deposit.address, COIN)
    no_token = {"factory": FACTORY, "forwarder": deposit.address, "recipient": recipient}[kind]
    receipt = world.sweep((recipient, deposit, no_token), (recipient, deposit, ""))
    assert failed_sweeps(receipt) == [(deposit.address, no_token)]
    assert world.coins(recipient) == COIN


def test_recipient_that_sweeps_in_between_gets_no_more(world: DepositWorld) -> None:
    recipient = world.place("TroublesomeRecipient")
    one, other = deposit_for(recipient), deposit_for(recipient)
    world.make_trouble(recipient, CALL_BACK, one.address, forwarder_sweep(""))
    world.pay(one.address, COIN)
    world.pay(other.address, 2 * COIN)
    receipt = world.sweep((recipient, one, ""), (recipient, other, ""))
    assert failed_sweeps(receipt) == []
    assert world.coins(recipient) == 3 * COIN
    assert swept_coins([receipt], one.address) == COIN


def test_recipient_that_enters_the_factory_gets_no_more(world: DepositWorld) -> None:
    recipient, other_recipient = world.place("TroublesomeRecipient"), new_address()
    one, other = deposit_for(recipient), deposit_for(other_recipient)
    call = sweep_call(
        [Sweep(other_recipient, other.salt, ""), Sweep(recipient, one.salt, "")], gas_per_sweep=50_000
    )
    world.make_trouble(recipient, CALL_BACK, FACTORY, call.data)
    world.pay(one.address, COIN)
    world.pay(other.address, 2 * COIN)
    # While the first row is swept, the recipient deploys and sweeps the second.
    receipt = world.sweep((recipient, one, ""), (other_recipient, other, ""), gas_per_sweep=1_000_000)
    assert failed_sweeps(receipt) == []
    assert world.coins(recipient) == COIN
    assert world.coins(other_recipient) == 2 * COIN


def test_token_that_sweeps_in_between_moves_nothing_twice(world: DepositWorld) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    token = world.place("TroublesomeToken", token=True)
    world.make_trouble(token, CALL_BACK, deposit.address, forwarder_sweep(token))
    world.mint(token, deposit.address, 7)
    world.sweep((recipient, deposit, token), gas_per_sweep=2_000_000)
    assert world.balance(token, recipient) + world.balance(token, deposit.address) == 7
    world.make_trouble(token, NONE)
    world.sweep((recipient, deposit, token))
    assert world.balance(token, recipient) == 7


def test_token_that_enters_the_factory_moves_nothing_twice(world: DepositWorld) -> None:
    recipient, other_recipient = new_address(), new_address()
    one, other = deposit_for(recipient), deposit_for(other_recipient)
    token = world.place("TroublesomeToken", token=True)
    rows = [Sweep(other_recipient, other.salt, token), Sweep(recipient, one.salt, token)]
    world.make_trouble(token, CALL_BACK, FACTORY, sweep_call(rows, gas_per_sweep=200_000).data)
    world.mint(token, one.address, 7)
    world.mint(token, other.address, 11)
    world.sweep((recipient, one, token), (other_recipient, other, token), gas_per_sweep=2_000_000)
    world.make_trouble(token, NONE)
    world.sweep((recipient, one, token), (other_recipient, other, token))
    assert (world.balance(token, recipient), world.balance(token, other_recipient)) == (7, 11)


@pytest.mark.parametrize("artifact", ["FeeToken", "ArrivalFeeToken"])
def test_token_with_a_fee_leaves_nothing_behind(world: DepositWorld, artifact: str) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    token = world.place(artifact, token=True)
    world.mint(token, deposit.address, 1000)
    assert failed_sweeps(world.sweep((recipient, deposit, token))) == []
    assert world.balance(token, deposit.address) == 0
    assert world.balance(token, recipient) == 990


def test_batch_with_too_little_gas_changes_nothing(world: DepositWorld) -> None:
    recipient = new_address()
    deposits = [deposit_for(recipient) for _ in range(3)]
    for deposit in deposits:
        world.pay(deposit.address, 1)
    call = sweep_call([Sweep(recipient, deposit.salt, "") for deposit in deposits])
    assert not world.succeeded(call.to, call.data, gas=GAS_PER_SWEEP + 100_000)
    assert [world.coins(deposit.address) for deposit in deposits] == [1, 1, 1]
    assert world.code(deposits[0].address) == b""


def test_estimated_gas_suffices_for_every_sweep(world: DepositWorld) -> None:
    recipient = world.place("TroublesomeRecipient")
    world.make_trouble(recipient, CALL_BACK, NATIVE, b"")
    deposits = [deposit_for(recipient) for _ in range(4)]
    for deposit in deposits:
        world.pay(deposit.address, 1)
    call = sweep_call([Sweep(recipient, deposit.salt, "") for deposit in deposits])
    question = {"from": world.stranger, "to": call.to, "data": "0x" + call.data.hex()}
    gas = int(world.chain.rpc("eth_estimateGas", question), 16)
    assert failed_sweeps(world.call(call.to, call.data, gas=gas)) == []
    assert world.coins(recipient) == 4


@pytest.mark.parametrize("gas_per_sweep", [0, 1000, 2**256 - 1])
def test_absurd_gas_per_sweep_loses_nothing(world: DepositWorld, gas_per_sweep: int) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    world.pay(deposit.address, COIN)
    world.sweep((recipient, deposit, ""), gas_per_sweep=gas_per_sweep)
    assert world.coins(deposit.address) == COIN
    world.sweep((recipient, deposit, ""))
    assert world.coins(recipient) == COIN


def test_hundred_addresses_are_swept_in_one_transaction(world: DepositWorld) -> None:
    recipient = new_address()
    deposits = [deposit_for(recipient) for _ in range(100)]
    call = sweep_call([Sweep(recipient, deposit.salt, "") for deposit in deposits])
    for deposit in deposits:
        world.chain.rpc("anvil_setBalance", deposit.address, hex(COIN))
    receipt = world.call(call.to, call.data, gas=2**24)
    assert failed_sweeps(receipt) == []
    assert world.coins(recipient) == 100 * COIN
