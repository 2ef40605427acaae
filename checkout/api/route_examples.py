"""The route in the API reference's examples: 12.56 DAI on Arbitrum pay 12.50 USDC on Base."""

from typing import Any

from checkout.api.checkout_object import CHAIN
from checkout.api.route_warnings import MAY_NEED_ACCEPTANCE
from payments.api import examples

ROUTE_ID = "rt_3kYtq8WmZc5DvXn7RbLp2HsG"
EXPIRES = "2026-11-21T10:20:12.402881Z"
_REQUEST = examples.PAYMENT_REQUEST
_DAI = "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1"
_ROUTER = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
_SOURCE_CHAIN = {**CHAIN, "id": 42161, "name": "Arbitrum One", "explorer_url": "https://arbiscan.io"}
FEE: dict[str, Any] = {
    "name": "Relayer fee",
    "token": {
        "symbol": "DAI",
        "decimals": 18,
        "contract_address": _DAI,
        "chain_id": 42161,
    },
    "amount": {"raw": "15000000000000000", "formatted": "0.015000000000000000", "decimals": 18},
    "usd": "0.02",
    "included": True,
}
STEP: dict[str, Any] = {
    "type": "bridge",
    "chain_id": 42161,
    "tool": "Across",
    "contract_address": _ROUTER,
    "spender": None,
    "recipient_address": None,
}
SIDE: dict[str, Any] = {
    "chain_id": 42161,
    "chain": _SOURCE_CHAIN,
    "token": {
        "id": 31,
        "symbol": "DAI",
        "name": "Dai Stablecoin",
        "decimals": 18,
        "contract_address": _DAI,
        "chain_id": 42161,
    },
    "amount": {"raw": "12560000000000000000", "formatted": "12.560000000000000000", "decimals": 18},
    "usd": "12.56",
}
ARRIVING: dict[str, Any] = {
    "chain_id": 8453,
    "chain": CHAIN,
    "token": {**_REQUEST["token"], "chain_id": 8453},
    "amount": {"raw": "12510000", "formatted": "12.510000", "decimals": 6},
    "usd": "12.51",
    "amount_min": _REQUEST["amount"],
}
WARNING: dict[str, Any] = {
    "code": MAY_NEED_ACCEPTANCE,
    "message": (
        "This wallet is a contract account whose payments can't be verified automatically on Base. The merchant may "
        "have to accept this one first. To have it credited at once, pay from another wallet."
    ),
}
ROUTE: dict[str, Any] = {
    "id": ROUTE_ID,
    "type": "swap",
    "from": SIDE,
    "to": ARRIVING,
    "fees": [FEE],
    "gas": {
        "token": {"symbol": "ETH"},
        "amount": {"raw": "21000000000000", "formatted": "0.000021000000000000", "decimals": 18},
        "usd": "0.05",
    },
    "duration_seconds": 12,
    "steps": [
        {**STEP, "type": "approve", "tool": None, "contract_address": None, "spender": _ROUTER},
        STEP,
        {
            **STEP,
            "type": "transfer",
            "chain_id": 8453,
            "tool": None,
            "contract_address": None,
            "recipient_address": _REQUEST["recipient_address"],
        },
    ],
    "provider": "lifi",
    "tags": ["recommended", "cheapest", "fastest"],
    "sponsored": False,
    "warnings": [],
    "expires_at": EXPIRES,
}
