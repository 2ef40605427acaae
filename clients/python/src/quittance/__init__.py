"""Quittance for Python: request crypto payments and verify webhooks.

import quittance

client = quittance.Client("quitt_…", base_url="https://pay.example.com")
request = client.payment_requests.create(
    amount="12.50", token_id=2, chain_id=8453, recipient_address="0x…", external_id="order-1001"
)
print(request.payment_url)
"""

from quittance import deposits, webhooks
from quittance.client import Client
from quittance.errors import (
    APIConnectionError,
    APIError,
    AuthenticationError,
    IdempotencyError,
    InvalidRequestError,
    PermissionDeniedError,
    QuittanceError,
    RateLimitError,
    SignatureVerificationError,
    UpstreamError,
)
from quittance.objects import (
    Amount,
    Chain,
    Currency,
    Delivery,
    DeliveryAttempt,
    Event,
    EventData,
    Payment,
    PaymentEventObject,
    PaymentLink,
    PaymentRequest,
    Refund,
    Token,
    WebhookConfiguration,
    WebhookTest,
)
from quittance.pages import Page
from quittance.resources.webhooks import UNCHANGED
from quittance.version import __version__

__all__ = [
    "UNCHANGED",
    "APIConnectionError",
    "APIError",
    "Amount",
    "AuthenticationError",
    "Chain",
    "Client",
    "Currency",
    "Delivery",
    "DeliveryAttempt",
    "Event",
    "EventData",
    "IdempotencyError",
    "InvalidRequestError",
    "Page",
    "Payment",
    "PaymentEventObject",
    "PaymentLink",
    "PaymentRequest",
    "PermissionDeniedError",
    "QuittanceError",
    "RateLimitError",
    "Refund",
    "SignatureVerificationError",
    "Token",
    "UpstreamError",
    "WebhookConfiguration",
    "WebhookTest",
    "__version__",
    "deposits",
    "webhooks",
]
