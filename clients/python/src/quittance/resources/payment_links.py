"""Payment links."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from quittance.amounts import decimal_string
from quittance.objects import PaymentLink
from quittance.pages import Page, query_of, time_text
from quittance.resources.paths import checked_id
from quittance.transport import Transport

_PATH = "/api/payment-links"


class PaymentLinks:
    """Pages where many customers can pay. Each customer gets a payment request.

    Changes require the permission `create_payments`. Any key can read payment links.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        *,
        name: str,
        token_id: int,
        chain_id: int,
        recipient_address: str,
        amount: str | Decimal | None = None,
        price: Mapping[str, str | Decimal] | None = None,
        open_amount: Mapping[str, str | Decimal] | None = None,
        description: str | None = None,
        max_payments: int | None = None,
        expires_at: datetime | str | None = None,
        redirect_url: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> PaymentLink:
        """Create a link for an `amount`, a `price`, or an `open_amount` from `min` to `max`. Share its `url`.

        Raises TypeError for a float. Raises ValueError for a time without a time zone.
        """
        limits = open_amount and {name: decimal_string(value) for name, value in open_amount.items()}
        body = {
            "name": name,
            "token_id": token_id,
            "chain_id": chain_id,
            "recipient_address": recipient_address,
            "amount": None if amount is None else decimal_string(amount),
            "price": None if price is None else {**price, "amount": decimal_string(price["amount"])},
            "open_amount": limits,
            "description": description,
            "max_payments": max_payments,
            "expires_at": time_text("expires_at", expires_at),
            "redirect_url": redirect_url,
            "metadata": None if metadata is None else dict(metadata),
        }
        fields = {name: value for name, value in body.items() if value is not None}
        answer = self._transport.request("POST", _PATH, body=fields, idempotency_key=idempotency_key)
        return PaymentLink.from_answer(answer)

    def retrieve(self, id: str) -> PaymentLink:
        """Return a payment link."""
        return PaymentLink.from_answer(self._transport.request("GET", f"{_PATH}/{checked_id(id)}"))

    def list(
        self,
        *,
        is_active: bool | None = None,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
    ) -> Page[PaymentLink]:
        """Return the newest payment links that match the filters."""
        query = query_of(
            is_active=is_active, limit=limit, starting_after=starting_after, ending_before=ending_before
        )
        return Page(
            lambda query: self._transport.request("GET", _PATH, query=query), query, PaymentLink.from_answer
        )

    def update(self, id: str, *, is_active: bool | None = None, name: str | None = None) -> PaymentLink:
        """Rename a link, or switch it on or off. None keeps the current value."""
        changes = {"is_active": is_active, "name": name}
        body = {name: value for name, value in changes.items() if value is not None}
        answer = self._transport.request("PATCH", f"{_PATH}/{checked_id(id)}", body=body)
        return PaymentLink.from_answer(answer)
