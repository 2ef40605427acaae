"""Find routes for a request's unpaid rest, and build the transaction of the chosen route."""

from collections.abc import Callable

from django.utils import timezone

from chains.client import ChainClient, ChainError, TransferRefused
from chains.families import get_client
from chains.models import Chain, Token
from config.api.errors import ApiError, ErrorCode
from payments.models import PaymentRequest, Route
from payments.models.route import PaymentType
from payments.refunds.services import reserve_to_send
from payments.routes.answers import Built, NoRoute
from payments.routes.batches import require_possible
from payments.routes.direct import build_direct, can_carry_reference, offer_direct
from payments.routes.no_route import no_provider, no_wallet, not_available
from payments.routes.refusals import (
    expired,
    no_node,
    refused,
    require_available,
    require_payable,
    require_switched_on,
)
from payments.routes.sponsored import build_sponsored, offer_sponsored
from payments.routes.swaps import build_swap, offer_swaps

__all__ = ["Built", "NoRoute", "build_transaction", "find_routes", "require_binding"]

Client = Callable[[Chain], ChainClient]


def find_routes(
    request: PaymentRequest,
    *,
    wallet_address: str,
    token: Token,
    allow_parallel: bool = False,
    asked_by: str = "",
) -> list[Route] | NoRoute:
    """Return the routes that pay exactly the unpaid rest with `token` of this wallet.

    - The requested token has a direct route. If the operator may pay the network fee, it has a sponsored route too.
    - Other tokens need quotes of the routing providers. The quotes count towards the quota share of the client
      `asked_by`.
    - If the requested token or its chain is inactive, there are no routes.

    Raises ApiError if the request is not active, or if an open payment covers the unpaid rest (unless
    `allow_parallel`). Raises ApiError also if a needed feature is switched off, or if no provider or node responds.
    """
    now = timezone.now()
    require_payable(request, now, allow_parallel=allow_parallel)
    require_switched_on(request, token)
    if not request.is_available:
        return not_available(request)
    family = token.chain.family
    if not family.actions:
        return no_wallet(request, family.label)
    if token.pk == request.token_id:
        sponsored = offer_sponsored(request, wallet_address, now)
        return [offer_direct(request, wallet_address, now), *([sponsored] if sponsored else [])]
    if (
        request.is_refund
    ):  # A refund returns exactly the promised amount, so only the requested token can send it.
        return no_provider(request)
    offered = offer_swaps(request, wallet_address=wallet_address, token=token, asked_by=asked_by)
    require_switched_on(request, token)
    return offered


def require_binding(route: Route, binding: str | None) -> None:
    if binding is not None and route.type == PaymentType.SWAP:
        message = "A provider's id binds the transaction of this route. Omit binding."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "binding")
    if binding is not None and route.is_sponsored:
        message = "The customer's signature binds this route. Omit binding."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "binding")
    if binding == "reference" and not can_carry_reference(route.request):
        message = "Transactions for this request can't carry a reference. Omit binding, or send payer."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "binding")


def build_transaction(
    route: Route,
    *,
    binding: str | None = None,
    is_batch: bool = False,
    allow_parallel: bool = False,
    asked_by: str = "",
    actor: str = "checkout",
    client: Client = get_client,
) -> Built:
    """Build and simulate the unsigned transaction for `route`.

    - A direct transfer carries the request's reference if possible. Otherwise, or if `binding` is "payer", the
      wallet signs the returned message, and that signature binds the transfer.
    - A swap is bound by the provider's id. If `is_batch` is set, the wallet sends the swap and its approvals in one
      atomic batch.
    - If a new quote is needed, the client `asked_by` uses its share of the quota.
    - A refund's amount is reserved. The history names `actor`.

    Raises ApiError if the request can't be paid, if the route no longer fits, or if `binding` is not possible. Raises
    ApiError also if the wallet lacks funds or gas, if the transaction would fail, or if no node or provider responds.
    """
    require_binding(route, binding)
    if is_batch:
        require_possible(route)
    now = timezone.now()
    require_payable(route.request, now, allow_parallel=allow_parallel)
    if now >= route.expires_at:
        raise expired()
    require_switched_on(route.request, route.token)
    require_available(route)
    try:
        if route.type == PaymentType.SWAP:
            built = build_swap(route, client, is_batch=is_batch, asked_by=asked_by)
        elif route.is_sponsored:
            built = build_sponsored(route, client(route.chain), now)
        else:
            built = build_direct(route, binding, client(route.chain), now)
    except TransferRefused as refusal:
        raise refused(route, refusal) from refusal
    except ChainError as error:
        raise no_node(route.chain) from error
    # Check the switches again: the calls above took seconds, but a switch must take effect within one second.
    require_switched_on(route.request, route.token)
    if route.request.is_refund:
        reserve_to_send(route.request, actor=actor)
    return built
