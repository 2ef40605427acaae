"""The routing providers' lists of tokens with prices, cached.

All processes share the lists in the cache. Each process also has decoded copies in memory. When a list is older
than FRESH_SECONDS, one process refreshes it in the background. Until then the old list is used, for a day at most.

Nothing here raises. Without a list there are no tokens and prices, and the log says why. Prices are for display
only.
"""

import json
import logging
import threading
import time
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import msgspec
from django.core.cache import cache
from redis import RedisError

from chains.models import Chain
from config.api.limits.waiting import Busy, waiting_for
from payments.providers.base import ListedToken, ProviderDown, RoutingProvider
from payments.providers.registry import providers_in_order

logger = logging.getLogger(__name__)

FRESH_SECONDS = 600.0
KEPT_SECONDS = 24 * 3600
MAX_WAIT_SECONDS = 3.0
RETRY_SECONDS = 30.0
MAX_TOKENS = 5000
_CACHE_PAUSE_SECONDS = 5.0
# Increase this number if the format of cached lists changes. Then no process reads lists of another format.
_FORMAT = 2
_MAX_UNPACKED_BYTES = 16 * 1024 * 1024
_Row = tuple[str, str, str, int, str | None, str | None]
_list_decoder = msgspec.json.Decoder(tuple[float, list[_Row]])

Place = tuple[str, int]
"""The key of a list: provider and chain id."""


def keep_fresh() -> None:
    """Refresh lists before they get old, so that no customer waits for them. Starts the work and returns at once."""
    chain_ids = frozenset(Chain.objects.filter(is_active=True).values_list("pk", flat=True))
    if chain_ids:
        _token_lists.renew(providers_in_order(), chain_ids)


def listed_tokens(chain_ids: Sequence[int]) -> list[ListedToken]:
    """Return the providers' tokens on these chains. If several providers list a token, the first one counts.

    Cached lists are returned at once. If a list is not cached, the call waits for it, but at most for
    MAX_WAIT_SECONDS.
    """
    return [token for listed in _merged(chain_ids).values() for token in listed.values()]


def listed_token(chain_id: int, token: str) -> ListedToken | None:
    """Return the entry of a token ("" for native coin)."""
    return _merged([chain_id])[chain_id].get(token)


def price(chain_id: int, token: str) -> Decimal | None:
    listed = listed_token(chain_id, token)
    return listed.usd if listed else None


def usd_value(chain_id: int, token: str, amount: int, decimals: int) -> Decimal | None:
    """Return the value of base units in US dollars, or None if no price is known."""
    usd = price(chain_id, token)
    if usd is None:
        return None
    with localcontext(prec=200):
        return (usd * amount).scaleb(-decimals)


def _merged(chain_ids: Sequence[int]) -> dict[int, Mapping[str, ListedToken]]:
    """Return each chain's tokens by address. Each further provider only adds missing tokens and missing prices."""
    providers = providers_in_order()
    available = _token_lists.lists(providers, frozenset(chain_ids))
    merged: dict[int, Mapping[str, ListedToken]] = {}
    for chain_id in chain_ids:
        lists = [available.get((provider.key, chain_id), {}) for provider in providers]
        merged[chain_id] = _joined([listed for listed in lists if listed])
    return merged


def _joined(lists: Sequence[Mapping[str, ListedToken]]) -> Mapping[str, ListedToken]:
    if len(lists) < 2:
        return lists[0] if lists else {}
    joined: dict[str, ListedToken] = {}
    for listed in lists:
        for address, token in listed.items():
            if address not in joined or (joined[address].usd is None and token.usd is not None):
                joined[address] = token
    return joined


@dataclass(frozen=True)
class _Kept:
    """A decoded list in memory. `made_at` is Unix time."""

    made_at: float
    tokens: Mapping[str, ListedToken]


@dataclass(frozen=True)
class _Refresh:
    job: Future[None]
    waited_for_until: float


class _TokenLists:
    """The decoded lists of this process, updated from the cache. Thread-safe."""

    def __init__(self) -> None:
        self._kept: dict[Place, _Kept] = {}
        self._running: dict[str, _Refresh] = {}
        self._tried_at: dict[str, float] = {}
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="token-lists")

    def lists(
        self, providers: Sequence[RoutingProvider], chain_ids: frozenset[int]
    ) -> dict[Place, Mapping[str, ListedToken]]:
        places = [(provider.key, chain_id) for provider in providers for chain_id in chain_ids]
        available = self._cached(places)
        for provider in providers:
            age = self._age_of_oldest(available, provider, chain_ids)
            if age >= FRESH_SECONDS:
                refresh = self._refresh(provider, chain_ids)
                # Return an old list at once. Wait only if there is none.
                if refresh and age == float("inf"):
                    _wait(refresh)
                    available |= self._cached(places)
        return {place: kept.tokens for place, kept in available.items()}

    def renew(self, providers: Sequence[RoutingProvider], chain_ids: frozenset[int]) -> None:
        """Refresh lists that are past half of their lifetime."""
        available = self._cached(
            [(provider.key, chain_id) for provider in providers for chain_id in chain_ids]
        )
        for provider in providers:
            if self._age_of_oldest(available, provider, chain_ids) >= FRESH_SECONDS / 2:
                self._refresh(provider, chain_ids)

    def _age_of_oldest(
        self, available: Mapping[Place, _Kept], provider: RoutingProvider, chain_ids: frozenset[int]
    ) -> float:
        ages = (self._age(available.get((provider.key, chain_id))) for chain_id in chain_ids)
        return max(ages, default=0.0)

    def _age(self, kept: _Kept | None) -> float:
        return float("inf") if kept is None else max(time.time() - kept.made_at, 0.0)

    def _cached(self, places: Collection[Place]) -> dict[Place, _Kept]:
        """Return the cached lists. Decode new ones. If the cache is down, return the lists in memory."""
        made = _cache.times(places)
        if made is not None:
            self._kept |= _cache.lists([place for place, at in made.items() if not self._has(place, at)])
        cached = {
            place: self._kept[place] for place in (places if made is None else made) if place in self._kept
        }
        return {place: kept for place, kept in cached.items() if self._age(kept) < KEPT_SECONDS}

    def _has(self, place: Place, made_at: float) -> bool:
        return place in self._kept and self._kept[place].made_at == made_at

    def _refresh(self, provider: RoutingProvider, chain_ids: frozenset[int]) -> _Refresh | None:
        """Return the running refresh of the provider's lists. If none is running and none was tried recently, start
        one.
        """
        with self._lock:
            running = self._running.get(provider.key)
            if running and not running.job.done():
                return running
            now = time.monotonic()
            tried_at = self._tried_at.get(provider.key)
            if tried_at is not None and now - tried_at < RETRY_SECONDS and not _cache.is_there():
                return None
            if not _cache.may_refresh(provider.key):
                return None
            self._tried_at[provider.key] = now
            chains = chain_ids | frozenset(Chain.objects.filter(is_active=True).values_list("pk", flat=True))
            job = self._threads.submit(self._fetch, provider, chains)
            self._running[provider.key] = _Refresh(job, now + MAX_WAIT_SECONDS)
            return self._running[provider.key]

    def _fetch(self, provider: RoutingProvider, chain_ids: frozenset[int]) -> None:
        try:
            tokens = provider.tokens(sorted(chain_ids))
        except ProviderDown as error:
            logger.warning("the token lists of %s could not be fetched: %s", provider.key, error)
            return
        except Exception:
            logger.exception("the token lists of %s could not be fetched", provider.key)
            return
        made_at = time.time()
        lists = {
            (provider.key, chain_id): _Kept(made_at, _first_ones(tokens, chain_id)) for chain_id in chain_ids
        }
        self._kept |= lists
        self._tried_at.pop(provider.key, None)
        _cache.store(lists)
        _cache.allow_refresh(provider.key)


def _first_ones(tokens: Iterable[ListedToken], chain_id: int) -> dict[str, ListedToken]:
    of_chain: dict[str, ListedToken] = {}
    for token in tokens:
        if token.chain_id == chain_id and len(of_chain) < MAX_TOKENS:
            of_chain.setdefault(token.token, token)
    return of_chain


def _wait(refresh: _Refresh) -> None:
    """Wait until MAX_WAIT_SECONDS after the refresh started. Don't wait if too many calls are waiting already."""
    with suppress(FutureTimeout, Busy), waiting_for("token lists"):
        refresh.job.result(timeout=max(refresh.waited_for_until - time.monotonic(), 0.0))


class _Cache:
    """The lists in Redis. After an error, Redis is not used for a short time. Methods then return None."""

    def __init__(self) -> None:
        self._resumes_at = 0.0

    def is_there(self) -> bool:
        return time.monotonic() >= self._resumes_at

    def times(self, places: Collection[Place]) -> dict[Place, float] | None:
        """Return when each cached list was made."""
        cached = self._try(lambda: cache.get_many([_key(place, "at") for place in places]))
        if cached is None:
            return None
        times = {place: cached.get(_key(place, "at")) for place in places}
        return {place: at for place, at in times.items() if isinstance(at, float)}

    def lists(self, places: Collection[Place]) -> dict[Place, _Kept]:
        if not places:
            return {}
        cached = self._try(lambda: cache.get_many([_key(place, "tokens") for place in places])) or {}
        packed = {place: cached.get(_key(place, "tokens")) for place in places}
        unpacked = {place: _unpacked(data, place[1]) for place, data in packed.items()}
        return {place: kept for place, kept in unpacked.items() if kept is not None}

    def store(self, lists: Mapping[Place, _Kept]) -> None:
        """Store the lists first and their times second. So if a time is cached, its list is cached too."""
        packed = {_key(place, "tokens"): _packed(kept) for place, kept in lists.items()}
        times = {_key(place, "at"): kept.made_at for place, kept in lists.items()}
        self._try(lambda: cache.set_many(packed, KEPT_SECONDS))
        self._try(lambda: cache.set_many(times, KEPT_SECONDS))

    def may_refresh(self, provider: str) -> bool:
        """Whether this process may call the provider.

        Only one process may call the provider at a time. After a failed call, no process may call the
        provider for a short time.
        """
        return self._try(lambda: cache.add(_refresh_key(provider), 1, RETRY_SECONDS)) is not False

    def allow_refresh(self, provider: str) -> None:
        """Allow the next refresh at once."""
        self._try(lambda: cache.delete(_refresh_key(provider)))

    def _try(self, operation: Any) -> Any:
        if not self.is_there():
            return None
        try:
            return operation()
        except RedisError as error:
            self._resumes_at = time.monotonic() + _CACHE_PAUSE_SECONDS
            logger.warning("token lists are not shared: Redis failed (%s)", type(error).__name__)
            return None


def _key(place: Place, part: str) -> str:
    provider, chain_id = place
    return f"routing:{_FORMAT}:{provider}:{chain_id}:{part}"


def _refresh_key(provider: str) -> str:
    return f"routing:{provider}:refreshing"


def _packed(kept: _Kept) -> bytes:
    rows = [
        (
            each.token,
            each.symbol,
            each.name,
            each.decimals,
            str(each.usd) if each.usd else None,
            each.logo_url,
        )
        for each in kept.tokens.values()
    ]
    return zlib.compress(json.dumps([kept.made_at, rows]).encode(), 1)


def _unpacked(packed: object, chain_id: int) -> _Kept | None:
    """Return the list. Return None, a missing entry, if the value is not readable or too large."""
    if not isinstance(packed, bytes):
        return None
    try:
        decompressor = zlib.decompressobj()
        unpacked = decompressor.decompress(packed, _MAX_UNPACKED_BYTES)
        if not decompressor.eof:
            return None
        made_at, rows = _list_decoder.decode(unpacked)
        tokens = (
            ListedToken(chain_id, token, symbol, name, decimals, Decimal(usd) if usd else None, logo_url)
            for token, symbol, name, decimals, usd, logo_url in rows
        )
        return _Kept(made_at, {token.token: token for token in tokens})
    except (zlib.error, msgspec.DecodeError, ArithmeticError, ValueError):
        return None


_cache = _Cache()
_token_lists = _TokenLists()
