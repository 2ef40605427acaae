"""Registry of chain families. `get_client(chain)` returns a chain's client.

Each subpackage here is a family. A family's package defines `FAMILY`, a `chains.families.base.Family` whose key is the
folder's name. Families are discovered automatically.
"""

import os
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Protocol

from chains.client import ChainClient, ChainError
from chains.families.base import AddressError, Family, HashError, Network, SignatureError

__all__ = [
    "AddressError",
    "ChainClient",
    "ChainError",
    "Family",
    "HashError",
    "SignatureError",
    "UnknownFamily",
    "candidate_families",
    "choices",
    "clients_of_each_node",
    "families",
    "family_of",
    "get_client",
    "label_of",
    "read_address",
]

# A node is set aside if its head is further than this behind the other nodes' heads, or behind a head that the node
# itself reported before.
LAG_SECONDS = 40
MIN_BLOCKS_OF_LAG = 3
_LONGEST_MARK = 32


class UnknownFamily(LookupError):
    """The chain's family is not installed."""


class ChainRow(Protocol):
    """The fields of a chain in the catalogue that its client needs."""

    @property
    def id(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def chain_type(self) -> str: ...

    @property
    def network(self) -> str: ...

    @property
    def rpc_urls(self) -> Sequence[str]: ...

    @property
    def block_time_ms(self) -> int: ...

    @property
    def l1_fee_oracle(self) -> str: ...

    @property
    def min_tip_wei(self) -> int: ...


def families() -> Mapping[str, Family]:
    """Return the families by key, in alphabetical order. Raises ImportError for a folder without a valid FAMILY."""
    return _families(tuple(__path__))


def family_of(chain_type: str) -> Family:
    """Return the family with this key. Raises UnknownFamily. There is no fallback, because its decimals would be
    wrong.
    """
    try:
        return families()[chain_type]
    except KeyError:
        installed = ", ".join(families())
        raise UnknownFamily(f"Unknown chain family {chain_type!r}. Installed: {installed}.") from None


def choices() -> list[tuple[str, str]]:
    """Return the key and label of each family, as Django choices."""
    return [(family.key, family.label) for family in families().values()]


def label_of(chain_type: str) -> str:
    """Return the family's label, or its key if it is not installed."""
    family = families().get(chain_type)
    return family.label if family else chain_type


def candidate_families(text: str) -> list[Family]:
    """Return the families whose addresses or hashes can begin like `text`."""
    beginning = text[:_LONGEST_MARK].lower()
    every = families().values()
    marked = [family for family in every if family.address_mark and beginning.startswith(family.address_mark)]
    return marked or [family for family in every if not family.address_mark]


def read_address(text: str) -> tuple[Family, str]:
    """Parse an address of any family; return the family and the canonical address.

    Raises AddressError if the address is valid for no family, or for several.
    """
    read, problems = [], []
    likely = candidate_families(text)
    for family in likely:
        try:
            read.append((family, family.normalise_address(text)))
        except AddressError as error:
            problems.append(str(error))
    if len(read) > 1:
        labels = " or ".join(family.label for family, _ in read)
        raise AddressError(f"This address is valid on {labels} chains. Choose the chain first.")
    if not read:
        others = [family for family in families().values() if family not in likely]
        raise AddressError(" ".join([*problems, *(hint for each in others if (hint := each.address_hint))]))
    return read[0]


def get_client(chain: ChainRow) -> ChainClient:
    """Return the client for `chain`. The client and its connections are cached until the chain's nodes change.

    Raises ChainError (permanent) for an unknown family or a chain without a usable node.
    """
    return _client_for(chain, node_urls(chain))


def node_urls(chain: ChainRow) -> tuple[str, ...]:
    """Return the chain's node URLs in order, with `env:NAME` resolved and without duplicates.

    A node that is listed twice must not form a quorum with itself.
    """
    return _resolved(chain.rpc_urls)


def socket_urls(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the WebSocket URLs of a catalogue chain in order, with `env:NAME` resolved and without duplicates."""
    return _resolved(urls)


def _resolved(names: Iterable[str]) -> tuple[str, ...]:
    urls = (os.environ.get(name[4:], "") if name.startswith("env:") else name for name in names)
    return tuple(dict.fromkeys(url for url in urls if url))


def clients_of_each_node(chain: ChainRow) -> list[ChainClient]:
    """Return one client per configured node. Raises ChainError."""
    return [_client_for(chain, (url,)) for url in node_urls(chain)]


def head_allowance(chain: ChainRow) -> int:
    """Return how many blocks a node may be behind: as many as the chain adds in LAG_SECONDS, but at least
    MIN_BLOCKS_OF_LAG.
    """
    return max(MIN_BLOCKS_OF_LAG, LAG_SECONDS * 1000 // chain.block_time_ms)


def _client_for(chain: ChainRow, urls: tuple[str, ...]) -> ChainClient:
    family = families().get(chain.chain_type)
    if family is None:
        raise ChainError(
            f"{chain.name}: the chain family {chain.chain_type!r} is not installed", permanent=True
        )
    return _client(family, _network(chain, urls))


def _network(chain: ChainRow, urls: tuple[str, ...]) -> Network:
    return Network(
        chain.id, chain.network, urls, head_allowance(chain), chain.l1_fee_oracle, chain.min_tip_wei
    )


@lru_cache(maxsize=512)
def _client(family: Family, network: Network) -> ChainClient:
    return family.make_client(network)


@lru_cache(maxsize=8)
def _families(path: tuple[str, ...]) -> Mapping[str, Family]:
    by_key = {}
    for module in sorted(pkgutil.iter_modules(path), key=lambda each: each.name):
        if not module.ispkg:
            continue
        family = getattr(import_module(f"{__name__}.{module.name}"), "FAMILY", None)
        if not isinstance(family, Family) or family.key != module.name:
            raise ImportError(f"chains/families/{module.name} needs a FAMILY with the key {module.name!r}")
        by_key[family.key] = family
    return MappingProxyType(by_key)
