"""Price feeds: contracts (`AggregatorV3Interface`) that publish prices on a chain. Our own nodes read them.

The catalogue lists a chain's feeds: `{"pair": "ETH/USD", "address": "0x…", "heartbeat": 3600}`. A feed updates at
least once in each heartbeat (in seconds). A price is stale after 1.1 heartbeats. The same pair on two chains
is two sources.
"""

import logging
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django.utils import timezone

from chains.client import ChainError, FeedAnswer
from chains.families import get_client
from chains.lookup import active_chains
from chains.models import Chain
from payments.prices.rules import Observation
from payments.prices.sources.base import ANSWER_SECONDS, Listing, is_fresh
from payments.providers.base import ProviderDown

logger = logging.getLogger(__name__)

NAME = "feeds"
_LATENESS = Decimal("1.1")
_MAX_DECIMALS = 36

_ChainFeeds = tuple[Chain, list[Mapping[str, Any]]]


class Feeds:
    """The feeds of all active chains."""

    def listings(self) -> Iterable[Listing]:
        """Return a listing for each chain. Each chain is a separate source, because our own nodes read it."""
        for chain in active_chains():
            codes = {feed["pair"].partition("/")[0] for feed in chain.feeds if feed["pair"].endswith("/USD")}
            if codes:
                yield Listing(f"{NAME}:{chain.pk}", frozenset(codes))

    def observe(self, bases: Collection[str]) -> dict[str, list[Observation]]:
        """Return each base's fresh values in USD: one for each chain that has a feed for it."""
        feeds_by_chain = {
            chain.pk: (chain, feeds) for chain in active_chains() if (feeds := list(_feeds_of(chain, bases)))
        }
        observed_by_base: dict[str, list[Observation]] = {}
        failed = 0
        for pk, reading in _read_all(feeds_by_chain).items():
            try:
                answers = reading.result(timeout=0)
            except (ChainError, TimeoutError) as error:
                logger.warning(
                    "the price feeds of chain %d can't be read: %s", pk, error or "no response in time"
                )
                failed += 1
                continue
            for base, observation in _fresh(pk, feeds_by_chain[pk][1], answers):
                observed_by_base.setdefault(base, []).append(observation)
        if failed and failed == len(feeds_by_chain):
            raise ProviderDown("no node of the chains with price feeds responded")
        return observed_by_base


def _read_all(feeds_by_chain: Mapping[int, _ChainFeeds]) -> dict[int, "Future[list[FeedAnswer]]"]:
    """Read all chains at the same time, so that a slow chain doesn't delay the others."""
    pool = ThreadPoolExecutor(max(len(feeds_by_chain), 1), thread_name_prefix="feeds")
    reading = {pk: pool.submit(_read, chain, feeds) for pk, (chain, feeds) in feeds_by_chain.items()}
    wait(reading.values(), timeout=ANSWER_SECONDS)
    pool.shutdown(wait=False, cancel_futures=True)
    return reading


def _feeds_of(chain: Chain, bases: Collection[str]) -> Iterable[Mapping[str, Any]]:
    for feed in chain.feeds:
        base, _, quote = feed["pair"].partition("/")
        if quote == "USD" and base in bases:
            yield feed


def _read(chain: Chain, feeds: list[Mapping[str, Any]]) -> list[FeedAnswer]:
    return list(get_client(chain).price_feeds([feed["address"] for feed in feeds]))


def _fresh(
    chain_id: int, feeds: list[Mapping[str, Any]], answers: list[FeedAnswer]
) -> Iterable[tuple[str, Observation]]:
    now = timezone.now()
    for feed, answer in zip(feeds, answers, strict=True):
        observation = observed(f"{NAME}:{chain_id}", feed, answer, now)
        if observation is not None:
            yield feed["pair"].partition("/")[0], observation


def observed(source: str, feed: Mapping[str, Any], answer: FeedAnswer, now: datetime) -> Observation | None:
    """Return an observation, or None if the feed is stale, incomplete, zero or negative."""
    if answer.answer <= 0 or answer.updated_at <= 0 or not 0 <= answer.decimals <= _MAX_DECIMALS:
        return None
    try:
        updated_at = datetime.fromtimestamp(answer.updated_at, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    limit = timedelta(seconds=int(feed["heartbeat"] * _LATENESS))
    if not is_fresh(updated_at, now, limit):
        return None
    return Observation(source, Fraction(answer.answer, 10**answer.decimals), updated_at)


def make(url: str = "") -> Feeds:  # noqa: ARG001 - a chain's nodes are in the catalogue
    return Feeds()
