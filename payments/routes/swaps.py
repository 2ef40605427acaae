"""Offer swap routes, and build the transaction of the chosen one.

`payments.providers.offer_checks` checks each offer before it is shown, and again when it is renewed. No provider or
node is called inside a database transaction.
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
from payments.providers import actions, quoting
from payments.providers.base import NoOffer, NoOfferCode, Offer, Order, ProviderDown, ShareSpent
from payments.providers.offer_checks import OfferRefused, extra_native
from payments.providers.registry import get_provider, providers_in_order
from payments.routes.answers import Built, NoRoute
from payments.routes.approvals import lacks_approval
from payments.routes.batches import prepare_batched, require_bindable
from payments.routes.no_route import no_provider, no_route
from payments.routes.quotes import contract_called, evaluate, quote_request, store_quote, store_route
from payments.routes.refusals import expired, no_node, require_valid_recipient, routing_down, share_spent
from payments.routes.tokens import store_token

logger = logging.getLogger(__name__)

QUOTE_LIFETIME = timedelta(seconds=45)
# The native coin that a route takes in addition to its amount changes with every block. It may exceed the
# amount that the customer saw by this much.
MAX_EXTRA_GROWTH_PERCENT = 10

Client = Callable[[Chain], ChainClient]


def offer_swaps(
    request: PaymentRequest,
    *,
    wallet_address: str,
    token: Token,
    asked_by: str,
) -> list[Route] | NoRoute:
    """Return the providers' routes from `token` to exactly the unpaid rest, the best one first.

    Requests two quotes at most, from `asked_by`'s share of the quota. Raises ApiError if no provider or node
    responds, or if that share is used up.
    """
    configured = providers_in_order()
    if not configured:
        return no_provider(request)
    # Without a pinned router, every offer would be rejected. Don't waste quota on a quote.
    providers = [provider for provider in configured if token.chain.routers.get(provider.key)]
    is_named = _is_named(token, token.chain) and _is_named(request.token, request.chain)
    if not providers or not is_named or not _can_be_proved(request):
        return no_route(request, NoOfferCode.NO_ROUTE)
    wanted = quote_request(request, wallet_address, token, asked_by=asked_by)
    asked_at = timezone.now()
    try:
        choices = quoting.request_offers(wanted, providers=providers, accept=evaluate)
    except NoOffer as no_offer:
        return no_route(request, no_offer.code)
    except ShareSpent as spent:
        raise share_spent(request, spent.retry_after) from spent
    except ProviderDown as down:
        raise routing_down(request, down.retry_after) from down
    kept_token = store_token(token)
    routes = [store_route(request, kept_token, choice, asked_at) for choice in choices]
    return [route for route in routes if route] or no_route(request, NoOfferCode.ROUTE_REFUSED)


def build_swap(route: Route, client: Client, *, is_batch: bool = False, asked_by: str = "") -> Built:
    """Build and simulate the provider's transaction for `route`. If the quote is old, a new one is first requested
    and checked.

    With `is_batch`, the simulation includes the approvals that the wallet sends in the same batch. A new quote uses
    `asked_by`'s share of the quota.

    Raises ApiError if the route no longer fits the unpaid rest, if the price has moved, or if a batch is not
    possible. Raises TransferRefused and ChainError for the source chain.
    """
    request = route.request
    if route.amount_due != request.amount_remaining:
        raise expired()
    try:
        require_valid_recipient(client(request.chain), request)
    except ChainError as error:
        raise no_node(request.chain) from error
    if is_batch:
        require_bindable(route, client(route.chain))
    quote = _fresh_quote(route, asked_by)
    transaction = _prepared(route, quote, client(route.chain), is_batch=is_batch)
    # The request may have been paid meanwhile, or its token deactivated.
    unchanged = PaymentRequest.objects.filter(
        pk=request.pk,
        status=request.status,
        amount_paid=request.amount_paid,
        amount_reorged=request.amount_reorged,
    )
    if not unchanged.filter(chain__is_active=True, token__is_active=True).exists():
        raise expired()
    now = timezone.now()
    # Store `built_at` before the response is sent, so that the transaction is bound even if the response is
    # lost.
    Quote.objects.filter(pk=quote.pk).update(built_at=now, watched_until=request.expires_at)
    Route.objects.filter(pk=route.pk).update(built_at=now)
    return Built(transaction, Payment.BoundBy.PROVIDER)


def _prepared(route: Route, quote: Quote, client: ChainClient, *, is_batch: bool) -> dict[str, Any] | str:
    action = actions.from_json(quote.action)
    spending = _spending(route, quote, action)
    if is_batch and isinstance(action, EvmCall):
        return prepare_batched(route, quote, action, spending, client)
    try:
        return client.prepare(action, sender=route.wallet_address, spending=spending)
    except TransferRefused as refusal:
        if refusal.refusal != Refusal.WOULD_FAIL or not lacks_approval(route, quote, client):
            raise
        message = (
            f"This wallet has not approved {route.token.symbol} to be spent for this route. "
            "Sign the approval first and wait until it is confirmed."
        )
        raise ApiError(ErrorCode.TRANSACTION_WOULD_FAIL, message) from refusal


def _spending(route: Route, quote: Quote, action: Action) -> Spending:
    extra = _max_extra(route)
    if isinstance(action, EvmCall):
        extra = action.value - (quote.amount_in if route.token.is_native else 0)
    return Spending(route.token.contract_address, quote.amount_in, extra)


def _max_extra(route: Route) -> int:
    """Return the largest extra native amount that is allowed, given the amount that the customer saw."""
    return int(route.details["extra_native"]) * (100 + MAX_EXTRA_GROWTH_PERCENT) // 100


def _fresh_quote(route: Route, asked_by: str) -> Quote:
    """Return the newest quote. If it is too old, request a new one. Raises ApiError if the new one costs more."""
    newest = route.quotes.first()
    if newest is None:
        raise expired()
    if timezone.now() < newest.created_at + QUOTE_LIFETIME:
        return newest
    asked_at = timezone.now()
    offer = _requote(route, asked_by)
    if offer.amount_in > route.amount or extra_native(offer) > _max_extra(route):
        raise expired("The price has moved since this route was offered. Request routes again.")
    if (offer.spender, contract_called(offer.action)) != (route.details["spender"], route.details["calls"]):
        raise expired("This route has changed since it was offered. Request routes again.")
    quote = store_quote(route, offer, asked_at)
    if quote is None:
        raise expired()
    return quote


def _requote(route: Route, asked_by: str) -> Offer:
    """Request a new offer for the same route, and check it. Raises ApiError."""
    request = route.request
    wanted = quote_request(request, route.wallet_address, route.token, asked_by=asked_by)
    wanted = replace(wanted, order=Order(route.details["order"]))
    try:
        offer = get_provider(route.provider).quote(wanted)
        evaluate(offer, wanted)
    except (NoOffer, OfferRefused, KeyError) as error:  # KeyError: the provider is no longer configured.
        logger.info("%s does not offer route %s again: %s", route.provider, route.pk, error)
        raise expired("This route is no longer offered. Request routes again.") from error
    except ShareSpent as spent:
        raise share_spent(request, spent.retry_after) from spent
    except ProviderDown as down:
        raise routing_down(request, down.retry_after) from down
    return offer


def _is_named(token: Token, chain: Chain) -> bool:
    """Whether providers know the token. Providers know native coin only if the chain's family has an alias for
    it.
    """
    return not token.is_native or bool(chain.family.native_alias)


def _can_be_proved(request: PaymentRequest) -> bool:
    """Whether our nodes can verify the delivery. Native coin arrives in inner calls, which only traces show."""
    if not request.token.is_native:
        return True
    try:
        return get_client(request.chain).can_prove_internal_transfers()
    except ChainError as error:
        raise no_node(request.chain) from error
