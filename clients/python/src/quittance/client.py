"""The API client."""

from types import TracebackType

from quittance.resources.catalogue import Chains, Currencies
from quittance.resources.payment_links import PaymentLinks
from quittance.resources.payment_requests import PaymentRequests
from quittance.resources.refunds import Refunds
from quittance.resources.sandbox import Sandbox
from quittance.resources.webhooks import Deliveries, Events, Webhooks
from quittance.transport import Transport


class Client:
    """Calls the API of one Quittance deployment with one key. Thread-safe.

    `base_url` is the deployment's URL, such as `https://pay.example.com`. `timeout` is in seconds and applies to
    connecting and to each read. Connection errors, 429, 5xx and a 409 `idempotency_key_in_use` are retried up to
    `max_retries` times. The pauses grow exponentially, and are at least as long as the service's `Retry-After`.

    Raises ValueError for a malformed key or URL.
    """

    def __init__(self, api_key: str, *, base_url: str, timeout: float = 30.0, max_retries: int = 3) -> None:
        self._transport = Transport(api_key, base_url, timeout=timeout, max_retries=max_retries)
        self.chains = Chains(self._transport)
        self.currencies = Currencies(self._transport)
        self.payment_requests = PaymentRequests(self._transport)
        self.payment_links = PaymentLinks(self._transport)
        self.refunds = Refunds(self._transport)
        self.webhooks = Webhooks(self._transport)
        self.deliveries = Deliveries(self._transport)
        self.events = Events(self._transport)
        self.sandbox = Sandbox(self._transport)

    @property
    def base_url(self) -> str:
        """The deployment that this client calls."""
        return self._transport.base_url

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<quittance.Client of {self.base_url}>"
