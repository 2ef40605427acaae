"""Refunds."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from quittance.amounts import decimal_string
from quittance.objects import Refund
from quittance.pages import Page, query_of
from quittance.resources.paths import checked_id
from quittance.transport import Transport

_PATH = "/api/refunds"


class Refunds:
    """The merchant's refunds: money that goes back to customers. You sign each one with your own wallet.

    Changes require the permission `create_refunds`. Any key can read refunds.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        id: str,
        *,
        amount: str | Decimal | None = None,
        recipient_address: str | None = None,
        payment_id: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Refund:
        """Create a refund of the payment request `id`. By default, `amount` is everything that is not refunded yet.

        If you don't know the customer's wallet, leave out `recipient_address`, and send the customer to the result's
        `claim_url`. Don't use the sender of a payment as the address. Raises TypeError for a float.
        """
        body = {
            "amount": None if amount is None else decimal_string(amount),
            "recipient_address": recipient_address,
            "payment_id": payment_id,
            "reason": reason,
        }
        fields = {name: value for name, value in body.items() if value is not None}
        path = f"/api/payment-requests/{checked_id(id)}/refunds"
        answer = self._transport.request("POST", path, body=fields, idempotency_key=idempotency_key)
        return Refund.from_answer(answer)

    def retrieve(self, id: str) -> Refund:
        """Return a refund."""
        return Refund.from_answer(self._transport.request("GET", f"{_PATH}/{checked_id(id)}"))

    def list(
        self,
        id: str | None = None,
        *,
        is_simulated: bool | None = None,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
    ) -> Page[Refund]:
        """Return the newest refunds. With `id`, return only those of that payment request."""
        path = f"/api/payment-requests/{checked_id(id)}/refunds" if id else _PATH
        query = query_of(
            is_simulated=is_simulated, limit=limit, starting_after=starting_after, ending_before=ending_before
        )
        return Page(
            lambda query: self._transport.request("GET", path, query=query), query, Refund.from_answer
        )

    def change_address(
        self, id: str, *, recipient_address: str, idempotency_key: str | None = None
    ) -> Refund:
        """Change the address of a refund, before its transaction is built."""
        return Refund.from_answer(
            self._post(id, "address", {"recipient_address": recipient_address}, idempotency_key)
        )

    def build(self, id: str, *, wallet_address: str, idempotency_key: str | None = None) -> dict[str, Any]:
        """Return a new unsigned transaction that sends the refund.

        Sign it with your wallet. Each call builds a new transaction, even with the same `idempotency_key`.
        """
        return self._post(id, "build", {"wallet_address": wallet_address}, idempotency_key)

    def submit(self, id: str, *, transaction_hash: str, idempotency_key: str | None = None) -> Refund:
        """Submit the hash of the refund's transaction.

        You don't have to call this method: the service finds the transaction by the refund's reference.
        """
        body = {"transaction_hash": transaction_hash}
        return Refund.from_answer(self._post(id, "submit", body, idempotency_key))

    def cancel(self, id: str, *, idempotency_key: str | None = None) -> Refund:
        """Cancel a refund whose transaction was not sent. A cancelled refund is returned unchanged."""
        return Refund.from_answer(self._post(id, "cancel", {}, idempotency_key))

    def _post(
        self, id: str, verb: str, body: Mapping[str, str], idempotency_key: str | None
    ) -> dict[str, Any]:
        path = f"{_PATH}/{checked_id(id)}/{verb}"
        answer: dict[str, Any] = self._transport.request(
            "POST", path, body=body, idempotency_key=idempotency_key
        )
        return answer
