"""The errors when routes are offered, built or approved. Each message has the next step."""

from datetime import datetime
from math import ceil

from chains.amounts import display_amount
from chains.client import ChainClient, Refusal, TransferRefused
from chains.models import Chain, Token
from chains.switches import Feature, require_offered, require_on
from config.api.errors import ApiError, ErrorCode
from payments.models import PaymentRequest, Route
from payments.refunds.services import in_progress, refund_of, require_left
from payments.requests.lifecycle import covering_payment

NODE_RETRY_SECONDS = 5
ROUTING_RETRY_SECONDS = 15
LONGEST_RETRY_SECONDS = 3600


def require_payable(request: PaymentRequest, now: datetime, *, allow_parallel: bool) -> None:
    """Raise ApiError if the request isn't active, or if an open payment covers it (allowed with `allow_parallel`).

    Also raise ApiError if a refund's amount is not available any more. The refund's page stays open after a failure,
    and anyone may have its link. Two transactions of a refund are never sent in parallel, because each would refund
    the whole amount.
    """
    if request.status != PaymentRequest.Status.ACTIVE or request.is_past_expiry(now):
        state = request.status if request.status != PaymentRequest.Status.ACTIVE else "past its deadline"
        message = f"This payment request is {state}. Don't pay it."
        if request.is_refund:
            message = f"This refund is {state}. Don't send it."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
    if request.is_paid_in_full:
        message = "This payment request is already paid in full. Don't pay it again."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
    if (request.is_refund or not allow_parallel) and covering_payment(request, now):
        if request.is_refund:
            raise in_progress()
        message = (
            "A payment that covers the remaining amount is being verified. Wait for it before you pay again."
        )
        raise ApiError(ErrorCode.PAYMENT_IN_PROGRESS, message)
    if request.is_refund:
        require_left(refund_of(request))


def require_switched_on(request: PaymentRequest, token: Token) -> None:
    """Raise ApiError (503) if the operator switched off one of the tokens, or swaps between them.

    For a refund, refunds must also be switched on, because the page that sends a refund is public.
    """
    require_offered(request.token)
    if request.is_refund:
        require_on(Feature.REFUNDS)
    if token.pk != request.token_id:
        require_on(Feature.SWAPS)
        require_offered(token)


def require_available(route: Route) -> None:
    """Raise ApiError if the route's token, the requested token or one of their chains is inactive."""
    if not route.request.is_available:
        subject = "Refunds" if route.request.is_refund else "Payments"
        raise expired(
            f"{subject} in {_requested(route.request)} are unavailable at the moment. Don't send anything now."
        )
    if not route.request.is_refund and not (route.chain.is_active and route.token.is_payable):
        message = f"{route.token.symbol} on {route.chain.name} is no longer accepted. Request routes again."
        raise expired(message)


def _requested(request: PaymentRequest) -> str:
    return f"{request.token.symbol} on {request.chain.name}"


def require_valid_recipient(client: ChainClient, request: PaymentRequest) -> None:
    """Raise ApiError if the recipient can't be paid. Raises ChainError if no node responds."""
    problem = client.recipient_problem(request.recipient_address)
    if problem is not None:
        owner = "customer" if request.is_refund else "merchant"
        raise ApiError(ErrorCode.RECIPIENT_INVALID, f"The {owner}'s wallet can't be paid: {problem}")


def no_node(chain: Chain, state: str = "Nothing was sent.") -> ApiError:
    message = f"{chain.name} can't be reached at the moment. {state} Try again in a few seconds."
    return ApiError(ErrorCode.NODE_UNAVAILABLE, message, retry_after=NODE_RETRY_SECONDS)


def routing_down(request: PaymentRequest, retry_after: float | None) -> ApiError:
    """Return the error when no routing provider responds. The error's message offers the direct route."""
    token_text = f"{request.token.symbol} on {request.chain.name}"
    message = (
        f"Routes from other tokens are unavailable at the moment. Pay in {token_text}, or try again shortly."
    )
    seconds = ROUTING_RETRY_SECONDS if retry_after is None else ceil(min(retry_after, LONGEST_RETRY_SECONDS))
    return ApiError(ErrorCode.ROUTING_UNAVAILABLE, message, retry_after=max(seconds, 1))


def share_spent(request: PaymentRequest, retry_after: float | None) -> ApiError:
    seconds = max(ceil(min(retry_after or ROUTING_RETRY_SECONDS, LONGEST_RETRY_SECONDS)), 1)
    message = (
        f"Too many quotes from your network. Pay in {request.token.symbol} on {request.chain.name}, "
        f"or try again in {seconds} seconds."
    )
    return ApiError(ErrorCode.RATE_LIMITED, message, retry_after=seconds)


def expired(message: str = "This route is no longer valid. Request routes again.") -> ApiError:
    return ApiError(ErrorCode.ROUTE_EXPIRED, message)


def unavailable(reason: str = "The network fee can't be paid for you at the moment.") -> ApiError:
    return ApiError(ErrorCode.SPONSORING_UNAVAILABLE, f"{reason} Pay with the other route.")


def refused(route: Route, refused: TransferRefused) -> ApiError:
    """Return the error for a transfer that the wallet can't afford or that would fail."""
    match refused.refusal:
        case Refusal.INSUFFICIENT_FUNDS:
            missing = display_amount(refused.missing, route.token.decimals)
            message = f"This wallet needs {missing} more {route.token.symbol} on {route.chain.name}."
            return ApiError(ErrorCode.INSUFFICIENT_FUNDS, message)
        case Refusal.INSUFFICIENT_GAS:
            missing = display_amount(refused.missing, route.chain.family.native_decimals)
            message = f"This wallet needs {missing} more {route.chain.native_symbol} for the network fee."
            return ApiError(ErrorCode.INSUFFICIENT_GAS, message)
    return ApiError(
        ErrorCode.TRANSACTION_WOULD_FAIL, "The simulation of this transaction failed, so it was not built."
    )
