"""Build the URLs for the customer: the checkout page, and the merchant's own with the outcome added."""

from urllib.parse import urlencode, urlsplit, urlunsplit

from django.conf import settings

from payments.models import PaymentRequest


def payment_url(request: PaymentRequest) -> str:
    """Return `{checkout_url}/pay/{shortcode}`."""
    return f"{settings.CHECKOUT_URL}/pay/{request.shortcode}"


def return_url(url: str | None, request: PaymentRequest) -> str | None:
    """Add `payment_request_id` and `status` to the query of the merchant's URL."""
    if not url:
        return None
    parts = urlsplit(url)
    added = urlencode({"payment_request_id": str(request.id), "status": request.status})
    return urlunsplit(parts._replace(query=f"{parts.query}&{added}" if parts.query else added))
