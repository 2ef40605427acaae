"""What the checkout shows of a request: all that a customer needs, nothing that only the merchant may know."""

from typing import Any

from django.conf import settings
from django.utils import timezone

from chains.amounts import amount_object
from chains.models import Chain
from chains.serializers import TokenSerializer
from checkout.api.progress import is_under_way
from checkout.api.reference import CheckoutPaymentSerializer
from config.api.serializers import timestamp
from merchants.models import Merchant
from payments.api.representations import payment_url, return_url, weightiest_payments
from payments.models import Payment, PaymentRequest

_FASTEST_POLL_MS = 1000
_IDLE_POLL_MS = 5000
_FINAL_POLL_MS = 60_000


def checkout_object(request: PaymentRequest) -> dict[str, Any]:
    """Return the answer of GET /api/public/payment-requests/{id} (contract 8)."""
    decimals = request.token.decimals
    payments = weightiest_payments(request)
    is_final = request.status != PaymentRequest.Status.ACTIVE and not any(
        payment.is_open for payment in payments
    )
    completed = request.status == PaymentRequest.Status.COMPLETED
    return {
        "object": "checkout",
        "id": str(request.id),
        "shortcode": request.shortcode,
        "status": request.status,
        "amount": amount_object(request.amount, decimals),
        "amount_paid": amount_object(request.amount_paid, decimals),
        "amount_remaining": amount_object(request.amount_remaining, decimals),
        "amount_overpaid": amount_object(request.amount_overpaid, decimals),
        "token": dict(TokenSerializer(request.token).data),
        "chain_id": request.chain_id,
        "chain": chain_object(request.chain),
        "recipient_address": request.recipient_address,
        "description": request.description,
        "created_at": timestamp(request.created_at),
        "expires_at": timestamp(request.expires_at),
        "completed_at": timestamp(request.completed_at),
        "paid_late": request.paid_late,
        "payment_url": payment_url(request),
        "cancel_url": return_url(request.cancel_url, request),
        "redirect_url": return_url(request.redirect_url, request) if completed else None,
        "merchant": merchant_object(request.merchant),
        "payments": [public_payment(payment) for payment in payments],
        "is_available": request.is_available,
        "is_test": settings.ENVIRONMENT == "staging" or any(payment.is_simulated for payment in payments),
        "pay_with": {"is_routed": bool(settings.ROUTING_PROVIDERS)},
        "is_final": is_final,
        "poll_in_ms": _poll_in_ms(request, payments, is_final),
    }


def with_server_time(checkout: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with the time of day, which is left out of the ETag."""
    return {**checkout, "server_time": timestamp(timezone.now())}


def merchant_object(merchant: Merchant) -> dict[str, Any]:
    """Return the merchant's theme."""
    return {
        "name": merchant.display_name or merchant.name,
        "logo_url": merchant.logo_url or None,
        "accent_colour": merchant.accent_colour or None,
        "background_colour": merchant.background_colour or None,
        "support_url": merchant.support_url or None,
        "support_email": merchant.support_email or None,
        "default_language": merchant.default_language or "en",
    }


def chain_object(chain: Chain) -> dict[str, Any]:
    """Return what the widget needs to know of a chain."""
    return {
        "id": chain.id,
        "name": chain.name,
        "chain_type": chain.chain_type,
        "network": chain.network,
        "native_symbol": chain.native_symbol,
        "explorer_url": chain.explorer_url or None,
        "wallet_rpc_url": chain.wallet_rpc_url or None,
    }


def public_payment(payment: Payment) -> dict[str, Any]:
    """Return the payment object without what is not the onlooker's business."""
    return dict(CheckoutPaymentSerializer(payment).data)


def _poll_in_ms(request: PaymentRequest, payments: list[Payment], is_final: bool) -> int:
    """Return how soon asking again is worth it: about once a block while a payment is open."""
    if is_final:
        return _FINAL_POLL_MS
    if any(payment.is_open for payment in payments):
        return min(max(request.chain.block_time_ms, _FASTEST_POLL_MS), _IDLE_POLL_MS)
    return _IDLE_POLL_MS


def page_state(checkout: dict[str, Any]) -> str:
    """Return which of the page's states this is: `processing` only for an open payment that is bound to the request."""
    if checkout["status"] != PaymentRequest.Status.ACTIVE:
        return str(checkout["status"])
    if any(is_under_way(payment) for payment in checkout["payments"]):
        return "processing"
    return "partly_paid" if checkout["amount_paid"]["raw"] != "0" else "active"


def is_paid_too_much(checkout: dict[str, Any]) -> bool:
    """Return whether more came than was asked for; not the little more of a swap, which promises a least amount."""
    paid = [payment for payment in checkout["payments"] if payment["status"] == Payment.Status.COMPLETED]
    is_swap = len(paid) == 1 and paid[0]["type"] == Payment.Type.SWAP
    is_over = checkout["amount_overpaid"]["raw"] != "0"
    return checkout["status"] == PaymentRequest.Status.COMPLETED and is_over and not is_swap
