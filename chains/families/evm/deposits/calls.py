"""Build the calls that deploy the factory and sweep deposits. Any account may send them."""

from collections.abc import Sequence
from typing import Any, Final

from web3 import Web3
from web3.providers.base import BaseProvider

from chains.client import EvmCall
from chains.families.base import Sweep
from chains.families.evm.abi import account_bytes
from chains.families.evm.deposits.addresses import DEPLOYER, FACTORY, FACTORY_SALT
from chains.families.evm.deposits.shipped import FACTORY as _FACTORY

GAS_PER_SWEEP: Final = 300_000
"""The maximum gas of one sweep: several times the usual gas, so that a malicious token can't use up a block."""

# The contract only encodes calls, so it needs no node and no middleware.
_CONTRACT: Any = Web3(BaseProvider(), middleware=[]).eth.contract(abi=_FACTORY.abi)


def factory_deployment() -> EvmCall:
    """Return the call that deploys the factory to `FACTORY`. The call reverts if the factory exists."""
    return EvmCall(DEPLOYER, FACTORY_SALT + _FACTORY.init_code)


def sweep_call(sweeps: Sequence[Sweep], *, gas_per_sweep: int = GAS_PER_SWEEP) -> EvmCall:
    """Return the call that sweeps these deposits. The call first deploys the forwarders that have no code yet."""
    rows = [
        (
            account_bytes(sweep.recipient),
            bytes.fromhex(sweep.salt[2:]),
            account_bytes(sweep.token) if sweep.token else bytes(20),
        )
        for sweep in sweeps
    ]
    data = _CONTRACT.encode_abi("sweep", args=[rows, gas_per_sweep])
    return EvmCall(FACTORY, bytes.fromhex(data[2:]))
