"""The template context that all pages of a request share, and the response with its security policy."""

from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone

from chains.amounts import price_text
from chains.families.base import Wording
from chains.lookup import active_chains
from chains.models import Chain
from chains.switches import Feature, is_on
from checkout.api import progress
from checkout.api.checkout_object import CheckoutChain, checkout_object, with_server_time
from checkout.api.wallet_links import binds, wallet_link
from checkout.languages import Language, language_of
from checkout.logos import cached_logo, version
from checkout.own_logos import own_chain_logo
from checkout.pages.qr import qr_code
from checkout.security import allow_nonce, page_policy
from config.api.answers import builtins
from config.api.errors import ApiError
from merchants.models import Merchant
from payments.discovery.search import expect_by_link
from payments.models import FailureCode, Payment, PaymentRequest
from payments.refunds.services import is_reserved
from payments.refunds.watching import keep_watching

RENEWED_EVERY_SECONDS = 15


def page_language(request: HttpRequest, payment_request: PaymentRequest) -> Language:
    default = payment_request.merchant.default_language
    return language_of(request, default, is_for_refund=payment_request.is_refund)


def page_context(request: HttpRequest, payment_request: PaymentRequest) -> dict[str, Any]:
    language = page_language(request, payment_request)
    checkout = builtins(with_server_time(checkout_object(payment_request)))
    state = progress.page_state(checkout)

    def shown_amount(raw: int) -> str:
        return language.number(price_text(raw, payment_request.token.decimals))

    so_far = progress.paid_so_far(checkout)
    is_whole = progress.is_whole_shown(checkout)
    return {
        "checkout": checkout,
        "wording": wording_of(payment_request.chain),
        "state": state,
        "is_payable": checkout["is_available"] and _is_payable(payment_request, state),
        "paid_payments": _paid_payments(checkout["payments"], shown_amount),
        "under_way": [each for each in checkout["payments"] if progress.is_under_way(each)],
        **_warning_context(payment_request, checkout["payments"]),
        "is_time_up": payment_request.status == PaymentRequest.Status.ACTIVE
        and payment_request.is_past_expiry(timezone.now()),
        "merchant": checkout["merchant"],
        "shop_site": shop_site(checkout["redirect_url"] or checkout["cancel_url"]),
        "is_test": checkout["is_test"],
        "is_refund": payment_request.is_refund,
        "refund_id": payment_request.refund.id if payment_request.is_refund else None,
        "address_source": payment_request.refund.address_source if payment_request.is_refund else "",
        "order_number": payment_request.external_id if payment_request.merchant.show_order_number else None,
        "amount_display": shown_amount(payment_request.amount),
        "remaining_display": shown_amount(payment_request.amount_remaining),
        # The customer copies this text to a wallet. Wallets expect a decimal point in every language.
        "remaining_exact": price_text(payment_request.amount_remaining, payment_request.token.decimals),
        "paid_display": shown_amount(payment_request.amount_paid),
        "so_far": so_far,
        "so_far_display": shown_amount(so_far),
        "overpaid_display": shown_amount(payment_request.paid_beyond),
        "price_display": shown_amount(_price(payment_request, is_whole=is_whole)),
        **_price_context(language, payment_request),
        "is_paid_too_much": progress.is_paid_too_much(checkout),
        "is_whole_shown": is_whole,
        "logo_path": _own_logo_path(payment_request),
        "embed_origins": embed_origins(payment_request.merchant),
        "chains": [_page_chain(chain) for chain in _offered_chains(payment_request)],
    }


def _paid_payments(
    payments: list[dict[str, Any]], shown_amount: Callable[[int], str]
) -> list[dict[str, Any]]:
    """Return the completed payments. If there are several, each has its amount to tell them apart."""
    paid = [payment for payment in payments if payment["status"] == Payment.Status.COMPLETED]
    if len(paid) < 2:
        return paid
    amounts = [payment["amount_received"] for payment in paid]
    parts = [shown_amount(int(amount["raw"])) if amount else "" for amount in amounts]
    return [{**payment, "part_display": part} for payment, part in zip(paid, parts, strict=True)]


def shop_site(return_url: str | None) -> str | None:
    """Return the origin of the shop's pages. If the merchant has entered no contact, customers see this origin."""
    if not return_url:
        return None
    parts = urlsplit(return_url)
    return f"{parts.scheme}://{parts.netloc}"


def _price_context(language: Language, payment_request: PaymentRequest) -> dict[str, Any]:
    """Return the price in the merchant's currency and the rate, both as text.

    Return None if the request has no price.
    """
    price, rate = payment_request.price, payment_request.rate
    if price is None or rate is None:
        return {"currency_price": None, "rate_text": None}
    value = f"{_short_rate(Decimal(rate['value'])):f}"
    return {
        "currency_price": language.currency(price["amount"], price["currency"]),
        "rate_text": f"1 {payment_request.token.symbol} = {language.currency(value, rate['currency'])}",
    }


def _short_rate(value: Decimal) -> Decimal:
    """Return the rate for display: with two decimal places or, below 10, with at least four significant digits."""
    places = 2 if value >= 10 else max(4, 3 - value.adjusted())
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def _page_chain(chain: Chain) -> dict[str, Any]:
    return {**builtins(CheckoutChain.of(chain)), "logo": own_chain_logo(chain.id)}


def _offered_chains(payment_request: PaymentRequest) -> list[Chain]:
    """Return the active chains. For a refund, add its own chain."""
    chains = list(active_chains())
    if payment_request.is_refund and payment_request.chain not in chains:
        chains.append(payment_request.chain)
    return chains


def wording_of(chain: Chain) -> Wording:
    """Return the texts of the chain's family. If the family is no longer installed, return neutral texts."""
    return chain.family.wording if chain.is_installed else Wording(sign_method="")


def _price(payment_request: PaymentRequest, *, is_whole: bool) -> int:
    """Return the amount in the page's header: the remaining, the requested or the paid amount."""
    if payment_request.status == PaymentRequest.Status.ACTIVE:
        return payment_request.amount_remaining or payment_request.amount
    return payment_request.amount_paid if is_whole else payment_request.amount


def link_context(payment_request: PaymentRequest) -> dict[str, Any]:
    """Return the request's wallet link and a QR code.

    If the link contains the request's reference, the QR code is the link, and the service searches the chain for
    transfers with this reference. Otherwise the code is only the recipient's address. Some wallets misread EIP-681
    links and pay the token's contract instead (MyEtherWallet #5185, MetaMask #28527).
    """
    link = wallet_link(payment_request)
    if not binds(payment_request):
        return {"link": link, "link_qr": qr_code(payment_request.recipient_address)}
    expect_by_link(payment_request)
    return {"link": link, "link_qr": qr_code(link)}


def shown(
    request: HttpRequest,
    payment_request: PaymentRequest,
    template: str,
    context: dict[str, Any],
    *,
    error: ApiError | None = None,
    connects_to: Iterable[str] = (),
) -> HttpResponse:
    """Return the rendered page with its security policy (`page_policy`).

    If there is an `error`, the response has the HTTP status of the error.

    On the page of a refund, the merchant can send the refund. So the service now searches the chain for the refund's
    transaction.
    """
    allow_nonce(request)
    if payment_request.is_refund:
        keep_watching(payment_request.refund)
    response = render(request, template, context, status=error.status_code if error else 200)
    if error is not None and error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    framers = embed_origins(payment_request.merchant)
    return page_policy(request, response, framed_by=framers, connects_to=connects_to)


def embed_origins(merchant: Merchant) -> list[str]:
    """Return the origins that may embed the merchant's pages. If embedding is switched off, return an empty list."""
    return merchant.embed_origins if is_on(Feature.EMBEDDING) else []


def missing(request: HttpRequest) -> HttpResponse:
    return page_policy(request, render(request, "checkout/not_found.html", {"merchant": {}}, status=404))


def logo_path(merchant: Merchant, page: str, code: str) -> str | None:
    """If the merchant's logo is cached, return its URL path. `page` is the name of the route, such as `link-logo`."""
    if cached_logo(merchant) is None:
        return None
    return f"{reverse(page, args=(code,))}?v={version(merchant)}"


def _own_logo_path(payment_request: PaymentRequest) -> str | None:
    return logo_path(payment_request.merchant, "logo", payment_request.shortcode)


def preview_image(payment_request: PaymentRequest) -> str:
    """Return the absolute URL of the image for link previews.

    The image is always on our own host. Messengers don't show SVG images, so our icon replaces an SVG logo.
    """
    logo = cached_logo(payment_request.merchant)
    path = (
        _own_logo_path(payment_request) if logo is not None and logo.content_type != "image/svg+xml" else None
    )
    return urljoin(settings.CHECKOUT_URL, path or static("checkout/preview.png"))


def _is_payable(payment_request: PaymentRequest, state: str) -> bool:
    """Whether the page may show the recipient. The request must be open, without a payment in progress.

    If a refund has failed, the amount isn't reserved for it any more. So the page only offers to build a new
    transaction.
    """
    is_open = state in ("active", "partly_paid") and not payment_request.is_past_expiry(timezone.now())
    return is_open and (not payment_request.is_refund or is_reserved(payment_request))


def _warning_context(payment_request: PaymentRequest, payments: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the payments that need a warning. `is_provable` is True if the sender can sign a proof.

    The customer can still pay, because everyone with the link may have submitted these transactions.
    """
    warned = progress.payments_with_warnings(payments)
    for each in warned:
        each["provider_name"] = settings.ROUTING_PROVIDER_NAMES.get(each["provider"] or "")
    unbound = [each for each in warned if each["code"] == FailureCode.TRANSACTION_NOT_BOUND]
    for each in unbound:
        is_here = each["chain_id"] == payment_request.chain_id and not payment_request.is_refund
        each["is_provable"] = is_here and each["sender_signed_at"] is None
        # After the request has ended, a proof can't bind a transfer to it. The proof only shows the merchant who sent
        # the transfer.
        each["is_late"] = payment_request.status != PaymentRequest.Status.ACTIVE
    return {
        "warned_payments": warned,
        "unbound_payments": unbound,
        "is_any_failed": any(each["code"] is not None for each in warned),
        "awaits_merchant": bool(unbound),
    }
