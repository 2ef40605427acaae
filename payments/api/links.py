"""The addresses that a customer is sent to: the checkout page, and the merchant's own with the outcome added."""

from urllib.parse import urlencode, urlsplit, urlunsplit

from django.conf import settings

from payments.models import PaymentRequest


def payment_url(request: PaymentRequest) -> str:
    """Return `{checkout_url}/pay/{shortcode}`."""
    return f"{settings.CHECKOUT_URL}/pay/{request.shortcode}"


def return_url(url: str | None, request: PaymentRequest) -> str | None:
    """Return the merchant's address with `payment_request_id` and `status` added, its own parameters kept."""
    if not url:
        return None
    parts = urlsplit(url)
    added = urlencode({"payment_request_id": str(request.id), "status": request.status})
    return urlunsplit(parts._replace(query=f"{parts.query}&{added}" if parts.query else added))
