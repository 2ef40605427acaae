"""The order in all examples of the API reference: 12.50 USDC on Base, requested and paid."""

from typing import Any

_BUYER = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
SHOP = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
_HASH = "0x1674e0fa8c5ef411b67eeea593c73d514b2bda129634cbf60a4dc2a9bcb3427f"
_PRICE = {"raw": "12500000", "formatted": "12.500000", "decimals": 6}
_NOTHING = {"raw": "0", "formatted": "0.000000", "decimals": 6}
_USDC = {
    "id": 2,
    "symbol": "USDC",
    "name": "USD Coin",
    "decimals": 6,
    "contract_address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
}
_ID = "01a1fd92-caa6-7393-afe5-964ec9235339"
_PAYMENT_ID = "pay_LuEmx6pbX844yEZ3nq8pdsoC"

NEW_PAYMENT_REQUEST: dict[str, Any] = {
    "amount": "12.50",
    "token_id": 2,
    "chain_id": 8453,
    "recipient_address": SHOP,
    "external_id": "order-1001",
    "redirect_url": "https://shop.example.com/orders/1001",
    "cancel_url": "https://shop.example.com/basket",
    "description": "Two bags of coffee",
    "metadata": {"customer": "c-42"},
    "expires_in": 3600,
    "webhook_url": "https://shop.example.com/webhooks/orders",
    "references": True,
}

RATE: dict[str, Any] = {
    "value": "0.911402551973",
    "currency": "EUR",
    "token": "USDC",
    "sources": ["coinbase", "feeds:8453", "kraken"],
    "observed_at": "2026-11-21T10:00:00.000000Z",
}

VALUE: dict[str, Any] = {
    "currency": "USD",
    "amount": "12.50",
    "rate": "1.00005",
    "observed_at": "2026-11-21T10:07:01.000000Z",
    "estimated": False,
}

PAYMENT: dict[str, Any] = {
    "id": _PAYMENT_ID,
    "object": "payment",
    "payment_request": _ID,
    "status": "completed",
    "type": "direct",
    "chain_id": 8453,
    "transaction_hash": _HASH,
    "replaced_hashes": [],
    "from_address": _BUYER,
    "value": VALUE,
    "token": _USDC,
    "amount": _PRICE,
    "amount_received": _PRICE,
    "destination_chain_id": 8453,
    "destination_transaction_hash": _HASH,
    "confirmations": 5,
    "confirmations_required": 5,
    "explorer_url": f"https://basescan.org/tx/{_HASH}",
    "destination_confirmations": None,
    "destination_confirmations_required": None,
    "destination_explorer_url": None,
    "bound_by": "reference",
    "sender_signed_at": None,
    "reorged": False,
    "provider": None,
    "provider_status": None,
    "provider_url": None,
    "status_detail": "The payment is complete.",
    "attempts": 0,
    "retries_left": 3,
    "failure_code": None,
    "failure_message": None,
    "created_at": "2026-11-21T10:06:40.118532Z",
    "completed_at": "2026-11-21T10:06:52.620914Z",
    "failed_at": None,
    "is_simulated": False,
    "sponsored": False,
}

PAYMENT_REQUEST: dict[str, Any] = {
    "id": _ID,
    "object": "payment_request",
    "shortcode": "Yj5LTJ4eWhtQ",
    "status": "completed",
    "amount": _PRICE,
    "amount_paid": _PRICE,
    "amount_remaining": _NOTHING,
    "amount_overpaid": _NOTHING,
    "amount_refunded": _NOTHING,
    "amount_refund_open": _NOTHING,
    "price": None,
    "rate": None,
    "chain_id": 8453,
    "token": _USDC,
    "recipient_address": SHOP,
    "deposit_address": None,
    "payment_url": "https://pay.example.com/pay/Yj5LTJ4eWhtQ",
    "redirect_url": "https://shop.example.com/orders/1001",
    "cancel_url": "https://shop.example.com/basket",
    "webhook_url": None,
    "external_id": "order-1001",
    "description": "Two bags of coffee",
    "metadata": {"customer": "c-42"},
    "payment_link": None,
    "references": True,
    "paid_late": False,
    "expires_at": "2026-11-21T11:05:12.402881Z",
    "created_at": "2026-11-21T10:05:12.402881Z",
    "completed_at": "2026-11-21T10:06:52.620914Z",
    "cancelled_at": None,
    "expired_at": None,
    "is_simulated": False,
    "refunds": [],
}

PAYMENT_REQUEST_DETAIL: dict[str, Any] = {**PAYMENT_REQUEST, "payments": [PAYMENT]}

NEW_REFUND: dict[str, Any] = {
    "amount": "2.50",
    "recipient_address": _BUYER,
    "payment_id": _PAYMENT_ID,
    "reason": "One bag was torn",
}

REFUND: dict[str, Any] = {
    "id": "rf_7TqLxJZ3vQkA9sWnRbYc2MhE",
    "object": "refund",
    "payment_request": _ID,
    "payment_id": _PAYMENT_ID,
    "status": "ready",
    "amount": {"raw": "2500000", "formatted": "2.500000", "decimals": 6},
    "chain_id": 8453,
    "token": _USDC,
    "recipient_address": _BUYER,
    "address_source": "merchant",
    "reason": "One bag was torn",
    "refund_url": "https://pay.example.com/pay/7hRkWm2QxT9c",
    "claim_url": "https://pay.example.com/refunds/Vn4KpJ8sLd3Y",
    "transaction_hash": None,
    "explorer_url": None,
    "confirmations": 0,
    "failure_code": None,
    "failure_message": None,
    "created_at": "2026-11-22T09:00:00.000000Z",
    "completed_at": None,
    "is_simulated": False,
}

OPEN_AMOUNT: dict[str, Any] = {"min": "5.00", "max": "500.00"}

OPEN_AMOUNT_LIMITS: dict[str, Any] = {
    "min": {"raw": "5000000", "formatted": "5.000000", "decimals": 6},
    "max": {"raw": "500000000", "formatted": "500.000000", "decimals": 6},
}

NEW_PAYMENT_LINK: dict[str, Any] = {
    "name": "Coffee tasting, 12 December",
    "amount": "12.50",
    "token_id": 2,
    "chain_id": 8453,
    "recipient_address": SHOP,
    "description": "One seat at the tasting",
    "max_payments": 20,
    "expires_at": "2026-12-12T17:00:00Z",
    "redirect_url": "https://shop.example.com/tasting",
    "metadata": {"event": "tasting"},
}

PAYMENT_LINK: dict[str, Any] = {
    "id": "pl_9fLhW3kTqZr5Yx8BvNc2PdSe",
    "object": "payment_link",
    "code": "Km7PwR4xTq9Z",
    "url": "https://pay.example.com/l/Km7PwR4xTq9Z",
    "name": "Coffee tasting, 12 December",
    "is_active": True,
    "token": _USDC,
    "chain_id": 8453,
    "recipient_address": SHOP,
    "amount": _PRICE,
    "price": None,
    "open_amount": None,
    "description": "One seat at the tasting",
    "metadata": {"event": "tasting"},
    "redirect_url": "https://shop.example.com/tasting",
    "max_payments": 20,
    "expires_at": "2026-12-12T17:00:00.000000Z",
    "requests_count": 9,
    "payments_count": 7,
    "created_at": "2026-11-21T10:00:00.000000Z",
}
