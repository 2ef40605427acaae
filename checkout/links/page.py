"""The page of a payment link, with the requested amount and a form that creates a payment request. Needs no scripts."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods

from chains.amounts import AmountError, price_text
from chains.switches import RETRY_AFTER_SECONDS, is_offered
from checkout.api.checkout_object import CheckoutMerchant
from checkout.languages import language_of
from checkout.links.form import create_by_form, form_id, new_form, open_request
from checkout.logos import cached_logo, logo_response
from checkout.pages.context import embed_origins, logo_path, missing
from checkout.pages.forms import lead_to, typed
from checkout.security import allow_nonce, page_policy
from config.api.answers import builtins
from config.api.errors import ApiError, ErrorCode, status_of
from config.api.limits.public_limits import count_expensive
from config.api.log_context import add_to_log_context
from config.api.methods import only_read
from payments.links.orders import entered_amount
from payments.links.services import with_catalogue
from payments.models import PaymentLink
from payments.requests.link_limits import Reason, why_page_closed
from payments.staging import has_sandbox

_MAX_SHOWN = 100
_CLOSED = 410
_NAMING_LIMITS = ("page.linkOutside", "page.linkTooSmall")
_HEADINGS = {Reason.EXPIRED: "page.linkExpired", Reason.USED_UP: "page.linkUsedUp"}


@dataclass(frozen=True)
class _Refusal:
    """The reason why the form is shown again: a message with its values, and the HTTP status."""

    message: str
    status: int
    retry_after: int | None = None
    is_about_amount: bool = False

    @property
    def names_limits(self) -> bool:
        """Whether the message contains the limits of the amount."""
        return self.message in _NAMING_LIMITS


# No CSRF check is needed, because no cookie is read. A form of another site could only create an unpaid request, which
# counts toward the visitor's rate limit, and expires.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@gzip_page
def link_page(request: HttpRequest, code: str) -> HttpResponse:
    """Show the link's page. A POST creates a payment request and redirects to the request's page."""
    link = _find(code)
    if link is None:
        return missing(request)
    reason = why_page_closed(link, timezone.now())
    if reason is not None:
        return _closed(request, link, reason)
    if not is_offered(link.token):
        return _form(request, link, _paused())
    return _create(request, link) if request.method == "POST" else _form(request, link)


@only_read
def link_logo(request: HttpRequest, code: str) -> HttpResponse:
    """Return the logo of the link's merchant, or 404 until it is cached."""
    link = _find(code)
    cached = cached_logo(link.merchant) if link else None
    return logo_response(cached) if cached else missing(request)


def _find(code: str) -> PaymentLink | None:
    if not (code.isascii() and code.isalnum()):
        return None
    return with_catalogue(PaymentLink.objects.filter(code=code)).first()


def _create(request: HttpRequest, link: PaymentLink) -> HttpResponse:
    try:
        amount = entered_amount(link, typed(request, "amount")) if link.is_open_amount else None
    except AmountError as error:
        return _form(request, link, _wrong_amount(link, typed(request, "amount"), error))
    request_id = form_id(link, typed(request, "form"))
    created = open_request(link, request_id, amount)
    try:
        if created is None:
            count_expensive(request, link.pk)
            created = create_by_form(link, request_id, amount)
    except ApiError as error:
        code = error.problems[0].code
        if code in (ErrorCode.LINK_INACTIVE, ErrorCode.RECIPIENT_NOT_ALLOWED, ErrorCode.ADDRESS_INVALID):
            return _closed(request, link, why_page_closed(link, timezone.now()) or Reason.INACTIVE)
        return _form(request, link, _refusal(error))
    add_to_log_context(payment_request_id=created.pk)
    return lead_to(request, "pay", created.shortcode)


def _wrong_amount(link: PaymentLink, text: str, error: AmountError) -> _Refusal:
    """Return the message for an amount that the link doesn't accept."""
    outside = "page.linkTooSmall" if link.max_amount is None else "page.linkOutside"
    messages = {
        ErrorCode.AMOUNT_INVALID: "page.linkInvalid" if text else "page.linkMissing",
        ErrorCode.AMOUNT_TOO_PRECISE: "page.linkTooPrecise",
        ErrorCode.AMOUNT_NOT_POSITIVE: outside,
        ErrorCode.AMOUNT_TOO_LARGE: "page.linkBeyond" if link.max_amount is None else outside,
        ErrorCode.PARAMETER_INVALID: outside,
    }
    return _Refusal(messages[error.code], status_of(error.code), is_about_amount=True)


def _refusal(error: ApiError) -> _Refusal:
    code = error.problems[0].code
    message = "page.linkNoRate" if code == ErrorCode.RATE_UNAVAILABLE else f"refusal.{code.value}"
    return _Refusal(message, error.status_code, error.retry_after)


def _paused() -> _Refusal:
    code = ErrorCode.SERVICE_UNAVAILABLE
    return _Refusal(f"refusal.{code.value}", status_of(code), RETRY_AFTER_SECONDS)


def _form(request: HttpRequest, link: PaymentLink, refusal: _Refusal | None = None) -> HttpResponse:
    symbol, decimals = link.token.symbol, link.token.decimals
    language = language_of(request, link.merchant.default_language)

    def shown(amount: int | None) -> str:
        return "" if amount is None else f"{price_text(amount, decimals)} {symbol}"

    context = {
        "amount_display": "" if link.amount is None else language.number(price_text(link.amount, decimals)),
        "currency_price": link.price and language.currency(link.price["amount"], link.price["currency"]),
        # The limits are not in the language's format, because they also show how to enter an amount.
        "smallest": shown(link.min_amount),
        "largest": shown(link.max_amount),
        "typed_amount": typed(request, "amount")[:_MAX_SHOWN],
        "form_value": new_form(link),
        "refusal": refusal,
    }
    status = refusal.status if refusal else 200
    response = _shown(request, link, "checkout/link.html", context, status)
    if refusal is not None and refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response


def _closed(request: HttpRequest, link: PaymentLink, reason: Reason) -> HttpResponse:
    heading = _HEADINGS.get(reason, "page.linkInactive")
    return _shown(request, link, "checkout/link_closed.html", {"heading": heading}, _CLOSED)


def _shown(
    request: HttpRequest, link: PaymentLink, template: str, context: dict[str, Any], status: int
) -> HttpResponse:
    allow_nonce(request)
    shared = {
        "link": link,
        "merchant": builtins(CheckoutMerchant.of(link.merchant)),
        "logo_path": logo_path(link.merchant, "link-logo", link.code),
        "is_test": has_sandbox(),
        "preview_image": urljoin(settings.CHECKOUT_URL, static("checkout/preview.png")),
    }
    response = render(request, template, {**shared, **context}, status=status)
    return page_policy(request, response, framed_by=embed_origins(link.merchant))
