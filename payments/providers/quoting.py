"""Request quotes from the routing providers in order, and select the offers to show.

Quotas are small, so one search uses at most two quotes. The first provider returns its cheapest route. If that is
acceptable, a second quote requests its fastest. The next provider is queried only if the first has no acceptable
route or doesn't respond. If there is only one provider, a quick failure is retried once.
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

MAX_QUOTES = 2
# The cheapest route is not recommended if it takes this many times as long as the fastest, and this many seconds
# longer.
_FAR_SLOWER_FACTOR = 5
_FAR_SLOWER_SECONDS = 600
_QUICK_SECONDS = 2.0
_SLOW_SECONDS = 6.0
# In the order of priority: reasons that the customer can act on come first.
_REASONS_BY_PRIORITY = (
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
    """An accepted offer, with its request. The request is sent again when the quote is too old.

    `tags` are among `recommended`, `cheapest` and `fastest`.
    """

    offer: Offer
    wanted: Wanted
    tags: tuple[str, ...] = ()


def request_offers(
    wanted: Wanted, *, providers: Sequence[RoutingProvider], accept: Accept
) -> tuple[Choice, ...]:
    """Return one or two accepted offers, the recommended one first. Requests at most MAX_QUOTES quotes.

    `accept` raises OfferRefused if an offer must not be shown. An offer that `accept` rejects is ignored. If
    no offer is left:

    - If a provider responded, NoOffer is raised with the most useful reason.
    - If no provider allows the client another quote, ShareSpent is raised.
    - Otherwise, ProviderDown is raised.
    """
    failures: list[NoOffer | ProviderDown] = []
    began = time.monotonic()
    turns = list(providers[:MAX_QUOTES])
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
        # If the first quote was slow, the customer doesn't wait for a second one.
        is_slow = time.monotonic() - began > _SLOW_SECONDS
        quotes_left = 0 if is_slow else MAX_QUOTES - 1 - len(failures)
        return _tagged([cheapest, *_faster(provider, wanted, accept, quotes_left)])
    raise _outcome(failures)


def _is_worth_repeating(failure: NoOffer | ProviderDown, seconds: float) -> bool:
    """Whether a retry may succeed: the provider failed quickly and named no time to retry."""
    is_lost = isinstance(failure, ProviderDown) and failure.retry_after is None
    return is_lost and seconds < _QUICK_SECONDS


def _quote(provider: RoutingProvider, wanted: Wanted, accept: Accept) -> Choice:
    """Request an offer and check it. Raises ProviderDown. Raises NoOffer also if the check rejects the offer."""
    try:
        offer = provider.quote(wanted)
        accept(offer, wanted)
    except OfferRefused as refused:
        logger.warning("%s made an offer that failed our checks: %s", provider.key, refused)
        raise NoOffer(NoOfferCode.ROUTE_REFUSED) from refused
    except NoOffer as no_offer:
        logger.info("%s has no offer from chain %d: %s", provider.key, wanted.source.chain_id, no_offer.code)
        raise
    except ProviderDown as down:
        logger.warning("%s gave no usable response to a quote: %s", provider.key, down)
        raise
    return Choice(offer, wanted)


def _faster(provider: RoutingProvider, wanted: Wanted, accept: Accept, quotes_left: int) -> list[Choice]:
    """Request the fastest offer, if the provider distinguishes it. Return nothing if that fails."""
    if quotes_left < 1 or not getattr(provider, "has_orders", True):
        return []
    try:
        return [_quote(provider, replace(wanted, order=Order.FASTEST), accept)]
    except (NoOffer, ProviderDown):
        return []


def _tagged(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """Drop repeated routes, tag the others, and return them with the recommended one first."""
    differing: list[Choice] = []
    for choice in choices:
        if not any(_is_same_route(choice.offer, other.offer) for other in differing):
            differing.append(choice)
    cheapest = _cheapest(differing)
    fastest = min(differing, key=lambda choice: _seconds(choice.offer))
    recommended = fastest if _is_far_slower(cheapest.offer, fastest.offer) else cheapest
    ordered = [recommended, *(choice for choice in differing if choice is not recommended)]
    named = {"recommended": recommended, "cheapest": cheapest, "fastest": fastest}
    tagged = (
        replace(choice, tags=tuple(tag for tag, tagged_choice in named.items() if tagged_choice is choice))
        for choice in ordered
    )
    # Drop an offer that is neither cheapest nor fastest.
    return tuple(choice for choice in tagged if choice.tags)


def _cheapest(choices: Sequence[Choice]) -> Choice:
    """Compare total costs in dollars. If one is unknown, compare the amounts to pay."""
    prices = [_total_cost(choice.offer) for choice in choices]
    known_prices = [price for price in prices if price is not None]
    if len(known_prices) < len(choices):
        return min(choices, key=lambda choice: choice.offer.amount_in)
    return choices[known_prices.index(min(known_prices))]


def _is_same_route(one: Offer, other: Offer) -> bool:
    return (one.provider, one.amount_in, one.amount_out_min, one.tools) == (
        other.provider,
        other.amount_in,
        other.amount_out_min,
        other.tools,
    )


def _total_cost(offer: Offer) -> Decimal | None:
    """Add up the amount to pay, the extra fees and the gas, in US dollars by the provider's values."""
    on_top = [*(fee for fee in offer.fees if not fee.included), *offer.gas]
    parts = [offer.usd_in, *(fee.usd for fee in on_top)]
    known_prices = [part for part in parts if part is not None]
    return sum(known_prices, Decimal(0)) if len(known_prices) == len(parts) else None


def _seconds(offer: Offer) -> float:
    return float("inf") if offer.duration_seconds is None else offer.duration_seconds


def _is_far_slower(offer: Offer, fastest: Offer) -> bool:
    """Whether the offer is far slower than the fastest. An unknown duration doesn't count as slow."""
    if offer.duration_seconds is None or fastest.duration_seconds is None:
        return False
    longer = offer.duration_seconds - fastest.duration_seconds
    return (
        longer >= _FAR_SLOWER_SECONDS
        and offer.duration_seconds >= _FAR_SLOWER_FACTOR * fastest.duration_seconds
    )


def _outcome(failures: Sequence[NoOffer | ProviderDown]) -> NoOffer | ProviderDown:
    """Choose the exception to raise. If one provider returned a reason and another is down, the reason is raised."""
    codes = {failure.code for failure in failures if isinstance(failure, NoOffer)}
    reason = next((code for code in _REASONS_BY_PRIORITY if code in codes), None)
    if reason is not None:
        return NoOffer(reason)
    waits = [
        failure.retry_after
        for failure in failures
        if isinstance(failure, ProviderDown) and failure.retry_after is not None
    ]
    if not failures:
        return NoOffer(NoOfferCode.NO_ROUTE)  # This deployment has no provider.
    wait = min(waits, default=None)
    if all(isinstance(failure, ShareSpent) for failure in failures):
        return ShareSpent("this client has used up its share of every provider's quota", retry_after=wait)
    return ProviderDown("no routing provider gave a usable response", retry_after=wait)
