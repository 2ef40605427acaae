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

    def simulate(self, id: str, outcome: str, *, idempotency_key: str | None = None) -> PaymentRequest:
        """Simulate `outcome` for a request, with its real events, and return the request.

        `outcome` is `paid`, `underpaid`, `overpaid`, `paid_late`, `failed`, `expired`, `reorged`, `bridge_refunded` or
        `refunded`.
        Raises InvalidRequestError `resource_missing` if there is no sandbox.
        """
        answer = self._transport.request(
            "POST", _path(checked_id(id)), body={"outcome": outcome}, idempotency_key=idempotency_key
        )
        return PaymentRequest.from_answer(answer)

    def is_available(self) -> bool:
        """Whether this deployment has a sandbox. Has no side effects."""
        try:
            self._transport.request("GET", _path(_NOBODYS))
        except InvalidRequestError as error:
            if error.status not in (404, 405):
                raise
            return error.status == 405  # the path exists, for POST only
        return True


def _path(id: str) -> str:
    return f"/api/test/payment-requests/{id}/simulate"
