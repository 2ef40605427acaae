"""Look up chains and tokens by an ID that a caller sent. Any integer is safe to pass.

Chains of a family that is no longer installed are not found: their addresses and amounts can't be read.
"""

from chains.families import families
from chains.models import Chain, Token

LARGEST_ID = 2**63 - 1
"""The largest possible chain or token ID; PostgreSQL rejects a comparison with a larger number."""


def find_chain(number: int, *, active_only: bool = True) -> Chain | None:
    """Return the chain with this ID, or None. Pass `active_only=False` to include inactive chains."""
    chains = Chain.objects.filter(chain_type__in=families())
    chains = chains.filter(is_active=True) if active_only else chains
    return chains.filter(pk=number).first() if 0 <= number <= LARGEST_ID else None


def find_token(number: int, *, active_only: bool = True) -> Token | None:
    """Return the token with this ID and its chain, or None. Pass `active_only=False` to include inactive tokens."""
    tokens = Token.objects.filter(chain__chain_type__in=families()).select_related("chain")
    tokens = tokens.filter(is_active=True) if active_only else tokens
    return tokens.filter(pk=number).first() if 0 <= number <= LARGEST_ID else None
