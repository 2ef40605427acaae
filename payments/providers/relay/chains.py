"""Map Relay's chain numbers and names to our chain ids.

Relay's API uses numbers: the chain id on EVM, its own numbers elsewhere. Relay's orders use names. A chain that is
not in this table is not supported. Source of the names: relayprotocol/relay-settlement, packages/networks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from payments.providers import reading


@dataclass(frozen=True)
class RelayChain:
    """`chain_id` is ours, `number` is Relay's, and `names` are used in Relay's orders."""

    chain_id: int
    number: int
    names: tuple[str, ...]


def _evm(chain_id: int, *names: str) -> RelayChain:
    return RelayChain(chain_id, chain_id, names)


_CHAINS: Sequence[RelayChain] = (
    _evm(1, "ethereum"),
    _evm(10, "optimism"),
    _evm(56, "bnb", "bsc"),
    _evm(137, "polygon"),
    _evm(8453, "base"),
    _evm(42161, "arbitrum"),
    _evm(43114, "avalanche"),
    RelayChain(1151111081099710, 792703809, ("solana",)),
    _evm(84532, "base-sepolia"),
    _evm(11155111, "sepolia"),
)
_NUMBERS = {chain.chain_id: chain.number for chain in _CHAINS}
_BY_NUMBER = {chain.number: chain.chain_id for chain in _CHAINS}
_BY_NAME = {name: chain.chain_id for chain in _CHAINS for name in chain.names}


def number_of(chain_id: int) -> int | None:
    return _NUMBERS.get(chain_id)


def chain_numbered(number: Any, what: str) -> int:
    """Return our id for a chain number of Relay. Raises ProviderDown if the chain is not supported."""
    chain_id = _BY_NUMBER.get(reading.chain_id(number, what))
    if chain_id is None:
        raise reading.malformed(what)
    return chain_id


def chain_named(name: str) -> int | None:
    """Return our id for a chain name in an order, or None."""
    return _BY_NAME.get(name)
