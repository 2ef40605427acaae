"""Ways to pay what remains of a request, and the unsigned transaction for the one that was chosen (contract 8)."""

from collections.abc import Callable

from django.utils import timezone

from chains.clients import get_client
from chains.clients.base import ChainClient, ChainError, TransferRefused
from chains.models import Chain, Token
from payments.direct_routes import build_direct, offer_direct
from payments.models import PaymentRequest, Route
from payments.models.route import PaymentType
from payments.route_answers import Built, NoRoute
from payments.route_refusals import demand_payable, expired, no_node, refused
from payments.swaps.routes import build_swap, offer_swaps

__all__ = ["Built", "NoRoute", "build_transaction", "find_routes"]

Client = Callable[[Chain], ChainClient]


def find_routes(
    request: PaymentRequest, *, wallet_address: str, token: Token, allow_parallel: bool = False
) -> list[Route] | NoRoute:
    """Return the routes from `token` in this wallet to exactly what remains to be paid.

    The same token on the same chain gives one direct route, with nobody asked; for any other the routing providers are
    asked. Raises ApiError unless the request is active, while a payment under way would cover the rest (unless
    `allow_parallel`), and where no provider or node answers.
    """
    now = timezone.now()
    demand_payable(request, now, allow_parallel=allow_parallel)
    if token.pk == request.token_id:
        return [offer_direct(request, wallet_address, now)]
    return offer_swaps(request, wallet_address=wallet_address, token=token)


def build_transaction(
    route: Route, *, binding: str | None = None, allow_parallel: bool = False, client: Client = get_client
) -> Built:
    """Return the unsigned transaction for `route`, simulated first.

    A direct one carries the request's reference where that can be; else, or with `binding` "payer", the payer's
    signature under the returned message binds it. A swap is bound by its provider's id. Raises ApiError: the request is
    not payable, the route has expired or no longer fits what remains, the wallet lacks the funds or the gas, the
    transaction would fail, or no node or provider answers.
    """
    now = timezone.now()
    demand_payable(route.request, now, allow_parallel=allow_parallel)
    if now >= route.expires_at:
        raise expired()
    try:
        if route.type == PaymentType.SWAP:
            return build_swap(route, binding, client)
        return build_direct(route, binding, client(route.chain), now)
    except TransferRefused as refusal:
        raise refused(route, refusal) from refusal
    except ChainError as error:
        raise no_node(route.chain) from error
