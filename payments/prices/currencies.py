"""The currencies that prices can be in: those that two independent sources list.

No source is called for these lists, so a currency stays known when a source is down. Once a minute, one process
checks whether the sources agree on each rate. All processes share the result.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError

from chains.currencies import is_currency
from chains.models import Token
from chains.switches import Feature, is_on
from config.api.errors import ApiError, ErrorCode
from config.api.limits.waiting import RETRY_AFTER_SECONDS, Busy, waiting_for
from payments.prices.querying import listings, query_each_source
from payments.prices.rules import Observation, agree, is_proof
from payments.prices.sources.base import Listing

USD = "USD"
FRESH_SECONDS = 60
_KEY = "currencies:1:available"  # the number is the format of the value


@dataclass(frozen=True)
class Currency:
    """A currency and the sources that list it. `is_available`: two independent sources agree on its rate now."""

    code: str
    sources: tuple[str, ...]
    is_available: bool


def is_listed(code: str) -> bool:
    """True for the dollar, and for currencies that two independent sources list."""
    return code == USD or code in _listed(listings())


def require_listed(base: str) -> None:
    """Raise ApiError `parameter_invalid` if fewer than two independent sources list the currency."""
    if is_currency(base) and not is_listed(base):
        raise ApiError(ErrorCode.PARAMETER_INVALID, problem_of(base) or "", "price.currency")


def problem_of(code: str) -> str | None:
    """Return why this currency can't be used for prices and values."""
    return None if is_listed(code) else f"No two sources for {code} on this server."


def currencies() -> list[Currency]:
    """Return the currencies that prices can be in, ordered by code. The list is empty if no token has a price.

    If too many threads wait for the sources and there is no earlier result, raises ApiError `rate_unavailable`.
    """
    coin = _most_used_coin()
    if coin is None or not settings.RATE_SOURCES:
        return []
    listings_by_source = listings()
    listed = _listed(listings_by_source)
    available = _available(coin, listings_by_source) if is_on(Feature.PRICES) else frozenset()
    sources = {code: sorted(each.source for each in of_code) for code, of_code in listed.items()}
    sources[USD] = sorted(each.source for each in _dollar_sources(listings_by_source))
    return [Currency(code, tuple(sources[code]), code in available) for code in sorted(sources)]


def _listed(listings_by_source: Mapping[str, list[Listing]]) -> dict[str, list[Listing]]:
    by_code: dict[str, list[Listing]] = defaultdict(list)
    for listing in _flat(listings_by_source):
        for code in listing.currencies:
            if is_currency(code) and code != USD:
                by_code[code].append(listing)
    return {code: of_code for code, of_code in by_code.items() if is_proof(of_code)}


def _dollar_sources(listings_by_source: Mapping[str, list[Listing]]) -> list[Listing]:
    """Return the sources that price coins. These sources price in dollars."""
    return [listing for listing in _flat(listings_by_source) if listing.prices_coins]


def _flat(listings_by_source: Mapping[str, list[Listing]]) -> list[Listing]:
    return [listing for of_source in listings_by_source.values() for listing in of_source]


def _most_used_coin() -> str | None:
    tokens = Token.objects.filter(is_active=True, chain__is_active=True).exclude(price_as="")
    coins = Counter(tokens.values_list("price_as", flat=True))
    return min(coins, key=lambda coin: (-coins[coin], coin), default=None)


_lock = threading.Lock()
_kept: tuple[float, frozenset[str]] | None = None


def _available(coin: str, listings_by_source: Mapping[str, list[Listing]]) -> frozenset[str]:
    """Return the currencies that were available within the last minute.

    While one thread queries the sources, the others get the previous result.
    """
    # A value that can't be read counts as a missing entry.
    with suppress(RedisError, UnicodeDecodeError):
        if isinstance(shared := cache.get(_KEY), bytes):
            return frozenset(shared.decode().split())
    if _kept is not None and time.monotonic() - _kept[0] <= FRESH_SECONDS:
        return _kept[1]
    try:
        # Threads wait only for the first result. Limit how many wait, so that other calls still get a thread.
        with waiting_for("rate sources"):
            return _renewed(coin, listings_by_source)
    except Busy:
        if _kept is not None:
            return _kept[1]
        message = "The rate sources are busy. Try again in a few seconds."
        raise ApiError(ErrorCode.RATE_UNAVAILABLE, message, retry_after=RETRY_AFTER_SECONDS) from None


def _renewed(coin: str, listings_by_source: Mapping[str, list[Listing]]) -> frozenset[str]:
    global _kept
    if not _lock.acquire(blocking=_kept is None):
        return _kept[1] if _kept else frozenset()
    try:
        if _kept is None or time.monotonic() - _kept[0] > FRESH_SECONDS:
            _kept = time.monotonic(), _query(coin, listings_by_source)
            with suppress(RedisError):
                cache.set(_KEY, " ".join(sorted(_kept[1])).encode(), FRESH_SECONDS)
        return _kept[1]
    finally:
        _lock.release()


def _query(coin: str, listings_by_source: Mapping[str, list[Listing]]) -> frozenset[str]:
    """Query each source for one coin and the currencies that the source lists, and nothing else: exchanges need a
    call for each pair.
    """
    listed = _listed(listings_by_source)
    bases_of = {
        name: frozenset({coin, *(code for each in of_source for code in each.currencies if code in listed)})
        for name, of_source in listings_by_source.items()
    }
    observed: dict[str, list[Observation]] = defaultdict(list)
    for response in query_each_source(frozenset(), bases_of).values():
        for base, observations in (response or {}).items():
            observed[base] += observations
    available = {code for code in listed if agree(observed[code], settings.RATE_MAX_SPREAD)}
    answering = {each.source for observations in observed.values() for each in observations}
    if is_proof([each for each in _dollar_sources(listings_by_source) if each.source in answering]):
        available.add(USD)
    return frozenset(available)


def forget() -> None:
    global _kept
    with _lock:
        _kept = None
    with suppress(RedisError):
        cache.delete(_KEY)
