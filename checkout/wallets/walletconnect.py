"""WalletConnect, where the operator has set a project id: the page's settings, and the relay that it may then call."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

from payments.models import PaymentRequest


@dataclass(frozen=True)
class Offer:
    """The operator's account with WalletConnect, which is public, and the relay through which wallets are reached."""

    project_id: str
    relay_url: str

    @property
    def relay_origin(self) -> str:
        """The relay's origin, as a content security policy names it."""
        parts = urlsplit(self.relay_url)
        return f"{parts.scheme}://{parts.netloc}"


def offer(found: PaymentRequest) -> Offer | None:
    """Return the settings for the request's page; None where it is not offered, or nothing is left to pay."""
    if not settings.WALLETCONNECT_PROJECT_ID or found.status != PaymentRequest.Status.ACTIVE:
        return None
    return Offer(settings.WALLETCONNECT_PROJECT_ID, settings.WALLETCONNECT_RELAY_URL)
