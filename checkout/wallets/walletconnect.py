from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

from payments.models import PaymentRequest


@dataclass(frozen=True)
class Offer:
    """The operator's WalletConnect project id, which is public, and the URL of the relay."""

    project_id: str
    relay_url: str

    @property
    def relay_origin(self) -> str:
        """The relay's origin, for the Content-Security-Policy."""
        parts = urlsplit(self.relay_url)
        return f"{parts.scheme}://{parts.netloc}"


def offer(request: PaymentRequest) -> Offer | None:
    """Return the settings for the request's page. Return None without a project id, or if the request isn't active."""
    if not settings.WALLETCONNECT_PROJECT_ID or request.status != PaymentRequest.Status.ACTIVE:
        return None
    return Offer(settings.WALLETCONNECT_PROJECT_ID, settings.WALLETCONNECT_RELAY_URL)
