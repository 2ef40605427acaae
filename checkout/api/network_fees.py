"""Estimate the fees of a direct payment. The customer's wallet shows the exact fee later."""

from collections.abc import Callable
from contextlib import suppress

from django.core.cache import cache
from redis.exceptions import RedisError

from chains.client import ChainClient
from chains.families import get_client
from chains.models import Chain, Token
from checkout.fan_out import query_all

DEADLINE_SECONDS = 1.0
KEPT_SECONDS = 15
_UNKNOWN = -1

Client = Callable[[Chain], ChainClient]


def usual_fee(token: Token, *, client: Client = get_client) -> int | None:
    """Return the usual fee of a token transfer, in base units of the chain's coin. Return None if it is unknown."""
    key = f"network-fee:{token.chain_id}:{'coin' if token.is_native else 'token'}"
    return _cached(key, token.chain, lambda chain: client(chain).usual_fee(token.contract_address))


def account_deposit(token: Token, recipient: str) -> int | None:
    """Return the deposit for a new token account of the recipient, in base units of the coin.

    Return None if it is unknown.
    """
    key = f"account-deposit:{token.chain_id}:{token.contract_address}:{recipient}"
    return _cached(
        key, token.chain, lambda chain: get_client(chain).account_deposit(token.contract_address, recipient)
    )


def _cached(key: str, chain: Chain, query: Callable[[Chain], int]) -> int | None:
    """Return the cached amount.

    If there is none, query the chain and cache the amount for KEPT_SECONDS. Return None if no node responds.

    The query takes at most DEADLINE_SECONDS, because routes wait for it.
    """
    with suppress(RedisError):
        if isinstance(cached := cache.get(key), int):
            return None if cached == _UNKNOWN else cached
    amounts = query_all([chain], query, within_seconds=DEADLINE_SECONDS, about="the network fee")
    amount = amounts.get(chain)
    with suppress(RedisError):
        cache.set(key, _UNKNOWN if amount is None else amount, KEPT_SECONDS)
    return amount
