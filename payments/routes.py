"""Ways to pay what remains of a request, and the unsigned transaction for the one that was chosen (contract 8)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from chains.amounts import display_amount
from chains.clients import get_client
from chains.clients.base import ChainClient, ChainError, Refusal, TransferRefused
from chains.models import Chain, ChainType, Token
from config.api.errors import ApiError, ErrorCode
from payments.models import Payment, PaymentRequest, Route
from payments.proof_messages import proof_message
from payments.requests import covering_payment

ROUTE_LIFETIME = timedelta(minutes=15)
NODE_RETRY_SECONDS = 5

Client = Callable[[Chain], ChainClient]


@dataclass(frozen=True)
class NoRoute:
    """Why there is no way to pay with this token; an answer, not an error."""

    code: str
    message: str


def find_routes(
    request: PaymentRequest, *, wallet_address: str, token: Token, allow_parallel: bool = False
) -> list[Route] | NoRoute:
    """Return the routes from `token` in this wallet to exactly what remains to be paid.

    The same token on the same chain gives one direct route, with nobody asked. Raises ApiError unless the request is
    active, and while a payment under way would cover the rest (unless `allow_parallel`).
    """
    now = timezone.now()
    demand_payable(request, now, allow_parallel=allow_parallel)
    if token.pk != request.token_id:
        wanted = f"{request.token.symbol} on {request.chain.name}"
        return NoRoute("no_route", f"This can be paid in {wanted} only.")
    route = Route.objects.create(
        request=request,
        wallet_address=wallet_address,
        chain=token.chain,
        token=token,
        amount=request.amount_remaining,
        created_at=now,
        expires_at=min(now + ROUTE_LIFETIME, request.expires_at),
    )
    return [route]


@dataclass(frozen=True)
class Built:
    """An unsigned transaction and what will bind it; with `payer`, `proof_message` is to be signed as well."""

    transaction: dict[str, Any] | str
    binding: Payment.BoundBy
    proof_message: str


def build_transaction(
    route: Route, *, binding: str | None = None, allow_parallel: bool = False, client: Client = get_client
) -> Built:
    """Return the unsigned transaction for `route`, simulated first.

    It carries the request's reference where that can be; else, or with `binding` "payer", the payer's signature under
    the returned message binds it. Raises ApiError: the request is not payable, the route has expired or no longer fits
    what remains, the wallet lacks the funds or the gas, the transaction would fail, or no node answers.
    """
    request, now = route.request, timezone.now()
    demand_payable(request, now, allow_parallel=allow_parallel)
    if now >= route.expires_at or route.amount != request.amount_remaining:
        raise ApiError(ErrorCode.ROUTE_EXPIRED, "This route is no longer valid; ask for routes again.")
    try:
        transaction, bound_by = _build(route, binding, client(route.chain))
    except TransferRefused as refused:
        raise _refused(route, refused) from refused
    except ChainError as error:
        message = f"{route.chain.name} can't be reached at the moment. Nothing was sent; try again in a few seconds."
        raise ApiError(ErrorCode.NODE_UNAVAILABLE, message, retry_after=NODE_RETRY_SECONDS) from error
    needs_proof = bound_by == Payment.BoundBy.PAYER
    message = proof_message(route, settings.CHECKOUT_URL, now) if needs_proof else ""
    Route.objects.filter(pk=route.pk).update(built_at=now, proof_message=message)
    return Built(transaction, bound_by, message)


def _build(
    route: Route, binding: str | None, client: ChainClient
) -> tuple[dict[str, Any] | str, Payment.BoundBy]:
    """Return the transaction with the reference or, where that can't be, a plain one that a proof has to bind."""
    request = route.request
    problem = client.recipient_problem(request.recipient_address)
    if problem is not None:
        raise ApiError(ErrorCode.RECIPIENT_INVALID, f"The merchant's wallet can't be paid: {problem}")

    def transfer(reference: bytes | None) -> dict[str, Any] | str:
        return client.build_transfer(
            token=route.token.contract_address,
            sender=route.wallet_address,
            recipient=request.recipient_address,
            amount=route.amount,
            reference=reference,
        )

    if binding == "reference" and not can_carry_reference(request):
        message = (
            "Transactions for this request can't carry a reference; leave binding out, or ask for payer."
        )
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "binding")
    if binding != "payer" and can_carry_reference(request):
        try:
            return transfer(bytes(request.reference)), Payment.BoundBy.REFERENCE
        except TransferRefused as refused:
            # Some contracts refuse bytes that they do not expect; without them the payment may well go through.
            if binding == "reference" or refused.refusal != Refusal.WOULD_FAIL:
                raise
    return transfer(None), Payment.BoundBy.PAYER


def native_decimals(chain: Chain) -> int:
    """Return the decimals of the chain's own coin: wei on EVM, lamports on Solana."""
    return 9 if chain.chain_type == ChainType.SOLANA else 18


def can_carry_reference(request: PaymentRequest) -> bool:
    """Whether the service's transaction for this request may hold bytes after its arguments (contract 7)."""
    return request.references and request.token.trailing_data


def demand_payable(request: PaymentRequest, now: datetime, *, allow_parallel: bool) -> None:
    """Raise ApiError unless paying this request now makes sense."""
    if request.status != PaymentRequest.Status.ACTIVE or request.is_past_expiry(now):
        state = request.status if request.status != PaymentRequest.Status.ACTIVE else "past its deadline"
        message = f"This payment request is {state}; please don't pay it."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
    if not allow_parallel and covering_payment(request, now):
        message = "A payment that would cover the rest is being verified. Wait for it before you pay again."
        raise ApiError(ErrorCode.PAYMENT_IN_PROGRESS, message)


def _refused(route: Route, refused: TransferRefused) -> ApiError:
    match refused.refusal:
        case Refusal.INSUFFICIENT_FUNDS:
            missing = display_amount(refused.missing, route.token.decimals)
            message = f"This wallet is short of {missing} {route.token.symbol} on {route.chain.name}."
            return ApiError(ErrorCode.INSUFFICIENT_FUNDS, message)
        case Refusal.INSUFFICIENT_GAS:
            missing = display_amount(refused.missing, native_decimals(route.chain))
            message = f"This wallet is short of {missing} {route.chain.native_symbol} for the network's fee."
            return ApiError(ErrorCode.INSUFFICIENT_GAS, message)
    return ApiError(
        ErrorCode.TRANSACTION_WOULD_FAIL, "The network says that this payment would fail, so it is not built."
    )
