"""Look up chains and tokens by an ID that a caller sent.

The ID may be any integer. Chains of a family that is no longer installed are not found, because their addresses and
amounts can't be read. Don't change the returned objects: threads share them (`config.database.process_cache`).
"""

from chains.families import families
from chains.models import Chain, Token
from config.database.compiled_query import CompiledQuery
from config.database.process_cache import ProcessCache

LARGEST_ID = 2**63 - 1
"""The largest possible chain or token ID; PostgreSQL rejects a comparison with a larger number."""

_chain: CompiledQuery[Chain] = CompiledQuery(lambda id: Chain.objects.order_by().filter(pk=id), id=7_777_777)
_token: CompiledQuery[Token] = CompiledQuery(lambda id: Token.objects.order_by().filter(pk=id), id=7_777_777)


def find_chain(number: int, *, active_only: bool = True) -> Chain | None:
    """Return the chain with this ID, or None. Pass `active_only=False` to include inactive chains."""
    chain = _chains.get(number) if 0 <= number <= LARGEST_ID else None
    if chain is None or chain.chain_type not in families() or (active_only and not chain.is_active):
        return None
    return chain


def find_token(number: int, *, active_only: bool = True) -> Token | None:
    """Return the token with this ID and its chain, or None. Pass `active_only=False` to include inactive tokens."""
    token = _tokens.get(number) if 0 <= number <= LARGEST_ID else None
    if token is None or token.chain.chain_type not in families() or (active_only and not token.is_active):
        return None
    return token


def active_chains() -> tuple[Chain, ...]:
    """Return the active chains by ID. Chains whose family is no longer installed are omitted."""
    installed = families()
    return tuple(chain for chain in _lists.get("active") or () if chain.chain_type in installed)


def chain_by_id(chain_id: int) -> Chain:
    """Return the chain that a stored row names. Raises Chain.DoesNotExist."""
    chain = _chains.get(chain_id)
    if chain is None:
        raise Chain.DoesNotExist
    return chain


def token_by_id(token_id: int) -> Token:
    """Return the token that a stored row names, with its chain. Raises Token.DoesNotExist."""
    token = _tokens.get(token_id)
    if token is None:
        raise Token.DoesNotExist
    return token


def _load_chain(chain_id: int) -> Chain | None:
    return _chain.first(id=chain_id)


def _load_token(token_id: int) -> Token | None:
    token = _token.first(id=token_id)
    if token is not None:
        token.chain = chain_by_id(token.chain_id)
    return token


def _load_list(_name: str) -> tuple[Chain, ...]:
    return tuple(Chain.objects.filter(is_active=True))


_lists = ProcessCache(_load_list)
_chains = ProcessCache(_load_chain)
_tokens = ProcessCache(_load_token)
