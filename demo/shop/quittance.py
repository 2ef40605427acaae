"""The calls that a merchant's server makes."""

from dataclasses import dataclass
from typing import Any, cast

import requests

TIMEOUT_SECONDS = 10


class QuittanceError(Exception):
    """The API rejected a call, or could not be reached.

    `code` is the API's error code (`amount_too_precise`, …), or `unreachable`. Mention the `request_id` if you contact
    the operators.
    """

    def __init__(self, code: str, message: str, request_id: str = "") -> None:
        super().__init__(f"{code}: {message}" + (f" (request {request_id})" if request_id else ""))
        self.code = code


@dataclass(frozen=True)
class Token:
    """The token of a chain in which customers pay."""

    id: int
    chain_id: int
    chain: str
    symbol: str


class Quittance:
    """A client of the API with one merchant's key."""

    def __init__(self, base_url: str, api_key: str) -> None:
        self._base_url = base_url.rstrip("/")
        self._headers = {"X-API-Key": api_key}

    def find_token(self, chain_id: int, contract_address: str) -> Token:
        """Look up a token by its contract. Symbols are not unique, and ids differ between deployments.

        An empty `contract_address` means the native coin. Raises QuittanceError if there is no such token.
        """
        for token in self._call("GET", f"/api/public/chains/{chain_id}/tokens"):
            if token["contract_address"].lower() == contract_address.lower():
                return Token(token["id"], chain_id, self._chain_name(chain_id), token["symbol"])
        raise QuittanceError(
            "token_unknown", f"chain {chain_id} has no token {contract_address or '(native)'}"
        )

    def _chain_name(self, chain_id: int) -> str:
        chains = self._call("GET", "/api/public/chains")
        return str(next(chain["name"] for chain in chains if chain["id"] == chain_id))

    def create_payment_request(self, fields: dict[str, Any], *, idempotency_key: str) -> dict[str, Any]:
        """Create a payment request.

        A repeated call with the same idempotency key and fields returns the same request.
        """
        answer = self._call("POST", "/api/payment-requests", fields, {"Idempotency-Key": idempotency_key})
        return cast(dict[str, Any], answer)

    def get_payment_request(self, request_id: str) -> dict[str, Any]:
        """Return the current request with its payments."""
        return cast(dict[str, Any], self._call("GET", f"/api/payment-requests/{request_id}"))

    def set_webhook_url(self, url: str) -> None:
        """Set the URL for events. The first call creates the secret. Later calls don't change it."""
        self._call("PUT", "/api/webhooks", {"url": url})

    def get_webhook_secret(self) -> str:
        """Return the secret (`whsec_…`) that signs this merchant's events."""
        return cast(str, self._call("GET", "/api/webhooks")["secret"])

    def _call(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        url = self._base_url + path
        headers = self._headers | (headers or {})
        try:
            response = requests.request(method, url, json=body, headers=headers, timeout=TIMEOUT_SECONDS)
            answer = response.json()
        except requests.RequestException as error:
            raise QuittanceError("unreachable", f"{method} {path} failed: {type(error).__name__}") from error
        if not response.ok:
            problem = answer["error"]
            raise QuittanceError(problem["code"], problem["message"], problem.get("request_id", ""))
        return answer
