"""Look up the objects for a call of the checkout: request, route, chain, wallet and token."""

import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from rest_framework.request import Request

from chains.client import ChainClient
from chains.families import AddressError, get_client
from chains.lookup import find_chain, find_token
from chains.models import Chain, Token
from config.api.errors import ApiError, ErrorCode
from config.api.log_context import add_to_log_context
from config.api.objects import ObjectMissing, find_object
from config.api.serializers import StrictSerializer
from payments.models import Payment, PaymentRequest, Route
from payments.requests.reading import find_any, find_by_shortcode
from payments.routes.tokens import token_to_pay_with

Client = Callable[[Chain], ChainClient]


def validated(serializer_class: type[StrictSerializer], request: Request) -> dict[str, Any]:
    serializer = serializer_class(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def find_request(id_or_shortcode: str) -> PaymentRequest:
    """Return the request with this UUID or shortcode. Raises ObjectMissing."""
    request_id = None
    with suppress(ValueError):
        request_id = uuid.UUID(id_or_shortcode)
    request = find_any(request_id) if request_id else None
    if request is None and id_or_shortcode.isascii() and id_or_shortcode.isalnum():
        request = find_by_shortcode(id_or_shortcode)
    if request is None:
        raise ObjectMissing("payment request", id_or_shortcode)
    add_to_log_context(payment_request_id=request.pk)
    return request


def find_route(route_id: str, *, of: PaymentRequest | None = None) -> Route:
    """Return the route with this id. With `of`, the route must belong to that request. Raises ObjectMissing."""
    routes = Route.objects.select_related(
        "request__token", "request__chain", "request__merchant", "chain", "token"
    )
    if of is not None:
        return find_object(routes.filter(request=of), "route of this payment request", route_id)
    return find_object(routes, "route", route_id)


def find_payment(payment_id: str, *, of: PaymentRequest) -> Payment:
    """Return the request's payment with this id, with the related rows that the sender's proof needs.

    Raises ObjectMissing.
    """
    payments = Payment.objects.filter(request=of).select_related("chain", "lookup", "swap__delivery")
    payment = find_object(payments, "payment of this payment request", payment_id)
    # Use `of`, because the caller has already loaded it with its token, chain and merchant.
    payment.request = payment.lookup.payment.request = of
    return payment


def chain_of(chain_id: int, *, active_only: bool = True) -> Chain:
    """Return the chain. Raises ApiError.

    Pass `active_only=False` for submitted hashes: a payment on an inactive chain may be in progress. Also pass it for
    refunds, which may be paid in an inactive token.
    """
    chain = find_chain(chain_id, active_only=active_only)
    if chain is None:
        raise ApiError(ErrorCode.CHAIN_UNKNOWN, f"There is no chain {chain_id} here.", "chain_id")
    return chain


def wallet_of(chain: Chain, text: str) -> str:
    """Return the wallet's address in its canonical form. Raises ApiError."""
    try:
        return chain.family.normalise_address(text)
    except AddressError as error:
        raise ApiError(ErrorCode.ADDRESS_INVALID, str(error), "wallet_address") from error


def token_of(
    chain: Chain, body: Mapping[str, Any], *, active_only: bool = True, client: Client = get_client
) -> Token:
    """Return the token of the body's `token_id` or `token_address`. Raises ApiError.

    A `token_address` may belong to a token that is only in a routing provider's list. The function may then call a
    node, and the returned row may not be saved.
    """
    if "token_id" not in body:
        return token_to_pay_with(chain, body["token_address"], client=client)
    token = find_token(body["token_id"], active_only=active_only)
    if token is None or token.chain_id != chain.pk:
        raise ApiError(ErrorCode.TOKEN_UNKNOWN, f"{chain.name} has no such token here.", "token_id")
    return token
