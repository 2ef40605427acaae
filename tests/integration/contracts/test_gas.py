"""The gas table of docs/contracts.md has the measured figures."""

import re
from collections.abc import Iterator
from uuid import UUID

import pytest

from chains.families.base import Deposit
from chains.families.evm.deposits.addresses import FACTORY, deposit_of
from chains.families.evm.deposits.calls import factory_deployment
from tests.chain import LocalChain
from tests.processes import REPOSITORY
from tests.support.chains.deposits import DepositWorld, failed_sweeps

RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
BATCH = 50
_ROW = re.compile(r"^\| ([^|]+) \| ([0-9,]+) \|$", re.MULTILINE)


@pytest.fixture
def fresh(local_chain: LocalChain) -> Iterator[DepositWorld]:
    """The shared chain, without forwarders at the measured addresses."""
    snapshot = local_chain.rpc("evm_snapshot")
    world = DepositWorld(local_chain, strangers_key="0x" + "5e" * 32)
    local_chain.rpc("anvil_setBalance", world.stranger, hex(10**24))
    local_chain.rpc("anvil_setCode", FACTORY, "0x")
    local_chain.rpc("anvil_setNonce", FACTORY, "0x0")
    yield world
    local_chain.revert(snapshot)


def measured(world: DepositWorld) -> dict[str, int]:
    usdc = world.chain.usdc
    one, other, *many = [(RECIPIENT, deposit_of(RECIPIENT, UUID(int=number))) for number in range(2 + BATCH)]
    # Give the recipient a balance, as a merchant has who was paid before. A first balance costs more gas.
    world.mint(usdc, RECIPIENT, 1)
    world.pay(RECIPIENT, 1)

    def sweep(*deposits: tuple[str, Deposit], token: str) -> int:
        for _, deposit in deposits:
            if token:
                world.mint(token, deposit.address, 1000)
            else:
                world.pay(deposit.address, 1000)
        receipt = world.sweep(*((recipient, deposit, token) for recipient, deposit in deposits))
        assert failed_sweeps(receipt) == []
        return int(receipt["gasUsed"], 16)

    deployment = factory_deployment()
    deploying = int(world.call(deployment.to, deployment.data)["gasUsed"], 16)
    first_coin, first_token = sweep(one, token=""), sweep(other, token=usdc)
    accepting = int(world.call(one[1].address, value=1)["gasUsed"], 16)
    return {
        "Deploy the factory, once on each chain": deploying,
        "Send native coin to an address after its first sweep": accepting,
        "First sweep of an address, native coin": first_coin,
        "First sweep of an address, a token": first_token,
        "Later sweep of an address, native coin": sweep(one, token=""),
        "Later sweep of an address, a token": sweep(other, token=usdc),
        f"First sweep of {BATCH} addresses, a token, each": sweep(*many, token=usdc) // BATCH,
        f"Later sweep of {BATCH} addresses, a token, each": sweep(*many, token=usdc) // BATCH,
    }


def test_documented_gas_is_the_measured_gas(fresh: DepositWorld) -> None:
    page = (REPOSITORY / "docs" / "contracts.md").read_text()
    documented = {name: int(gas.replace(",", "")) for name, gas in _ROW.findall(page)}
    figures = measured(fresh)
    print("\n".join(f"| {name} | {gas:,} |" for name, gas in figures.items()))
    assert documented == figures
    assert figures["Send native coin to an address after its first sweep"] - 21_000 < 2_300
