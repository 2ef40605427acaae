"""On a real node, native coin that a forwarder received is counted before and after sweeps and reorganisations."""

import pytest

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from chains.families.evm.deposits import coins
from chains.families.evm.deposits.coins import READER
from tests.support.chains.deposits import DepositWorld, deposit_for, forwarder_sweep, new_address


def height(world: DepositWorld) -> int:
    return int(world.chain.rpc("eth_blockNumber"), 16)


def test_coins_count_as_received_whoever_sweeps_them(world: DepositWorld) -> None:
    recipient = new_address()
    deposit, quiet = deposit_for(recipient), deposit_for(recipient)
    client, start = EvmClient([world.chain.url], world.chain.chain_id), height(world)

    def received(at: int) -> tuple[int, int]:
        addresses = [deposit.address, quiet.address]
        amounts = client.coins_received(addresses, since_block=start, at_block=at).amounts
        return amounts[deposit.address], amounts[quiet.address]

    world.pay(deposit.address, 7)
    paid = height(world)
    assert (received(start), received(paid)) == ((0, 0), (7, 0))
    world.sweep((recipient, deposit, ""))
    assert received(height(world)) == (7, 0)
    world.pay(deposit.address, 5)
    assert received(height(world)) == (12, 0)
    assert world.succeeded(deposit.address, forwarder_sweep(""))
    assert (world.coins(recipient), received(height(world)), received(paid)) == (12, (12, 0), (7, 0))


def test_sweeps_up_to_the_stable_block_are_returned_as_well(world: DepositWorld) -> None:
    recipient = new_address()
    deposit, start = deposit_for(recipient), height(world)
    client = EvmClient([world.chain.url], world.chain.chain_id)
    world.pay(deposit.address, 7)
    world.sweep((recipient, deposit, ""))
    stable = height(world)
    world.pay(deposit.address, 5)
    world.sweep((recipient, deposit, ""))
    last = height(world)
    read = client.coins_received([deposit.address], since_block=start, at_block=last, stable_block=stable)
    assert (read.amounts, read.swept) == ({deposit.address: 12}, {deposit.address: 7})
    later = client.coins_received([deposit.address], since_block=stable + 1, at_block=last)
    assert (later.amounts, later.swept) == ({deposit.address: 5}, {})


def test_blocks_and_head_are_read_without_transactions(world: DepositWorld) -> None:
    client, last = EvmClient([world.chain.url], world.chain.chain_id), height(world)
    assert client.look_up([], with_finality=True).head.latest == last
    found = client.blocks([1, last, last + 5])
    assert set(found) == {1, last}
    assert found[last].hash == world.chain.rpc("eth_getBlockByNumber", hex(last), False)["hash"]
    assert client.blocks([]) == {}


def test_one_call_reads_many_balances_at_an_earlier_block(world: DepositWorld) -> None:
    addresses = [new_address() for _ in range(50)]
    for amount, address in enumerate(addresses[:3], 1):
        world.pay(address, amount)
    block = world.chain.rpc("eth_getBlockByNumber", "latest", False)["hash"]
    world.pay(addresses[0], 5)
    data = "0x" + "".join(f"{int(each, 16):064x}" for each in addresses)
    pinned = {"blockHash": block, "requireCanonical": True}
    code = {READER: {"code": coins._READING_CODE}}
    output = world.chain.rpc("eth_call", {"to": READER, "data": data}, pinned, code)
    assert [int(output[at : at + 64], 16) for at in range(2, len(output), 64)] == [1, 2, 3] + [0] * 47


def test_block_that_the_node_lacks_has_no_amounts(world: DepositWorld) -> None:
    client = EvmClient([world.chain.url], world.chain.chain_id)
    with pytest.raises(ChainError):
        client.coins_received([new_address()], since_block=1, at_block=height(world) + 10)


def test_coins_of_a_removed_block_are_not_received(world: DepositWorld) -> None:
    deposit, start = deposit_for(new_address()), height(world)
    client = EvmClient([world.chain.url], world.chain.chain_id)
    snapshot = world.chain.rpc("evm_snapshot")
    world.pay(deposit.address, 7)
    seen = client.coins_received([deposit.address], since_block=start, at_block=start + 1)
    world.chain.rpc("evm_revert", snapshot)
    world.chain.rpc("anvil_mine", "0x1", "0x2a")
    now = client.coins_received([deposit.address], since_block=start, at_block=start + 1)
    assert (seen.amounts[deposit.address], now.amounts[deposit.address]) == (7, 0)
    assert seen.block.hash != now.block.hash
