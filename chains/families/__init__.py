"""The only way to a chain: `get_client(chain)`."""

import os
from functools import lru_cache

from chains.client import ChainClient, ChainError
from chains.families.evm.client import EvmClient
from chains.models import Chain, ChainType

__all__ = ["ChainClient", "ChainError", "clients_of_each_node", "get_client"]

# How far a node may stay behind the others, or fall behind itself, before it is set aside.
LAG_SECONDS = 40
FEWEST_BLOCKS_OF_LAG = 3


def get_client(chain: Chain) -> ChainClient:
    """Return the client for `chain`; it is kept, with its connections, for as long as the chain's nodes stay the same.

    Raises ChainError (permanent) for a family without a client or a chain without a usable node.
    """
    return _client(chain, node_urls(chain))


def node_urls(chain: Chain) -> tuple[str, ...]:
    """Return the chain's node addresses in order, each once, `env:NAME` read from the environment.

    Once, since a node that stands there twice must not agree with itself.
    """
    urls = (os.environ.get(url[4:], "") if url.startswith("env:") else url for url in chain.rpc_urls)
    return tuple(dict.fromkeys(url for url in urls if url))


def clients_of_each_node(chain: Chain) -> list[ChainClient]:
    """Return one client for each configured node, so that each can be asked by itself. Raises ChainError."""
    return [_client(chain, (url,)) for url in node_urls(chain)]


def head_allowance(chain: Chain) -> int:
    """Return how many blocks a node of this chain may be behind: LAG_SECONDS' worth, three at least."""
    return max(FEWEST_BLOCKS_OF_LAG, LAG_SECONDS * 1000 // chain.block_time_ms)


def _client(chain: Chain, urls: tuple[str, ...]) -> ChainClient:
    if chain.chain_type == ChainType.EVM:
        return _evm_client(chain.id, urls, head_allowance(chain))
    if chain.chain_type == ChainType.SOLANA:
        return _solana_client(chain.id, urls, chain.network, head_allowance(chain))
    raise ChainError(f"{chain.name}: payments on this kind of chain are not offered", permanent=True)


@lru_cache(maxsize=256)
def _evm_client(chain_id: int, urls: tuple[str, ...], allowance: int) -> EvmClient:
    return EvmClient(urls, chain_id, head_allowance=allowance)


@lru_cache(maxsize=256)
def _solana_client(chain_id: int, urls: tuple[str, ...], network: str, allowance: int) -> ChainClient:
    # Here, since Solana's libraries are large and many processes never need them.
    from chains.families.solana.client import SolanaClient

    return SolanaClient(urls, chain_id, network, head_allowance=allowance)
