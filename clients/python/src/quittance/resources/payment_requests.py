"""Payment requests and their payments."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from quittance.amounts import decimal_string
from quittance.objects import Payment, PaymentRequest
from quittance.pages import Page, query_of
from quittance.resources.paths import checked_id
from quittance.transport import Transport

_PATH = "/api/payment-requests"


class PaymentRequests:
    """This merchant's payment requests.

    Calls that change something have an `idempotency_key`. By default, the client generates one for each call. If your
    program may repeat a call after a crash, pass a key of your own, such as the order number.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        *,
        amount: str | Decimal | None = None,
        token_id: int | None = None,
        chain_id: int | None = None,
        recipient_address: str | None = None,
        price: Mapping[str, str | Decimal] | None = None,
        payment_link: str | None = None,
        external_id: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, str] | None = None,
        redirect_url: str | None = None,
        cancel_url: str | None = None,
        expires_in: int | None = None,
        webhook_url: str | None = None,
        references: bool | None = None,
        idempotency_key: str | None = None,
    ) -> PaymentRequest:
        """Create a payment request. `amount` is in whole tokens: a string or Decimal such as "12.50", never a float.

        If you pass a `price` such as `{"currency": "EUR", "amount": "25.00"}` instead, the service computes the amount.
        Send the customer to the result's `payment_url`. `expires_in` is in seconds. A `payment_link` sets the token,
        the chain and the recipient. If customers don't enter the amount, the link also sets the amount. Raises
        TypeError for a float.
        """
        has_amount = amount is not None or (price is None and payment_link is None)
        body = {
            "amount": decimal_string(amount) if has_amount else None,
            "price": None if price is None else {**price, "amount": decimal_string(price["amount"])},
            "token_id": token_id,
            "chain_id": chain_id,
            "recipient_address": recipient_address,
            "external_id": external_id,
            "description": description,
            "metadata": None if metadata is None else dict(metadata),
            "redirect_url": redirect_url,
            "cancel_url": cancel_url,
            "expires_in": expires_in,
            "webhook_url": webhook_url,
            "references": references,
            "payment_link": payment_link,
        }
        fields = {name: value for name, value in body.items() if value is not None}
        answer = self._transport.request("POST", _PATH, body=fields, idempotency_key=idempotency_key)
        return PaymentRequest.from_answer(answer)

    def retrieve(self, id: str) -> PaymentRequest:
        """Return a request with its newest 20 payments."""
        return PaymentRequest.from_answer(self._transport.request("GET", f"{_PATH}/{checked_id(id)}"))

    def list(
        self,
        *,
        status: str | None = None,
        external_id: str | None = None,
        token_id: int | None = None,
        chain_id: int | None = None,
        payment_link: str | None = None,
        created_after: datetime | str | None = None,
        created_before: datetime | str | None = None,
        is_simulated: bool | None = None,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
    ) -> Page[PaymentRequest]:
        """Return the newest requests that match the filters. `.auto_paging_iter()` of the result yields all of them."""
        query = query_of(
            status=status,
            external_id=external_id,
            token_id=token_id,
            chain_id=chain_id,
            payment_link=payment_link,
            created_after=created_after,
            created_before=created_before,
            is_simulated=is_simulated,
            limit=limit,
            starting_after=starting_after,
            ending_before=ending_before,
        )
        fetch = lambda query: self._transport.request("GET", _PATH, query=query)  # noqa: E731 - one expression
        return Page(fetch, query, PaymentRequest.from_answer)

    def cancel(self, id: str, *, idempotency_key: str | None = None) -> PaymentRequest:
        """Cancel an active request. A cancelled request is returned unchanged."""
        path = f"{_PATH}/{checked_id(id)}/cancel"
        return PaymentRequest.from_answer(
            self._transport.request("POST", path, body={}, idempotency_key=idempotency_key)
        )

    def payments(
        self,
        id: str,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
    ) -> Page[Payment]:
        """Return the payments of a request, newest first."""
        path = f"{_PATH}/{checked_id(id)}/payments"
        query = query_of(limit=limit, starting_after=starting_after, ending_before=ending_before)
        return Page(
            lambda query: self._transport.request("GET", path, query=query), query, Payment.from_answer
        )

    def submit_payment(
        self, id: str, *, transaction_hash: str, chain_id: int, idempotency_key: str | None = None
    ) -> Payment:
        """Submit a transaction that the customer sent.

        If the service knows this transaction already, return its payment. If that payment has failed, its verification
        is retried if possible.
        """
        path = f"{_PATH}/{checked_id(id)}/payments"
        body = {"transaction_hash": transaction_hash, "chain_id": chain_id}
        return Payment.from_answer(
            self._transport.request("POST", path, body=body, idempotency_key=idempotency_key)
        )

    def retry_payment(self, id: str, payment_id: str, *, idempotency_key: str | None = None) -> Payment:
        """Retry the verification of a failed payment."""
        return self._payment(id, payment_id, "retry", {}, idempotency_key)

    def accept_payment(
        self, id: str, payment_id: str, *, reason: str, idempotency_key: str | None = None
    ) -> Payment:
        """Accept a payment that is not bound to the request. The `reason` is stored in the history.

        The payment's `failure_code` is `transaction_not_bound`, `transaction_ambiguous` or `not_verifiable`. First
        check that your customer sent the transaction, because the service can't.
        """
        return self._payment(id, payment_id, "accept", {"reason": reason}, idempotency_key)

    def _payment(
        self, id: str, payment_id: str, verb: str, body: Mapping[str, str], idempotency_key: str | None
    ) -> Payment:
        path = f"{_PATH}/{checked_id(id)}/payments/{checked_id(payment_id)}/{verb}"
        answer = self._transport.request("POST", path, body=body, idempotency_key=idempotency_key)
        return Payment.from_answer(answer)
