"""Looking chains and tokens up by a number that a caller sent: it may be any number, and is judged here alone.

A chain whose family's folder is gone is not found: without its decimals and addresses nothing can be done with it.
"""

from chains.families import families
from chains.models import Chain, Token

LARGEST_ID = 2**63 - 1
"""The largest number that can name a chain or a token; the database refuses to compare with a larger one."""


def find_chain(number: int, *, active_only: bool = True) -> Chain | None:
    """Return the chain with this id, or None. An inactive one is found only where `active_only` is false."""
    chains = Chain.objects.filter(chain_type__in=families())
    chains = chains.filter(is_active=True) if active_only else chains
    return chains.filter(pk=number).first() if 0 <= number <= LARGEST_ID else None


def find_token(number: int, *, active_only: bool = True) -> Token | None:
    """Return the token with this id, its chain loaded, or None; as `find_chain` does."""
    tokens = Token.objects.filter(chain__chain_type__in=families()).select_related("chain")
    tokens = tokens.filter(is_active=True) if active_only else tokens
    return tokens.filter(pk=number).first() if 0 <= number <= LARGEST_ID else None
