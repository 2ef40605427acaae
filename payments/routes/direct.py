"""Direct routes: the customer's wallet sends the requested token to the merchant's wallet, on the same chain."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from chains.client import ChainClient, Refusal, TransferRefused
from payments.models import Payment, PaymentRequest, Route
from payments.proofs.messages import proof_message
from payments.routes.answers import Built
from payments.routes.refusals import expired, require_valid_recipient

LIFETIME = timedelta(minutes=15)


def offer_direct(
    request: PaymentRequest, wallet_address: str, now: datetime, *, is_sponsored: bool = False
) -> Route:
    return Route.objects.create(
        request=request,
        wallet_address=wallet_address,
        chain=request.token.chain,
        token=request.token,
        amount=request.amount_remaining,
        created_at=now,
        expires_at=min(now + LIFETIME, request.expires_at),
        is_sponsored=is_sponsored,
    )


def build_direct(route: Route, binding: str | None, client: ChainClient, now: datetime) -> Built:
    """Build a transfer with the reference. If that is not possible, build a plain transfer, which a proof can bind.

    Raises ApiError, TransferRefused and ChainError.
    """
    if route.amount != route.request.amount_remaining:
        raise expired()
    require_valid_recipient(client, route.request)
    transaction, bound_by = _transfer(route, binding, client)
    needs_proof = bound_by == Payment.BoundBy.PAYER
    message = proof_message(route, settings.CHECKOUT_URL, now) if needs_proof else ""
    Route.objects.filter(pk=route.pk).update(built_at=now, proof_message=message)
    return Built(transaction, bound_by, message)


def _transfer(
    route: Route, binding: str | None, client: ChainClient
) -> tuple[dict[str, Any] | str, Payment.BoundBy]:
    request = route.request

    def transfer(reference: bytes | None) -> dict[str, Any] | str:
        return client.build_transfer(
            token=route.token.contract_address,
            sender=route.wallet_address,
            recipient=request.recipient_address,
            amount=route.amount,
            reference=reference,
            memo_reference=bytes(request.reference),
        )

    if binding != "payer" and can_carry_reference(request):
        try:
            return transfer(bytes(request.reference)), Payment.BoundBy.REFERENCE
        except TransferRefused as refused:
            # Some contracts reject the reference's extra bytes. Without them, the payment may succeed.
            if binding == "reference" or refused.refusal != Refusal.WOULD_FAIL:
                raise
    return transfer(None), Payment.BoundBy.PAYER


def can_carry_reference(request: PaymentRequest) -> bool:
    """Whether a transfer can carry the request's reference after the call's arguments."""
    return request.references and request.token.trailing_data
