"""The payment page, for all states of its request. The page works without scripts."""

import json
from typing import Any
from urllib.parse import urlencode

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
from config.api.errors import ApiError, ErrorCode
from config.api.methods import only_read
from merchants.languages import closest_language
from payments.api.links import payment_url
from payments.deposits.showing import is_offered, shown_address
from payments.models import Payment, PaymentRequest
from payments.sponsoring.terms import is_allowed

BY_ADDRESS = {"by": "address"}
"""The query parameters that make the page show the deposit address."""


@only_read
@gzip_page
def pay_page(request: HttpRequest, shortcode: str) -> HttpResponse:
    try:
        payment_request = find_request(shortcode)
    except Http404:
        return missing(request)
    return show_pay(request, payment_request)


def show_pay(
    request: HttpRequest, payment_request: PaymentRequest, error: ApiError | None = None
) -> HttpResponse:
    """Return the page.

    `error` is the error of the deposit address, if there is one. The page then shows the error's message, and the
    response has the error's HTTP status.
    """
    context = {**page_context(request, payment_request), "qr_svg": qr_code(payment_url(payment_request))}
    if context["is_payable"] and binds(payment_request):
        context |= link_context(payment_request)
    context |= _deposit_context(request, payment_request, error, context)
    # Without scripts, the page refreshes itself while a payment may arrive. The customer can stop that.
    is_open = any(payment["status"] in Payment.OPEN for payment in context["checkout"]["payments"])
    awaits = is_open or "link" in context or context["is_by_address"]
    walletconnect = offer(payment_request)
    context |= {
        "awaits": awaits,
        "is_still": "still" in request.GET,
        "renewed_every": RENEWED_EVERY_SECONDS,
        "walletconnect": walletconnect,
        "has_sponsoring": _has_sponsoring(payment_request, context["checkout"]["payments"]),
        "preview_image": preview_image(payment_request),
        "provider_names": json.dumps(settings.ROUTING_PROVIDER_NAMES),
        "events_url": events_url(payment_request),
        "refund_lines": refund_lines(payment_request, page_language(request, payment_request)),
    }
    origins = [walletconnect.relay_origin] if walletconnect else []
    if settings.EVENTS_URL:
        origins.append(settings.EVENTS_URL)
    return shown(request, payment_request, "checkout/pay.html", context, error=error, connects_to=origins)


def _has_sponsoring(payment_request: PaymentRequest, payments: list[dict[str, Any]]) -> bool:
    """Whether the page needs the data for sponsored payments: the customer can make one, or has made one."""
    return is_allowed(payment_request) or any(payment["sponsored"] for payment in payments)


def _deposit_context(
    request: HttpRequest, payment_request: PaymentRequest, error: ApiError | None, page: dict[str, Any]
) -> dict[str, Any]:
    """Return whether the page offers the deposit address. If the customer chose it, also return the address.

    If a payment is in progress, the page hides this way to pay. If the payment doesn't pay the whole amount, the page's
    script shows this way again.
    """
    is_payable = page["is_payable"]
    may_be_payable = is_payable or page["state"] == "processing"
    is_unavailable = error is not None and error.problems[0].code == ErrorCode.DEPOSIT_ADDRESS_UNAVAILABLE
    address = shown_address(payment_request)
    is_chosen = request.GET.get("by") == BY_ADDRESS["by"] and address is not None
    has_deposits = is_offered(payment_request)
    return {
        "has_deposits": has_deposits,
        "offers_address": has_deposits and may_be_payable and not is_unavailable,
        "is_by_address": is_chosen and is_payable,
        "address_qr": qr_code(address) if address and is_chosen and is_payable else None,
        "address_problem": error and error.problems[0],
        **_queries(request, BY_ADDRESS if is_chosen else {}),
    }


def _queries(request: HttpRequest, way: dict[str, str]) -> dict[str, str]:
    """Return the queries of three links: to this page with and without a refresh, and to manual transfers."""
    tag = closest_language(request.GET.get("lang", ""))
    kept = urlencode({**way, **({"lang": tag} if tag else {})})
    return {
        "renewal_query": f"?{kept}" if kept else "",
        "still_query": f"?still&{kept}" if kept else "?still",
        "manual_query": f"?manual&lang={tag}" if tag else "?manual",
    }


def events_url(payment_request: PaymentRequest) -> str:
    """Return the URL for status updates, at the `events` process. The URL is empty if that process doesn't run."""
    if not settings.EVENTS_URL:
        return ""
    return f"{settings.EVENTS_URL}/api/public/payment-requests/{payment_request.pk}/events"
