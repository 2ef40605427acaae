"""A shop that calls a deployment, and its orders."""

from typing import Any

import requests

from chains.models import Chain, Token

WALLET = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"


class Shop:
    """A client for the deployment with an API key. It keeps the errors that it gets."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._headers = {"X-API-Key": key}
        self.pages: list[str] = []

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> requests.Response:
        response = requests.request(
            method, self._url + path, json=body, headers={**self._headers, **headers}, timeout=60
        )
        if not response.ok:
            self.pages.append(f"{response.headers}\n{response.text}")
        return response

    def first_order(self, token: Token, receiver: str) -> str:
        """Register `receiver` for events; create a request in a call with the id "from-the-shop"; return the
        request's id.
        """
        self.call("PUT", "/api/webhooks", {"url": receiver})
        headers = {"X-Request-Id": "from-the-shop"}
        created = self.call("POST", "/api/payment-requests", order(token), **headers)
        return str(created.json()["id"])


def base_usdc() -> Token:
    """Return USDC on Base. The deployment's settings name Base's node."""
    chain = Chain.objects.create(
        id=8453, name="Base", chain_type="evm", native_symbol="ETH", rpc_urls=["env:BASE_RPC_URL"]
    )
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=USDC
    )


def order(token: Token, **more: Any) -> dict[str, Any]:
    """Return the body of a call that creates a payment request."""
    return {
        "amount": "10", "token_id": token.pk, "chain_id": token.chain_id, "recipient_address": WALLET, **more,
    }  # fmt: skip
