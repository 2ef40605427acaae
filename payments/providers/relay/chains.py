"""Chains as Relay numbers and names them, and as our catalogue does.

Relay numbers chains (EVM ids, and its own for the rest); the orders of its settlement protocol name them. It is asked
about the chains of this table alone. Source of the names: relayprotocol/relay-settlement, packages/networks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from payments.providers import reading


@dataclass(frozen=True)
class RelayChain:
    """A chain: our catalogue's id, Relay's number, and how its orders name it."""

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
    """Return Relay's number of a chain of our catalogue, None where Relay is not asked about it."""
    return _NUMBERS.get(chain_id)


def chain_numbered(number: Any, what: str) -> int:
    """Return our id of the chain that Relay numbers so. Raises ProviderDown for one that was never asked about."""
    found = _BY_NUMBER.get(reading.chain_id(number, what))
    if found is None:
        raise reading.malformed(what)
    return found


def chain_named(name: str) -> int | None:
    """Return our id of the chain that Relay's orders name so, None for any other."""
    return _BY_NAME.get(name)
