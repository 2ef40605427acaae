"""Compute the addresses of the factory and of deposits, without a network.

Sources: EIP-1014 (CREATE2), github.com/Arachnid/deterministic-deployment-proxy, contracts/ForwarderFactory.sol.
"""

from typing import Final
from uuid import UUID

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from chains.families.base import Deposit
from chains.families.evm.abi import account_bytes
from chains.families.evm.calls import address_word
from chains.families.evm.deposits.shipped import FACTORY as _FACTORY
from chains.families.evm.deposits.shipped import FORWARDER
from chains.families.evm.quantities import to_hex

DEPLOYER: Final = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""The usual CREATE2 deployer: a call with a salt and init code deploys a contract. It has one address on all chains."""

FACTORY_SALT: Final = bytes(32)


def create2_address(deployer: str, salt: bytes, init_code_hash: bytes) -> str:
    """Return the address of the contract that `deployer` creates with this salt of 32 bytes."""
    digest = keccak(b"\xff" + account_bytes(deployer) + salt + init_code_hash)
    return to_checksum_address(digest[-20:])


FACTORY: Final = create2_address(DEPLOYER, FACTORY_SALT, keccak(_FACTORY.init_code))
"""The factory's address on every chain."""


def init_code(recipient: str) -> bytes:
    """Return the code that deploys a forwarder for `recipient`. The last word of the code is the recipient."""
    return FORWARDER.init_code + address_word(recipient)


def deposit_of(recipient: str, request_id: UUID) -> Deposit:
    """Return the deposit address of a payment request. The address is the same on every EVM chain."""
    code = init_code(recipient)
    salt, code_hash = keccak(request_id.bytes), keccak(code)
    return Deposit(
        address=create2_address(FACTORY, salt, code_hash),
        factory=FACTORY,
        salt=to_hex(salt),
        init_code=to_hex(code),
        init_code_hash=to_hex(code_hash),
    )
