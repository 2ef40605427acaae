"""The calls that deploy the factory and sweep."""

from uuid import UUID

from eth_abi.abi import decode
from eth_utils.crypto import keccak

from chains.families.base import Sweep
from chains.families.evm.deposits.addresses import DEPLOYER, FACTORY, create2_address, deposit_of
from chains.families.evm.deposits.calls import factory_deployment, sweep_call

RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
TOKEN = "0x700b6A60ce7EaaEA56F065753d8dcB9653dbAD35"


def test_deployment_creates_the_factory_at_its_address() -> None:
    call = factory_deployment()
    assert (call.to, call.value) == (DEPLOYER, 0)
    assert create2_address(DEPLOYER, call.data[:32], keccak(call.data[32:])) == FACTORY


def test_sweep_names_recipient_salt_and_token_of_each_row() -> None:
    salts = [deposit_of(RECIPIENT, UUID(int=number)).salt for number in (1, 2)]
    call = sweep_call(
        [Sweep(RECIPIENT, salts[0], TOKEN), Sweep(RECIPIENT.lower(), salts[1], "")], gas_per_sweep=9
    )
    assert (call.to, call.value) == (FACTORY, 0)
    assert call.data[:4] == keccak(text="sweep((address,bytes32,address)[],uint256)")[:4]
    rows, gas = decode(["(address,bytes32,address)[]", "uint256"], call.data[4:])
    assert gas == 9
    assert [(recipient, salt.hex(), token) for recipient, salt, token in rows] == [
        (RECIPIENT.lower(), salts[0][2:], TOKEN.lower()),
        (RECIPIENT.lower(), salts[1][2:], "0x" + "00" * 20),
    ]
