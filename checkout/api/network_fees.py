"""Estimate the network fee of a direct payment; the customer's wallet later shows the exact fee."""

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
    """Return the usual cost of a transfer of the token, in base units of its chain's coin; None if unknown.

    Cached for KEPT_SECONDS per chain. Takes at most DEADLINE_SECONDS, so that routes are not delayed.
    """
    key = f"network-fee:{token.chain_id}:{'coin' if token.is_native else 'token'}"
    with suppress(RedisError):
        if isinstance(cached := cache.get(key), int):
            return None if cached == _UNKNOWN else cached
    fees = query_all(
        [token.chain],
        lambda chain: client(chain).usual_fee(token.contract_address),
        within_seconds=DEADLINE_SECONDS,
        about="the network fee",
    )
    fee = fees.get(token.chain)
    with suppress(RedisError):
        cache.set(key, _UNKNOWN if fee is None else fee, KEPT_SECONDS)
    return fee
