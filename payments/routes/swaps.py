"""Paying with another token: the routes that a routing provider carries, and the transaction of the chosen one.

`payments.providers.offer_checks` checks each offer before it is shown, and again when it is renewed. No provider or
node is asked inside a database transaction.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from chains.client import Action, ChainClient, ChainError, EvmCall, Refusal, Spending, TransferRefused
from chains.families import get_client
from chains.models import Chain, Token
from config.api.errors import ApiError, ErrorCode
from payments.models import Payment, PaymentRequest, Quote, Route
from payments.providers import actions, asking
from payments.providers.base import NoOffer, NoOfferCode, Offer, Order, ProviderDown, ShareSpent
from payments.providers.offer_checks import OfferRefused, extra_native
from payments.providers.registry import get_provider, providers_in_order
from payments.routes.answers import Built, NoRoute
from payments.routes.approvals import lacks_approval
from payments.routes.no_route import no_provider, no_route
from payments.routes.quotes import contract_called, evaluate, keep_quote, keep_route, wanted_from
from payments.routes.refusals import expired, no_node, require_valid_recipient, routing_down, share_spent
from payments.routes.tokens import keep_token

logger = logging.getLogger(__name__)

QUOTE_LIFETIME = timedelta(seconds=45)
# What a route takes on top in native coin moves with every block; what the customer reviewed may grow by this much.
MOST_EXTRA_GROWTH_PERCENT = 10

Client = Callable[[Chain], ChainClient]


def offer_swaps(
    request: PaymentRequest,
    *,
    wallet_address: str,
    token: Token,
    asked_by: str = "",
    client: Client = get_client,
) -> list[Route] | NoRoute:
    """Return the routes that providers offer from `token` to exactly what remains, best first, or why there is none.

    Two quotes are asked for at most, of the share of the providers' quotas that `asked_by` has. Raises ApiError where
    no provider, or no node that has to be asked, answers, and where that share is spent.
    """
    asked = providers_in_order()
    if not asked:
        return no_provider(request)
    # Without a pinned router an offer could only be refused; a quote that is asked for in vain costs quota.
    providers = [provider for provider in asked if token.chain.routers.get(provider.key)]
    is_named = _is_named(token, token.chain) and _is_named(request.token, request.chain)
    if not providers or not is_named or not _can_be_proved(request, client):
        return no_route(request, NoOfferCode.NO_ROUTE)
    wanted = wanted_from(request, wallet_address, token, asked_by=asked_by)
    asked_at = timezone.now()
    try:
        choices = asking.ask(wanted, providers=providers, accept=evaluate)
    except NoOffer as none:
        return no_route(request, none.code)
    except ShareSpent as spent:
        raise share_spent(request, spent.retry_after) from spent
    except ProviderDown as down:
        raise routing_down(request, down.retry_after) from down
    kept_token = keep_token(token)
    routes = [keep_route(request, kept_token, choice, asked_at) for choice in choices]
    return [route for route in routes if route] or no_route(request, NoOfferCode.ROUTE_REFUSED)


def build_swap(route: Route, client: Client, *, asked_by: str = "") -> Built:
    """Return the provider's transaction for `route`, simulated; a quote that has aged is requested and checked again.

    The new quote is of the share of the provider's quota that `asked_by` has. Raises ApiError where the route no longer
    fits what remains or the price has moved. Raises TransferRefused and ChainError of the chain that it starts on.
    """
    request = route.request
    if route.amount_due != request.amount_remaining:
        raise expired()
    try:
        require_valid_recipient(client(request.chain), request)
    except ChainError as error:
        raise no_node(request.chain) from error
    quote = _fresh_quote(route, asked_by)
    transaction = _prepared(route, quote, client(route.chain))
    # Provider and nodes took their time, in which the request may have been paid, or its token switched off.
    unchanged = PaymentRequest.objects.filter(
        pk=request.pk, status=request.status, amount_paid=request.amount_paid
    )
    if not unchanged.filter(chain__is_active=True, token__is_active=True).exists():
        raise expired()
    now = timezone.now()
    # Before the customer has it: what was handed out binds, whatever becomes of this answer.
    Quote.objects.filter(pk=quote.pk).update(built_at=now)
    Route.objects.filter(pk=route.pk).update(built_at=now)
    return Built(transaction, Payment.BoundBy.PROVIDER)


def _prepared(route: Route, quote: Quote, client: ChainClient) -> dict[str, Any] | str:
    action = actions.from_json(quote.action)
    try:
        return client.prepare(action, sender=route.wallet_address, spending=_spending(route, quote, action))
    except TransferRefused as refusal:
        if refusal.refusal != Refusal.WOULD_FAIL or not lacks_approval(route, quote, client):
            raise
        message = (
            f"This wallet has not allowed its {route.token.symbol} to be taken for this route yet: "
            "sign the approval first, and wait until it is confirmed."
        )
        raise ApiError(ErrorCode.TRANSACTION_WOULD_FAIL, message) from refusal


def _spending(route: Route, quote: Quote, action: Action) -> Spending:
    """Return what the quote's transaction may take from the wallet."""
    extra = _most_extra(route)
    if isinstance(action, EvmCall):
        extra = action.value - (quote.amount_in if route.token.is_native else 0)
    return Spending(route.token.contract_address, quote.amount_in, extra)


def _most_extra(route: Route) -> int:
    """Return how much native coin the route may take on top, by what its customer was shown."""
    return int(route.details["extra_native"]) * (100 + MOST_EXTRA_GROWTH_PERCENT) // 100


def _fresh_quote(route: Route, asked_by: str) -> Quote:
    """Return the route's newest quote, or a new one where that has aged. Raises ApiError where that costs more."""
    newest = route.quotes.first()
    if newest is None:
        raise expired()
    if timezone.now() < newest.created_at + QUOTE_LIFETIME:
        return newest
    asked_at = timezone.now()
    offer = _asked_again(route, asked_by)
    if offer.amount_in > route.amount or extra_native(offer) > _most_extra(route):
        raise expired("The price has moved since this route was offered; ask for routes again.")
    if (offer.spender, contract_called(offer.action)) != (route.details["spender"], route.details["calls"]):
        raise expired("This way has changed since it was offered; ask for routes again.")
    quote = keep_quote(route, offer, asked_at)
    if quote is None:
        raise expired()
    return quote


def _asked_again(route: Route, asked_by: str) -> Offer:
    """Return the provider's new offer for the same route, accepted. Raises ApiError."""
    request = route.request
    wanted = wanted_from(request, route.wallet_address, route.token, asked_by=asked_by)
    wanted = replace(wanted, order=Order(route.details["order"]))
    try:
        offer = get_provider(route.provider).quote(wanted)
        evaluate(offer, wanted)
    except (NoOffer, OfferRefused, KeyError) as none:  # KeyError: a provider that there is no more
        logger.info("%s does not offer route %s again: %s", route.provider, route.pk, none)
        raise expired("This way is not offered any more; ask for routes again.") from none
    except ShareSpent as spent:
        raise share_spent(request, spent.retry_after) from spent
    except ProviderDown as down:
        raise routing_down(request, down.retry_after) from down
    return offer


def _is_named(token: Token, chain: Chain) -> bool:
    """Whether providers have a name for the token: a native coin has one where its family gives it an alias."""
    return not token.is_native or bool(chain.family.native_alias)


def _can_be_proved(request: PaymentRequest, client: Client) -> bool:
    """Whether our own nodes could show the delivery: native coin comes by inner calls, which have to be traced."""
    if not request.token.is_native:
        return True
    try:
        return client(request.chain).tells_inner_calls()
    except ChainError as error:
        raise no_node(request.chain) from error
