"""Turning to the routing providers in order: who is asked what, and which answers a customer gets to choose from.

One click of a customer costs at most two quotes, however many providers there are (their quotas are small). The first
provider is asked for its cheapest way and, if that is sound, for its fastest. The next provider is asked only where the
one before it has no way, no sound one, or does not answer; where there is no next one, an answer that got lost at once
is asked for again.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from payments.providers.base import (
    NoOffer,
    NoOfferCode,
    Offer,
    Order,
    ProviderDown,
    RoutingProvider,
    ShareSpent,
    Wanted,
)
from payments.providers.offer_checks import OfferRefused

logger = logging.getLogger(__name__)

MOST_QUOTES = 2
# A way that takes so much longer than the fastest is not the one to recommend, though it be cheaper.
_FAR_SLOWER_FACTOR = 5
_FAR_SLOWER_SECONDS = 600
_QUICK_SECONDS = 2.0
_SLOW_SECONDS = 6.0
# Which reason says most, first: what a customer can do something about comes before what nobody can.
_TELLING = (
    NoOfferCode.AMOUNT_TOO_LOW,
    NoOfferCode.AMOUNT_TOO_HIGH,
    NoOfferCode.FEES_TOO_HIGH,
    NoOfferCode.NO_LIQUIDITY,
    NoOfferCode.ROUTE_REFUSED,
    NoOfferCode.NO_ROUTE,
)

Accept = Callable[[Offer, Wanted], None]


@dataclass(frozen=True)
class Choice:
    """An accepted offer, with the question that it answers (to ask again when it has aged) and what is said for it.

    `tags` are among `recommended`, `cheapest` and `fastest`.
    """

    offer: Offer
    wanted: Wanted
    tags: tuple[str, ...] = ()


def ask(wanted: Wanted, *, providers: Sequence[RoutingProvider], accept: Accept) -> tuple[Choice, ...]:
    """Return one accepted offer or two, the recommended one first, for at most MOST_QUOTES quotes.

    `accept` raises OfferRefused for an offer that must not be shown, which then counts as none. Raises NoOffer with the
    most telling reason where some provider answered, ShareSpent where none was asked because the client has had its
    share of every quota, and ProviderDown where none answered.
    """
    failures: list[NoOffer | ProviderDown] = []
    began = time.monotonic()
    turns = list(providers[:MOST_QUOTES])
    while turns:
        provider = turns.pop(0)
        try:
            cheapest = _quote(provider, replace(wanted, order=Order.CHEAPEST), accept)
        except (NoOffer, ProviderDown) as failure:
            failures.append(failure)
            is_alone = len(providers) == len(failures) == 1
            if is_alone and _is_worth_repeating(failure, time.monotonic() - began):
                turns.append(provider)
            continue
        # Nobody waits for a choice longer than it takes to have one way at all.
        is_slow = time.monotonic() - began > _SLOW_SECONDS
        quotes_left = 0 if is_slow else MOST_QUOTES - 1 - len(failures)
        return _tagged([cheapest, *_faster(provider, wanted, accept, quotes_left)])
    raise _outcome(failures)


def _is_worth_repeating(failure: NoOffer | ProviderDown, seconds: float) -> bool:
    """Whether a failure came at once and may be over by now: no answer, and no word of when there will be one."""
    is_lost = isinstance(failure, ProviderDown) and failure.retry_after is None
    return is_lost and seconds < _QUICK_SECONDS


def _quote(provider: RoutingProvider, wanted: Wanted, accept: Accept) -> Choice:
    """Return the provider's offer, accepted. Raises NoOffer, for a refused one as well, and ProviderDown."""
    try:
        offer = provider.quote(wanted)
        accept(offer, wanted)
    except OfferRefused as refused:
        logger.warning("%s offered what must not be shown: %s", provider.key, refused)
        raise NoOffer(NoOfferCode.ROUTE_REFUSED) from refused
    except NoOffer as none:
        logger.info("%s has no offer from chain %d: %s", provider.key, wanted.source.chain_id, none.code)
        raise
    except ProviderDown as down:
        logger.warning("%s gave no usable answer to a quote: %s", provider.key, down)
        raise
    return Choice(offer, wanted)


def _faster(provider: RoutingProvider, wanted: Wanted, accept: Accept, quotes_left: int) -> list[Choice]:
    """Return the fastest offer of a provider that distinguishes it; whatever is wrong with it, the cheapest stands."""
    if quotes_left < 1 or not getattr(provider, "has_orders", True):
        return []
    try:
        return [_quote(provider, replace(wanted, order=Order.FASTEST), accept)]
    except (NoOffer, ProviderDown):
        return []


def _tagged(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """Return the choices that differ, with tags, the recommended one first."""
    differing: list[Choice] = []
    for choice in choices:
        if not any(_is_same_way(choice.offer, other.offer) for other in differing):
            differing.append(choice)
    cheapest = _cheapest(differing)
    fastest = min(differing, key=lambda choice: _seconds(choice.offer))
    recommended = fastest if _is_far_slower(cheapest.offer, fastest.offer) else cheapest
    ordered = [recommended, *(choice for choice in differing if choice is not recommended)]
    named = {"recommended": recommended, "cheapest": cheapest, "fastest": fastest}
    tagged = (
        replace(choice, tags=tuple(tag for tag, bearer in named.items() if bearer is choice))
        for choice in ordered
    )
    # One that is neither cheaper nor faster than the other is no choice.
    return tuple(choice for choice in tagged if choice.tags)


def _cheapest(choices: Sequence[Choice]) -> Choice:
    """Return the cheapest: by everything that it costs where that is known of all, else by what it takes."""
    prices = [_whole_price(choice.offer) for choice in choices]
    known = [price for price in prices if price is not None]
    if len(known) < len(choices):
        return min(choices, key=lambda choice: choice.offer.amount_in)
    return choices[known.index(min(known))]


def _is_same_way(one: Offer, other: Offer) -> bool:
    return (one.provider, one.amount_in, one.amount_out_min, one.tools) == (
        other.provider,
        other.amount_in,
        other.amount_out_min,
        other.tools,
    )


def _whole_price(offer: Offer) -> Decimal | None:
    """Return what a way costs in US dollars with all that is paid on top, as the provider says; for comparison."""
    on_top = [*(fee for fee in offer.fees if not fee.included), *offer.gas]
    parts = [offer.usd_in, *(fee.usd for fee in on_top)]
    known = [part for part in parts if part is not None]
    return sum(known, Decimal(0)) if len(known) == len(parts) else None


def _seconds(offer: Offer) -> float:
    return float("inf") if offer.duration_seconds is None else offer.duration_seconds


def _is_far_slower(offer: Offer, fastest: Offer) -> bool:
    """Whether nobody would wait for it; where a duration is not known, it is not taken for slow."""
    if offer.duration_seconds is None or fastest.duration_seconds is None:
        return False
    longer = offer.duration_seconds - fastest.duration_seconds
    return (
        longer >= _FAR_SLOWER_SECONDS
        and offer.duration_seconds >= _FAR_SLOWER_FACTOR * fastest.duration_seconds
    )


def _outcome(failures: Sequence[NoOffer | ProviderDown]) -> NoOffer | ProviderDown:
    """Return what to raise where nobody made an acceptable offer: an answer, if there was one, says more than none."""
    codes = {failure.code for failure in failures if isinstance(failure, NoOffer)}
    told = next((code for code in _TELLING if code in codes), None)
    if told is not None:
        return NoOffer(told)
    waits = [
        failure.retry_after
        for failure in failures
        if isinstance(failure, ProviderDown) and failure.retry_after is not None
    ]
    if not failures:
        return NoOffer(NoOfferCode.NO_ROUTE)  # this deployment has no provider
    wait = min(waits, default=None)
    if all(isinstance(failure, ShareSpent) for failure in failures):
        return ShareSpent("this client has had its share of every provider's quota", retry_after=wait)
    return ProviderDown("no routing provider gave a usable answer", retry_after=wait)
