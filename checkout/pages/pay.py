"""The payment page, in every state of its request, readable without scripts."""

import json

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.gzip import gzip_page

from checkout.api.wallet_links import binds
from checkout.lookup import find_request
from checkout.pages.context import (
    RENEWED_EVERY_SECONDS,
    link_context,
    missing,
    page_context,
    page_language,
    preview_image,
    shown,
)
from checkout.pages.qr import qr_code
from checkout.pages.refund_lines import refund_lines
from checkout.wallets.walletconnect import offer
from config.api.methods import only_read
from payments.api.links import payment_url
from payments.models import Payment, PaymentRequest


@only_read
@gzip_page
def pay_page(request: HttpRequest, shortcode: str) -> HttpResponse:
    try:
        payment_request = find_request(shortcode)
    except Http404:
        return missing(request)
    context = {**page_context(request, payment_request), "qr_svg": qr_code(payment_url(payment_request))}
    if context["is_payable"] and binds(payment_request):
        context |= link_context(payment_request)
    # Without scripts, the page refreshes itself while a payment may arrive, unless the customer has stopped
    # that.
    is_open = any(payment["status"] in Payment.OPEN for payment in context["checkout"]["payments"])
    awaits = is_open or "link" in context
    walletconnect = offer(payment_request)
    context |= {
        "awaits": awaits,
        "is_still": "still" in request.GET,
        "renewed_every": RENEWED_EVERY_SECONDS,
        "walletconnect": walletconnect,
        "preview_image": preview_image(payment_request),
        "provider_names": json.dumps(settings.ROUTING_PROVIDER_NAMES),
        "events_url": events_url(payment_request),
        "refund_lines": refund_lines(payment_request, page_language(request, payment_request)),
    }
    origins = [walletconnect.relay_origin] if walletconnect else []
    if settings.EVENTS_URL:
        origins.append(settings.EVENTS_URL)
    return shown(request, payment_request, "checkout/pay.html", context, connects_to=origins)


def events_url(payment_request: PaymentRequest) -> str:
    """Return the `events` process's URL for status updates; empty without that process."""
    if not settings.EVENTS_URL:
        return ""
    return f"{settings.EVENTS_URL}/api/public/payment-requests/{payment_request.pk}/events"
