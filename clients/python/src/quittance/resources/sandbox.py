"""Simulated payments, on staging deployments."""

from quittance.errors import InvalidRequestError
from quittance.objects import PaymentRequest
from quittance.resources.paths import checked_id
from quittance.transport import Transport

_NOBODYS = "00000000-0000-0000-0000-000000000000"


class Sandbox:
    """Simulates outcomes of payment requests. Production deployments have no sandbox."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def simulate(
        self,
        id: str,
        outcome: str,
        *,
        payment_id: str | None = None,
        refund_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> PaymentRequest:
        """Simulate `outcome` for a request, and return the request. Events are sent as in reality.

        Args:
            id: The payment request's id.
            outcome: The outcome's name, such as `paid`, `processing` or `refund_failed`. The documentation ("Testing
                your integration") lists all of them.
            payment_id: The open simulated payment to change; by default the newest one, or a new payment.
            refund_id: The refund to change; by default the newest unfinished refund, or a new refund.
            idempotency_key: By default, a new key for each call.

        Raises: InvalidRequestError: `resource_missing` if there is no sandbox, `payment_request_not_active` if the
        request's state does not allow the outcome.
        """
        ids = {"payment_id": payment_id, "refund_id": refund_id}
        answer = self._transport.request(
            "POST",
            _path(checked_id(id)),
            body={"outcome": outcome, **{name: value for name, value in ids.items() if value is not None}},
            idempotency_key=idempotency_key,
        )
        return PaymentRequest.from_answer(answer)

    def is_available(self) -> bool:
        """Whether this deployment has a sandbox. Has no side effects."""
        try:
            self._transport.request("GET", _path(_NOBODYS))
        except InvalidRequestError as error:
            if error.status not in (404, 405):
                raise
            return error.status == 405  # the path exists, but only for POST
        return True


def _path(id: str) -> str:
    return f"/api/test/payment-requests/{id}/simulate"
