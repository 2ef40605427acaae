"""The context that the pages of one request share: its data, and which instructions may still be shown."""

from typing import Any
from urllib.parse import urljoin

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone

from chains.amounts import price_text
from chains.models import Chain
from checkout.api import progress
from checkout.api.checkout_object import CheckoutChain, checkout_object, with_server_time
from checkout.api.payment_links import binds, payment_link
from checkout.logos import known_logo, version
from checkout.pages.qr import qr_code
from checkout.security import allow_nonce, page_policy
from config.api.answers import builtins
from config.api.errors import ApiError
from config.api.serializers import timestamp
from payments.discovery.search import expect_by_link
from payments.models import FailureCode, Payment, PaymentRequest
from payments.routes.proof_offers import remedy_for

RENEWED_EVERY_SECONDS = 15


def page_context(found: PaymentRequest) -> dict[str, Any]:
    """Return what every page of a request shows."""
    checkout = builtins(with_server_time(checkout_object(found)))
    state = progress.page_state(checkout)
    decimals = found.token.decimals
    is_too_much = progress.is_paid_too_much(checkout)
    return {
        "checkout": checkout,
        "wording": found.chain.family.wording,
        "state": state,
        "is_payable": _is_payable(found, state),
        "under_way": [each for each in checkout["payments"] if progress.is_under_way(each)],
        **_warning_context(checkout["payments"]),
        "is_time_up": found.status == PaymentRequest.Status.ACTIVE and found.is_past_expiry(timezone.now()),
        "merchant": checkout["merchant"],
        "is_test": checkout["is_test"],
        "order_number": found.external_id if found.merchant.show_order_number else None,
        "amount_display": price_text(found.amount, decimals),
        "remaining_display": price_text(found.amount_remaining, decimals),
        "paid_display": price_text(found.amount_paid, decimals),
        "overpaid_display": price_text(found.amount_overpaid, decimals),
        "price_display": price_text(_price(found, is_too_much=is_too_much), decimals),
        "is_paid_too_much": is_too_much,
        "logo_path": logo_path(found),
        "embed_origins": found.merchant.embed_origins,
        "chains": [builtins(CheckoutChain.of(chain)) for chain in Chain.objects.filter(is_active=True)],
    }


def _price(found: PaymentRequest, *, is_too_much: bool) -> int:
    """Return the amount at the head of the page: what is left, what was asked for, or the more that was paid."""
    if found.status == PaymentRequest.Status.ACTIVE:
        return found.amount_remaining
    return found.amount_paid if is_too_much else found.amount


def link_context(found: PaymentRequest) -> dict[str, Any]:
    """Return the request's payment link and a code to scan; from now on a transfer with its reference is looked for.

    The code holds the link where the link binds the transfer. Elsewhere it holds the recipient's address alone: wallets
    are known to read EIP-681 links to a token wrongly and to pay the token's contract (MyEtherWallet #5185, MetaMask
    #28527).
    """
    link = payment_link(found)
    if not binds(found):
        return {"link": link, "link_qr": qr_code(found.recipient_address)}
    expect_by_link(found)
    return {"link": link, "link_qr": qr_code(link)}


def shown(
    request: HttpRequest,
    found: PaymentRequest,
    template: str,
    context: dict[str, Any],
    *,
    error: ApiError | None = None,
    connects_to: str = "",
) -> HttpResponse:
    """Return the page, under the policy that holds for all pages of this request.

    After a refusal with that one's status; with web sockets to `connects_to` allowed, as by `page_policy`.
    """
    allow_nonce(request)
    response = render(request, template, context, status=error.status_code if error else 200)
    if error is not None and error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    framers = found.merchant.embed_origins
    return page_policy(request, response, framed_by=framers, connects_to=connects_to)


def missing(request: HttpRequest) -> HttpResponse:
    """Return the page for a code that no request has."""
    return page_policy(request, render(request, "checkout/not_found.html", {"merchant": {}}, status=404))


def logo_path(found: PaymentRequest) -> str | None:
    """Return where the page finds the logo, if it is here."""
    if known_logo(found.merchant) is None:
        return None
    return f"{reverse('logo', args=(found.shortcode,))}?v={version(found.merchant)}"


def preview_image(found: PaymentRequest) -> str:
    """Return the absolute address of the picture for link previews: always ours, never one that a merchant chose.

    Messengers show no SVG, so a logo in that format gives way to our own mark.
    """
    logo = known_logo(found.merchant)
    path = logo_path(found) if logo is not None and logo.content_type != "image/svg+xml" else None
    return urljoin(settings.CHECKOUT_URL, path or static("checkout/preview.png"))


def _is_payable(found: PaymentRequest, state: str) -> bool:
    """Whether a customer may see where to send money: nothing ended, nothing under way, the chain in service."""
    return (
        found.is_available and state in ("active", "partly_paid") and not found.is_past_expiry(timezone.now())
    )


def _warning_context(payments: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the payments that are not on their way, and what can still be done about the newest unbound one.

    They take none of the ways to pay away: anyone with the link may have submitted them.
    """
    warned_payments = progress.payments_with_warnings(payments)
    is_any_failed = any(each["code"] is not None for each in warned_payments)
    context = {"warned_payments": warned_payments, "is_any_failed": is_any_failed}
    unbound = next(
        (each for each in warned_payments if each["code"] == FailureCode.TRANSACTION_NOT_BOUND), None
    )
    if unbound is None:
        return {**context, "awaits_merchant": False}
    remedy, until = remedy_for(Payment.objects.get(pk=unbound["id"]))
    return {**context, "awaits_merchant": True, "remedy": remedy, "sign_until": timestamp(until)}
