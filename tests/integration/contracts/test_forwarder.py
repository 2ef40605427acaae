"""A deposit address accepts everything, before and after its code is deployed, and sends it only to its recipient."""

import pytest

from chains.families.evm.deposits.addresses import FACTORY, init_code
from chains.families.evm.deposits.shipped import FACTORY as FACTORY_CONTRACT
from tests.support.chains.deposits import (
    NATIVE,
    DepositWorld,
    call_data,
    deposit_for,
    failed_sweeps,
    forwarder_sweep,
    new_address,
    swept_coins,
)

COIN = 10**18


def test_factory_has_the_shipped_code_and_address(world: DepositWorld) -> None:
    assert world.code(FACTORY) == FACTORY_CONTRACT.code


def test_factory_computes_the_same_address(world: DepositWorld) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    question = call_data("addressOf(address,bytes32)", recipient, bytes.fromhex(deposit.salt[2:]))
    computed = world.chain.rpc("eth_call", {"to": FACTORY, "data": "0x" + question.hex()}, "latest")
    assert computed[-40:] == deposit.address[2:].lower()


@pytest.mark.parametrize("asset", ["TestToken", "TetherLike", "FalseAfterTransfer", ""])
def test_everything_before_and_after_deployment_is_swept(world: DepositWorld, asset: str) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    token = world.place(asset, token=True) if asset else ""
    for total in (5, 12, 30):
        before = world.balance(token, recipient)
        if token:
            world.mint(token, deposit.address, total - before)
        else:
            world.pay(deposit.address, total - before)
        assert failed_sweeps(world.sweep((recipient, deposit, token))) == []
        assert world.balance(token, recipient) == total
        assert world.balance(token, deposit.address) == 0


def test_repeated_sweep_of_nothing_moves_nothing(world: DepositWorld) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    world.pay(deposit.address, COIN)
    receipts = [world.sweep((recipient, deposit, "")) for _ in range(3)]
    assert world.coins(recipient) == COIN
    assert swept_coins(receipts, deposit.address) == COIN


def test_native_coin_costs_less_than_the_stipend(world: DepositWorld) -> None:
    sender = world.place("StipendSender")
    recipient = new_address()
    deposit = deposit_for(recipient)
    pay = call_data("pay(address)", deposit.address)
    assert world.succeeded(sender, pay, value=1)
    world.sweep((recipient, deposit, ""))
    assert world.code(deposit.address)
    assert world.succeeded(sender, pay, value=2)
    assert world.coins(deposit.address) == 2
    # A plain transfer costs 21,000 gas. The forwarder uses the gas beyond that.
    assert int(world.call(deposit.address, value=3)["gasUsed"], 16) - 21_000 < 100


def test_anyone_may_sweep_a_forwarder_without_the_factory(world: DepositWorld) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    world.sweep((recipient, deposit, ""))
    world.pay(deposit.address, COIN)
    assert world.succeeded(deposit.address, forwarder_sweep(""))
    assert world.coins(recipient) == COIN


def test_first_sweep_names_a_strangers_recipient_in_vain(world: DepositWorld) -> None:
    recipient, thief = new_address(), new_address()
    deposit = deposit_for(recipient)
    world.pay(deposit.address, COIN)
    world.sweep((thief, deposit, ""), (world.stranger, deposit, ""))
    assert world.coins(thief) == 0
    assert world.coins(deposit.address) == COIN
    assert world.code(deposit.address) == b""
    world.sweep((recipient, deposit, ""))
    assert world.coins(recipient) == COIN


def test_changed_init_code_deploys_to_another_address(world: DepositWorld) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    deployer = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
    original = init_code(recipient)
    for code in (original, original[:-1] + bytes([original[-1] ^ 1]), original + b"\0"):
        world.call(deployer, bytes.fromhex(deposit.salt[2:]) + code)
    assert world.code(deposit.address) == b""


def test_addresses_differ_by_recipient_and_by_request(world: DepositWorld) -> None:
    one, other = new_address(), new_address()
    deposits = [deposit_for(one), deposit_for(one), deposit_for(other)]
    assert len({deposit.address for deposit in deposits}) == 3


@pytest.mark.parametrize(
    "data",
    [
        b"\1",
        b"\x01\x68\x1a\x62",  # a sweep call without a token
        call_data("transfer(address,uint256)", NATIVE, 1),
        call_data("upgradeTo(address)", NATIVE),
        call_data("onERC721Received(address,address,uint256,bytes)", NATIVE, NATIVE, 1, b""),
    ],
)
def test_forwarder_rejects_every_other_call(world: DepositWorld, data: bytes) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    world.sweep((recipient, deposit, ""))
    world.pay(deposit.address, COIN)
    assert not world.succeeded(deposit.address, data)
    assert not world.succeeded(deposit.address, data, value=1)
    assert not world.succeeded(deposit.address, forwarder_sweep(""), value=1)
    assert world.coins(deposit.address) == COIN


def test_token_address_with_dirty_bits_is_rejected(world: DepositWorld) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    world.sweep((recipient, deposit, ""))
    world.pay(deposit.address, COIN)
    assert not world.succeeded(deposit.address, forwarder_sweep("")[:4] + b"\1" + bytes(31))
    assert world.coins(deposit.address) == COIN


def test_factory_keeps_and_accepts_no_coin(world: DepositWorld) -> None:
    recipient = new_address()
    deposit = deposit_for(recipient)
    assert not world.succeeded(FACTORY, value=1)
    world.pay(deposit.address, COIN)
    world.sweep((recipient, deposit, ""))
    assert world.coins(FACTORY) == 0
