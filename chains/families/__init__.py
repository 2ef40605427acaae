"""The families of chains, each a folder here, and the only way to a chain: `get_client(chain)`.

A folder is found by being here: its package has one `FAMILY`, a `chains.families.base.Family`, with the folder's name
as key. Nothing else names it.
"""

import os
import pkgutil
from collections.abc import Mapping, Sequence
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
    "choices",
    "clients_of_each_node",
    "families",
    "families_by_looks",
    "family_of",
    "get_client",
    "label_of",
    "read_address",
]

# How far a node may stay behind the others, or fall behind itself, before it is set aside.
LAG_SECONDS = 40
FEWEST_BLOCKS_OF_LAG = 3


class UnknownFamily(LookupError):
    """No folder here has this name: the chain was made by a deployment that had one."""


class ChainRow(Protocol):
    """A chain of the catalogue, as far as its client depends on it."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def name(self) -> str:
        """Its name for people."""

    @property
    def chain_type(self) -> str:
        """The key of its family."""

    @property
    def network(self) -> str:
        """The name of its cluster, where a family has several."""

    @property
    def rpc_urls(self) -> Sequence[str]:
        """Its nodes, in the order in which they are asked."""

    @property
    def block_time_ms(self) -> int:
        """How long one block takes."""


def families() -> Mapping[str, Family]:
    """Return every family by its key, in alphabetical order. Raises ImportError for a folder without a sound one."""
    return _families(tuple(__path__))


def family_of(chain_type: str) -> Family:
    """Return the family with this key; raises UnknownFamily. Never another one: its decimals would be wrong."""
    try:
        return families()[chain_type]
    except KeyError:
        known = ", ".join(families())
        raise UnknownFamily(f"There is no family of chains {chain_type!r} here, only {known}.") from None


def choices() -> list[tuple[str, str]]:
    """Return key and label of each family, for columns and forms."""
    return [(family.key, family.label) for family in families().values()]


def label_of(chain_type: str) -> str:
    """Return what people call the family, or its key where its folder is gone."""
    family = families().get(chain_type)
    return family.label if family else chain_type


def families_by_looks(text: str) -> list[Family]:
    """Return the families that an address or a hash may be of: those whose mark it bears, else those without a mark."""
    beginning = text[:_LONGEST_MARK].lower()
    every = families().values()
    marked = [family for family in every if family.address_mark and beginning.startswith(family.address_mark)]
    return marked or [family for family in every if not family.address_mark]


def read_address(text: str) -> tuple[Family, str]:
    """Return the family and the canonical address that `text` writes.

    Raises AddressError where it is no address of any family, and where it is one of several.
    """
    read, problems = [], []
    likely = families_by_looks(text)
    for family in likely:
        try:
            read.append((family, family.normalise_address(text)))
        except AddressError as error:
            problems.append(str(error))
    if len(read) > 1:
        labels = " or ".join(family.label for family, _ in read)
        raise AddressError(
            f"This may be an address of {labels} chains, so it can't be taken without its chain."
        )
    if not read:
        others = [family for family in families().values() if family not in likely]
        raise AddressError(" ".join([*problems, *(hint for each in others if (hint := each.address_hint))]))
    return read[0]


def get_client(chain: ChainRow) -> ChainClient:
    """Return the client for `chain`; it is kept, with its connections, for as long as the chain's nodes stay the same.

    Raises ChainError (permanent) for an unknown family or a chain without a usable node.
    """
    return _client_for(chain, node_urls(chain))


def node_urls(chain: ChainRow) -> tuple[str, ...]:
    """Return the chain's node addresses in order, each once, `env:NAME` read from the environment.

    Once, since a node that is listed twice must not agree with itself.
    """
    urls = (os.environ.get(url[4:], "") if url.startswith("env:") else url for url in chain.rpc_urls)
    return tuple(dict.fromkeys(url for url in urls if url))


def clients_of_each_node(chain: ChainRow) -> list[ChainClient]:
    """Return one client for each configured node, so that each can be asked by itself. Raises ChainError."""
    return [_client_for(chain, (url,)) for url in node_urls(chain)]


def head_allowance(chain: ChainRow) -> int:
    """Return how many blocks a node of this chain may be behind: LAG_SECONDS' worth, three at least."""
    return max(FEWEST_BLOCKS_OF_LAG, LAG_SECONDS * 1000 // chain.block_time_ms)


def _client_for(chain: ChainRow, urls: tuple[str, ...]) -> ChainClient:
    family = families().get(chain.chain_type)
    if family is None:
        raise ChainError(f"{chain.name}: payments on this kind of chain are not offered", permanent=True)
    return _client(family, Network(chain.id, chain.network, urls, head_allowance(chain)))


@lru_cache(maxsize=512)
def _client(family: Family, network: Network) -> ChainClient:
    return family.make_client(network)


_LONGEST_MARK = 32


@lru_cache(maxsize=8)
def _families(path: tuple[str, ...]) -> Mapping[str, Family]:
    found = {}
    for module in sorted(pkgutil.iter_modules(path), key=lambda each: each.name):
        if not module.ispkg:
            continue
        family = getattr(import_module(f"{__name__}.{module.name}"), "FAMILY", None)
        if not isinstance(family, Family) or family.key != module.name:
            raise ImportError(f"chains/families/{module.name} needs a FAMILY with the key {module.name!r}")
        found[family.key] = family
    return MappingProxyType(found)
