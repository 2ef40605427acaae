"""Looking chains and tokens up by a number that a caller sent: it may be any number, and is judged here alone."""

from chains.models import Chain, Token

LARGEST_ID = 2**63 - 1
"""The largest number that can name a chain or a token; the database refuses to compare with a larger one."""


def find_chain(number: int, *, active_only: bool = True) -> Chain | None:
    """Return the chain with this id, or None. An inactive one is found only where `active_only` is false."""
    chains = Chain.objects.filter(is_active=True) if active_only else Chain.objects.all()
    return chains.filter(pk=number).first() if 0 <= number <= LARGEST_ID else None


def find_token(number: int, *, active_only: bool = True) -> Token | None:
    """Return the token with this id, its chain loaded, or None; as `find_chain` does."""
    tokens = Token.objects.select_related("chain")
    tokens = tokens.filter(is_active=True) if active_only else tokens
    return tokens.filter(pk=number).first() if 0 <= number <= LARGEST_ID else None
