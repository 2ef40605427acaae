"""Check providers' offers by our own rules. Store them as routes and quotes."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import DataError, IntegrityError, transaction

from chains.client import Action, EvmCall
from chains.models import Chain, Token
from config.api.limits.fair_shares import Share
from config.api.serializers import has_unsafe_characters
from payments.models import Payment, PaymentRequest, Quote, Route
from payments.models.route import PaymentType
from payments.providers import actions, token_list
from payments.providers.base import Fee, Offer, Side, Wanted
from payments.providers.budget import shares_of
from payments.providers.offer_checks import Price, Rules, accept, extra_native
from payments.providers.quoting import Choice

logger = logging.getLogger(__name__)

ROUTE_LIFETIME = timedelta(minutes=5)
_LONGEST_NAME = 60
_MAX_DOLLARS = 10**15


def quote_request(
    request: PaymentRequest, wallet_address: str, token: Token, *, asked_by: str = ""
) -> Wanted:
    """Return the quote request: exactly the unpaid rest for the merchant's wallet, paid with this wallet's token.

    `asked_by` is the address of the client whose share of the provider's quota is used. If it is empty, no share is
    used.
    """
    shares: tuple[Share, ...] = ()
    if asked_by:
        is_bound = Payment.objects.filter(request=request).exclude(bound_by="").exists()
        shares = shares_of(request.pk, asked_by, request.merchant_id, is_bound=is_bound)
    return Wanted(
        source=Side(token.chain_id, token.contract_address, wallet_address),
        target=Side(request.chain_id, request.token.contract_address, request.recipient_address),
        amount=request.amount_remaining,
        shares=shares,
    )


def evaluate(offer: Offer, wanted: Wanted) -> None:
    """Check the offer against pinned routers, our prices and the settings. Raises OfferRefused."""
    chains = Chain.objects.in_bulk([wanted.source.chain_id, wanted.target.chain_id])
    source, target = chains[wanted.source.chain_id], chains[wanted.target.chain_id]
    tokens = {(side.chain_id, side.token) for side in (wanted.source, wanted.target)}
    rules = Rules(
        source_type=source.chain_type,
        target_type=target.chain_type,
        routers=frozenset(source.routers.get(offer.provider, ())),
        max_lost=Decimal(settings.MOST_LOST_PERCENT) / 100,
        allow_opaque=settings.ALLOW_OPAQUE_ROUTES,
        prices=_prices({*tokens, (source.pk, "")}),
    )
    accept(offer, wanted, rules)


def _prices(tokens: Iterable[tuple[int, str]]) -> dict[tuple[int, str], Price]:
    listed = ((token, token_list.listed_token(*token)) for token in tokens)
    return {token: Price(each.usd, each.decimals) for token, each in listed if each and each.usd is not None}


def store_route(request: PaymentRequest, token: Token, choice: Choice, asked_at: datetime) -> Route | None:
    """Store an accepted offer as a route with its first quote. Return None if another quote has the same id."""
    offer = choice.offer
    route = Route(
        request=request,
        type=PaymentType.SWAP,
        wallet_address=offer.source.account,
        chain=token.chain,
        token=token,
        amount=offer.amount_in,
        amount_due=choice.wanted.amount,
        provider=offer.provider,
        details={**details_of(offer), "tags": list(choice.tags), "order": choice.wanted.order.value},
        created_at=asked_at,
        expires_at=min(asked_at + ROUTE_LIFETIME, request.expires_at),
    )
    try:
        with transaction.atomic():
            route.save(force_insert=True)
            _save_quote(route, offer, asked_at)
    except (IntegrityError, DataError):
        logger.exception(
            "an offer of %s was not stored: its id may belong to an earlier offer", offer.provider
        )
        return None
    return route


def store_quote(route: Route, offer: Offer, asked_at: datetime) -> Quote | None:
    """Store an accepted offer as the route's newest quote. Return None if another quote has the same id.

    The details that the customer saw don't change.
    """
    try:
        with transaction.atomic():
            quote = _save_quote(route, offer, asked_at)
    except (IntegrityError, DataError):
        logger.exception(
            "an offer of %s was not stored: its id may belong to an earlier offer", offer.provider
        )
        return None
    return quote


def _save_quote(route: Route, offer: Offer, asked_at: datetime) -> Quote:
    return Quote.objects.create(
        route=route,
        provider=offer.provider,
        provider_quote_id=offer.quote_id[:200],
        bound_by=offer.bound_by,
        amount_in=offer.amount_in,
        amount_out=offer.amount_out,
        amount_out_min=offer.amount_out_min,
        spender=offer.spender or "",
        must_reset_approval=offer.must_reset_approval,
        action=actions.to_json(offer.action),
        tracking=dict(offer.tracking),
        created_at=asked_at,
    )


def details_of(offer: Offer) -> dict[str, Any]:
    """Return the details of an offer to display, and its extra native amount. Amounts are strings."""
    return {
        "amount_out": str(offer.amount_out),
        "amount_out_min": str(offer.amount_out_min),
        "extra_native": str(extra_native(offer)),
        "usd_in": _dollars(offer.usd_in),
        "usd_out": _dollars(offer.usd_out),
        "calls": contract_called(offer.action),
        "spender": offer.spender,
        "fees": [_fee(fee) for fee in offer.fees],
        "gas": [_fee(fee) for fee in offer.gas],
        "duration_seconds": offer.duration_seconds,
        "tools": [{"key": _clean(tool.key), "name": _clean(tool.name)} for tool in offer.tools],
    }


def _fee(fee: Fee) -> dict[str, Any]:
    return {
        "name": _clean(fee.name),
        "symbol": _clean(fee.symbol),
        "decimals": fee.decimals,
        "chain_id": fee.chain_id,
        "token": fee.token,
        "amount": str(fee.amount),
        "usd": _dollars(fee.usd),
        "included": fee.included,
    }


def contract_called(action: Action) -> str | None:
    """Return the contract that the transaction calls. None on Solana, where it calls several programs."""
    return action.to if isinstance(action, EvmCall) else None


def _dollars(value: Decimal | None) -> str | None:
    """Return dollars with 4 decimal places. An implausible value becomes None."""
    if value is None or not value.is_finite() or abs(value) >= _MAX_DOLLARS:
        return None
    return f"{value:.4f}"


def _clean(text: str) -> str:
    """Return a provider's text, truncated. Unsafe text becomes ""."""
    return "" if has_unsafe_characters(text) else text[:_LONGEST_NAME]
