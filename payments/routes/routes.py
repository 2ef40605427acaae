"""Ways to pay what remains of a request, and the unsigned transaction for the one that was chosen (contract 8)."""

from collections.abc import Callable

from django.utils import timezone

from chains.client import ChainClient, ChainError, TransferRefused
from chains.families import get_client
from chains.models import Chain, Token
from config.api.errors import ApiError, ErrorCode
from payments.models import PaymentRequest, Route
from payments.models.route import PaymentType
from payments.routes.answers import Built, NoRoute
from payments.routes.direct import build_direct, can_carry_reference, offer_direct
from payments.routes.no_route import no_wallet, not_available
from payments.routes.refusals import expired, no_node, refused, require_available, require_payable
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
    """Return the routes from `token` in this wallet to exactly what remains to be paid.

    The same token on the same chain gives one direct route, with nobody asked; for any other the routing providers are
    asked, of the share of their quotas that the client `asked_by` has. There is none while the requested token or its
    chain is inactive. Raises ApiError unless the request is active,
    while a payment under way would cover the rest (unless `allow_parallel`), and where no provider or node answers.
    """
    now = timezone.now()
    require_payable(request, now, allow_parallel=allow_parallel)
    if not request.is_available:
        return not_available(request)
    family = token.chain.family
    if not family.actions:
        return no_wallet(request, family.label)
    if token.pk == request.token_id:
        return [offer_direct(request, wallet_address, now)]
    return offer_swaps(request, wallet_address=wallet_address, token=token, asked_by=asked_by)


def require_binding(route: Route, binding: str | None) -> None:
    """Raise ApiError where what is asked to bind the transaction can't bind one of `route`."""
    if binding is not None and route.type == PaymentType.SWAP:
        message = "A route of a provider is bound by the provider's own id; leave binding out."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "binding")
    if binding == "reference" and not can_carry_reference(route.request):
        message = (
            "Transactions for this request can't carry a reference; leave binding out, or ask for payer."
        )
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "binding")


def build_transaction(
    route: Route,
    *,
    binding: str | None = None,
    allow_parallel: bool = False,
    asked_by: str = "",
    client: Client = get_client,
) -> Built:
    """Return the unsigned transaction for `route`, simulated first.

    A direct one carries the request's reference where that can be; else, or with `binding` "payer", the payer's
    signature under the returned message binds it. A swap is bound by its provider's id. Raises ApiError: the request is
    not payable, the route has expired or no longer fits what remains, `binding` can't bind it, the wallet lacks the
    funds or the gas, the transaction would fail, or no node or provider answers. A new quote is of the share of its
    provider's quota that the client `asked_by` has.
    """
    require_binding(route, binding)
    now = timezone.now()
    require_payable(route.request, now, allow_parallel=allow_parallel)
    if now >= route.expires_at:
        raise expired()
    require_available(route)
    try:
        if route.type == PaymentType.SWAP:
            return build_swap(route, client, asked_by=asked_by)
        return build_direct(route, binding, client(route.chain), now)
    except TransferRefused as refusal:
        raise refused(route, refusal) from refusal
    except ChainError as error:
        raise no_node(route.chain) from error
