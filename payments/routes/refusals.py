"""Why a route is not offered, not built or not approved: what is missing, in whose coin, and what to do about it."""

from datetime import datetime
from math import ceil

from chains.amounts import display_amount
from chains.client import ChainClient, Refusal, TransferRefused
from chains.models import Chain
from config.api.errors import ApiError, ErrorCode
from payments.models import PaymentRequest, Route
from payments.requests.lifecycle import covering_payment

NODE_RETRY_SECONDS = 5
ROUTING_RETRY_SECONDS = 15
LONGEST_RETRY_SECONDS = 3600


def require_payable(request: PaymentRequest, now: datetime, *, allow_parallel: bool) -> None:
    """Raise ApiError unless paying this request now makes sense."""
    if request.status != PaymentRequest.Status.ACTIVE or request.is_past_expiry(now):
        state = request.status if request.status != PaymentRequest.Status.ACTIVE else "past its deadline"
        message = f"This payment request is {state}; please don't pay it."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
    if not allow_parallel and covering_payment(request, now):
        message = "A payment that would cover the rest is being verified. Wait for it before you pay again."
        raise ApiError(ErrorCode.PAYMENT_IN_PROGRESS, message)


def require_available(route: Route) -> None:
    """Raise ApiError where the catalogue has switched off what `route` pays with or what its request asks for."""
    if not route.request.is_available:
        raise expired(f"{_wanted(route.request)} can't be paid at the moment; please send nothing now.")
    if not (route.chain.is_active and route.token.is_payable):
        message = (
            f"{route.token.symbol} on {route.chain.name} can't be paid with any more; ask for routes again."
        )
        raise expired(message)


def _wanted(request: PaymentRequest) -> str:
    return f"{request.token.symbol} on {request.chain.name}"


def require_valid_recipient(client: ChainClient, request: PaymentRequest) -> None:
    """Raise ApiError where money must not be sent to the merchant's wallet; ChainError where that can't be asked."""
    problem = client.recipient_problem(request.recipient_address)
    if problem is not None:
        raise ApiError(ErrorCode.RECIPIENT_INVALID, f"The merchant's wallet can't be paid: {problem}")


def no_node(chain: Chain) -> ApiError:
    """Return the refusal where none of a chain's nodes gave a usable answer."""
    message = f"{chain.name} can't be reached at the moment. Nothing was sent; try again in a few seconds."
    return ApiError(ErrorCode.NODE_UNAVAILABLE, message, retry_after=NODE_RETRY_SECONDS)


def routing_down(request: PaymentRequest, retry_after: float | None) -> ApiError:
    """Return the refusal where no routing provider gave a usable answer; the direct way stays."""
    wanted = f"{request.token.symbol} on {request.chain.name}"
    message = (
        "Ways to pay with other tokens can't be looked up at the moment. "
        f"Pay in {wanted}, or try again in a little while."
    )
    seconds = ROUTING_RETRY_SECONDS if retry_after is None else ceil(min(retry_after, LONGEST_RETRY_SECONDS))
    return ApiError(ErrorCode.ROUTING_UNAVAILABLE, message, retry_after=max(seconds, 1))


def share_spent(request: PaymentRequest, retry_after: float | None) -> ApiError:
    """Return the refusal of a client that has used up its share of the providers' quotas; the direct way stays."""
    seconds = max(ceil(min(retry_after or ROUTING_RETRY_SECONDS, LONGEST_RETRY_SECONDS)), 1)
    message = (
        f"Too many quotes from your network. Pay in {request.token.symbol} on {request.chain.name}, "
        f"or try again in {seconds} seconds."
    )
    return ApiError(ErrorCode.RATE_LIMITED, message, retry_after=seconds)


def expired(message: str = "This route is no longer valid; ask for routes again.") -> ApiError:
    """Return the refusal of a route that does not fit any more."""
    return ApiError(ErrorCode.ROUTE_EXPIRED, message)


def refused(route: Route, refused: TransferRefused) -> ApiError:
    """Return what the wallet lacks for `route`, or that the network would not take the payment."""
    match refused.refusal:
        case Refusal.INSUFFICIENT_FUNDS:
            missing = display_amount(refused.missing, route.token.decimals)
            message = f"This wallet is short of {missing} {route.token.symbol} on {route.chain.name}."
            return ApiError(ErrorCode.INSUFFICIENT_FUNDS, message)
        case Refusal.INSUFFICIENT_GAS:
            missing = display_amount(refused.missing, route.chain.family.native_decimals)
            message = f"This wallet is short of {missing} {route.chain.native_symbol} for the network's fee."
            return ApiError(ErrorCode.INSUFFICIENT_GAS, message)
    return ApiError(
        ErrorCode.TRANSACTION_WOULD_FAIL, "The network says that this payment would fail, so it is not built."
    )
