"""Fetch a wallet's balances from several chains in parallel."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from chains.families import get_client
from chains.models import Chain
from checkout.fan_out import query_all
from config.api.errors import ErrorCode

DEADLINE_SECONDS = 5.0


@dataclass(frozen=True)
class ChainBalances:
    """Balances in base units, by chain id and token address.

    An empty address is the native coin. A failed chain has an error code.
    """

    balances: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    unavailable: Mapping[int, ErrorCode] = field(default_factory=dict)


def fetch_balances(owner: str, tokens: Mapping[Chain, list[str]]) -> ChainBalances:
    """Return the owner's balances of these tokens.

    A chain that takes longer than DEADLINE_SECONDS counts as unavailable.
    """

    def query_chain(chain: Chain) -> Mapping[str, int]:
        return get_client(chain).balances(owner, tokens[chain])

    results = query_all(tokens, query_chain, within_seconds=DEADLINE_SECONDS, about="a wallet's balances")
    unavailable = {chain.pk: ErrorCode.NODE_UNAVAILABLE for chain in tokens if chain not in results}
    return ChainBalances({chain.pk: balances for chain, balances in results.items()}, unavailable)
