"""If a chain derives addresses in another way, the factory rejects each call."""

import pytest

from chains.families.base import Sweep
from chains.families.evm.deposits.calls import sweep_call
from chains.families.evm.deposits.shipped import FACTORY as FACTORY_CONTRACT
from demo.contracts.deploy import ChainRefusal
from tests.support.chains.deposits import DepositWorld, call_data, deposit_for, new_address

# The prefix of EIP-1014 in the compiled factory: PUSH1 0xff PUSH1 0xf8 SHL. Tron uses 0x41 instead of 0xff.
PREFIX, OTHER_PREFIX = bytes.fromhex("60ff60f81b"), bytes.fromhex("604160f81b")


def test_factory_deploys_nothing_where_addresses_differ(world: DepositWorld) -> None:
    # The test can't change the chain. So it changes the factory, which then expects another chain's
    # addresses.
    assert FACTORY_CONTRACT.code.count(PREFIX) == 1
    factory, recipient = new_address(), new_address()
    code = FACTORY_CONTRACT.code.replace(PREFIX, OTHER_PREFIX)
    world.chain.rpc("anvil_setCode", factory, "0x" + code.hex())
    deposit = deposit_for(recipient)
    data = sweep_call([Sweep(recipient, deposit.salt, "")]).data
    with pytest.raises(ChainRefusal, match=call_data("OtherAddress()").hex()):
        world.chain.rpc("eth_call", {"to": factory, "data": "0x" + data.hex()}, "latest")
    assert not world.succeeded(factory, data)
    assert int(world.chain.rpc("eth_getTransactionCount", factory, "latest"), 16) == 0
