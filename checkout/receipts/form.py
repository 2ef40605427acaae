"""Handle the form "E-mail me a receipt" below a receipt. The form works without scripts.

The address is stored only until the e-mail is sent (`merchants.mail.sending`). No URL, log or task contains the
address.
"""

import hashlib
import re

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from limits import RateLimitItemPerHour

from checkout.lookup import find_request
from checkout.pages.context import missing, page_language
from checkout.pages.forms import lead_to, typed
from checkout.pages.receipt import mails_receipts, show_receipt
from checkout.receipts.letter import letter
from config.api.errors import ApiError, ErrorCode
from config.api.limits.public_limits import count_expensive
from config.api.limits.rate_limits import hit
from merchants.mail.outbox import enqueue
from merchants.models import Mail
from payments.models import PaymentRequest

MAX_OF_A_REQUEST = 3
TO_AN_ADDRESS = RateLimitItemPerHour(10)
OF_A_MERCHANT = RateLimitItemPerHour(300)
_LONGEST = 254
# This pattern also rejects valid addresses that no customer has: quoted names, address literals, source routes and
# local hosts.
_USUAL = re.compile(r"[^\s\"%!\\\[\]@]+@[^\s\"%!\\\[\]@]+\.[^\s\"%!\\\[\]@]+")


# There is no CSRF check, because no cookie is read. The request's headers show whether the form is from another site.
@csrf_exempt
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def mail_receipt(request: HttpRequest, shortcode: str) -> HttpResponse:
    """Store the e-mail and redirect to the receipt. Show errors beside the entered address."""
    try:
        payment_request = find_request(shortcode)
    except Http404:
        return missing(request)
    if request.method != "POST" or not mails_receipts(payment_request) or not _is_same_site(request):
        return lead_to(request, "receipt", payment_request.shortcode)
    try:
        recipient = _recipient(typed(request, "email"))
        _count(request, payment_request)
        _store(request, payment_request, recipient)
    except ApiError as error:
        problem = error.problems[0]
        shown = {"mail_error": problem.message, "typed_address": typed(request, "email")[:_LONGEST]}
        return show_receipt(request, payment_request, shown, error)
    return lead_to(request, "receipt", payment_request.shortcode, mailed="1")


def _is_same_site(request: HttpRequest) -> bool:
    """Whether the form is from our site, according to the browser's headers. Return True if the headers are missing.

    A form of another site would use up its visitors' rate limits.
    """
    fetched_from = request.headers.get("Sec-Fetch-Site", "same-origin")
    origin = request.headers.get("Origin")
    is_own = origin is None or origin.partition("://")[2] == request.get_host()
    return fetched_from in ("same-origin", "none") and is_own


def _recipient(text: str) -> str:
    """Return the address. Raises ApiError with the key of a translated text as its message."""
    address = text.strip()
    try:
        validate_email(address)
    except ValidationError:
        address = ""
    if not address or len(address) > _LONGEST or not _USUAL.fullmatch(address):
        raise ApiError(ErrorCode.PARAMETER_INVALID, "page.mailInvalid", "email")
    return address


def _count(request: HttpRequest, payment_request: PaymentRequest) -> None:
    """Count the e-mail towards the limits of the client's IP address and of the merchant. Raises ApiError."""
    try:
        count_expensive(request, payment_request.pk)
    except ApiError as error:
        raise _too_many(error.retry_after) from error
    refusal = hit(
        "mail-merchant", str(payment_request.merchant_id), OF_A_MERCHANT, without_redis="count here"
    )
    if refusal is not None:
        raise _too_many(refusal.retry_after)


def _too_many(retry_after: int | None) -> ApiError:
    return ApiError(ErrorCode.RATE_LIMITED, "refusal.rate_limited", retry_after=retry_after)


def _store(request: HttpRequest, payment_request: PaymentRequest, recipient: str) -> None:
    """Store the e-mail.

    Raises ApiError after three e-mails for one request. If the e-mail address is over its limit, no e-mail is stored,
    but the response is the same. The response must not reveal whether others have entered this address.
    """
    subject, text = letter(payment_request, page_language(request, payment_request))
    digest = hashlib.sha256(recipient.lower().encode()).hexdigest()
    has_room = hit("mail-address", digest, TO_AN_ADDRESS, without_redis="count here") is None
    with transaction.atomic():
        own = PaymentRequest.objects.filter(pk=payment_request.pk, receipts_mailed__lt=MAX_OF_A_REQUEST)
        if not own.update(receipts_mailed=F("receipts_mailed") + 1):
            raise ApiError(ErrorCode.RATE_LIMITED, "page.mailLimit")
        if has_room:
            enqueue(payment_request.merchant, Mail.RECEIPT, recipient, subject, text)
