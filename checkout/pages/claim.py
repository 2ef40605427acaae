"""The pages on which a customer sets a refund's address, and signs for it.

The pages work without scripts. If no wallet can sign, or if refunds are switched off, the pages explain why and who can
help.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods

from chains.amounts import price_text
from chains.families import AddressError, SignatureError
from chains.families.base import LONGEST_SIGNATURE
from chains.switches import RETRY_AFTER_SECONDS, Feature, is_offered, is_on
from checkout.api.checkout_object import CheckoutChain
from checkout.pages.by_hand import MAX_SHOWN, refusal
from checkout.pages.context import missing, page_context, page_language, shown
from checkout.pages.forms import lead_to, typed
from config.api.answers import builtins
from config.api.errors import ApiError, ErrorCode
from config.api.limits.public_limits import count_expensive
from config.api.methods import only_read
from config.api.serializers import timestamp
from payments.api.refund_serializers import refund_recipient
from payments.api.serializers import require_payable_recipient
from payments.models import Refund
from payments.refunds.claims import (
    LIFETIME,
    DeadEnd,
    NoSigner,
    claim_address,
    claim_message,
    payer_of,
    signable_payments,
    signing_chain,
)
from payments.refunds.reading import RefundNow, now, with_request
from payments.refunds.watching import keep_watching

_PAGE, _SIGN_PAGE = "checkout/claim.html", "checkout/claim_sign.html"
_SALT = "refund-claim"
_WHY_CLOSED = {
    "paused": "page.claimPaused",
    DeadEnd.REORGED: "page.claimReorged",
    DeadEnd.SIMULATED: "page.claimSimulated",
    DeadEnd.UNKNOWN: "page.claimUnknown",
    DeadEnd.SEVERAL: "page.claimSeveral",
}


@dataclass(frozen=True)
class _Closed:
    """The reason why the customer can't set an address: the message on the page, and the error of a submitted form."""

    message: str
    error: ApiError


@only_read
@gzip_page
def claim_page(request: HttpRequest, code: str) -> HttpResponse:
    """Return the form for an address, or the status of the refund."""
    current = _find(code)
    if current is None:
        return missing(request)
    if current.standing.status != Refund.Status.COMPLETED:
        keep_watching(current.refund)
    return _ask(request, current, closed=_closed(current))


# No CSRF check is needed: no cookie is read, and a form of another site could only create an unsigned text.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def choose_address(request: HttpRequest, code: str) -> HttpResponse:
    """Validate the address and redirect to the text to sign. Show errors beside the entered address."""
    current = _find(code)
    if current is None:
        return missing(request)
    if request.method != "POST" or not _needs_address(current):
        return lead_to(request, "claim", code)
    if closed := _closed(current):
        return _ask(request, current, closed.error, closed=closed)
    text = typed(request, "wallet_address")
    try:
        address = refund_recipient(current.refund.request, text.strip())
        count_expensive(request, current.refund.pk)
        require_payable_recipient(current.refund.request.chain, address)
        payer_of(current.refund)  # Fail now, before the customer signs.
    except NoSigner as failure:
        closed = _closed_by(failure)
        return _ask(request, current, closed.error, closed=closed)
    except AddressError as error:
        wrong = ApiError(ErrorCode.ADDRESS_INVALID, str(error), "wallet_address")
        return _ask(request, current, wrong, typed_wallet=text[:MAX_SHOWN])
    except ApiError as error:
        return _ask(request, current, error, typed_wallet=text[:MAX_SHOWN])
    until = int((timezone.now() + LIFETIME).timestamp())
    return lead_to(request, "claim-sign", code, signing.dumps([address, until], salt=_SALT + code))


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@gzip_page
def sign_page(request: HttpRequest, code: str, choice: str) -> HttpResponse:
    """Show the text to sign, and accept its signature. `choice` contains the address and the deadline, signed by us."""
    current = _find(code)
    if current is None:
        return missing(request)
    chosen = _chosen(code, choice)
    if chosen is None or not _needs_address(current):
        return lead_to(request, "claim", code)
    if closed := _closed(current):
        return _ask(request, current, closed.error, closed=closed)
    address, until = chosen
    if timezone.now() >= until:
        return _ask(request, current, typed_wallet=address, is_over=True)
    if request.method != "POST":
        return _sign(request, current, choice, address, until)
    text = typed(request, "signature")
    try:
        signature = _signature(current.refund, text)
        count_expensive(request, current.refund.pk)
        claim_address(current.refund, address, expires_at=until, signature=signature, now=timezone.now())
    except NoSigner as failure:
        closed = _closed_by(failure)
        return _ask(request, current, closed.error, closed=closed)
    except ApiError as error:
        if error.problems[0].code != ErrorCode.REFUND_NOT_READY:
            return _sign(request, current, choice, address, until, error, text[:LONGEST_SIGNATURE])
    return lead_to(request, "claim", code)


def _find(code: str) -> RefundNow | None:
    if not (code.isascii() and code.isalnum()):
        return None
    refund = with_request(Refund.objects.filter(code=code)).select_related("payment__chain").first()
    return None if refund is None else now([refund])[0]


def _needs_address(current: RefundNow) -> bool:
    return current.standing.status == Refund.Status.REQUIRES_ADDRESS


def _closed(current: RefundNow) -> _Closed | None:
    """Return the reason why the customer can't set an address, or None if they can. Only the database is read."""
    request = current.refund.request
    if not _needs_address(current):
        return None
    if not (request.chain.is_installed and is_on(Feature.REFUNDS) and is_offered(request.token)):
        return _Closed(_WHY_CLOSED["paused"], _paused())
    try:
        signable_payments(current.refund)
    except NoSigner as failure:
        return _closed_by(failure)
    return None


def _closed_by(failure: NoSigner) -> _Closed:
    error = ApiError(ErrorCode.REFUND_NOT_READY, "No wallet can sign for the address of this refund.")
    return _Closed(_WHY_CLOSED[failure.reason], error)


def _paused() -> ApiError:
    message = "Refunds are switched off at the moment. Try again later."
    return ApiError(ErrorCode.SERVICE_UNAVAILABLE, message, retry_after=RETRY_AFTER_SECONDS)


def _chosen(code: str, choice: str) -> tuple[str, datetime] | None:
    try:
        address, until = signing.loads(choice, salt=_SALT + code)
    except signing.BadSignature:
        return None
    return address, datetime.fromtimestamp(until, UTC)


def _signature(refund: Refund, text: str) -> str:
    try:
        return signing_chain(refund).family.normalise_signature(text)
    except SignatureError as error:
        raise ApiError(ErrorCode.SIGNATURE_INVALID, str(error), "signature") from error


def _ask(
    request: HttpRequest,
    current: RefundNow,
    error: ApiError | None = None,
    closed: _Closed | None = None,
    **more: Any,
) -> HttpResponse:
    takes_address = closed is None and _needs_address(current)
    context = {
        **_context(request, current),
        **more,
        "why_closed": closed and closed.message,
        "has_wallets": takes_address,
        # The same wallet can sign and receive.
        "pays_there": takes_address and _is_paid_from_its_family(current.refund),
    }
    if error is not None and closed is None:
        context["address_refusal"] = refusal(error)
    return shown(request, current.refund.request, _PAGE, context, error=error)


def _is_paid_from_its_family(refund: Refund) -> bool:
    """Whether the wallet that paid can also receive the refund.

    That is possible if the wallet's chain and the refund's chain have the same kind of addresses.
    """
    return signing_chain(refund).chain_type == refund.request.chain.chain_type


def _sign(
    request: HttpRequest,
    current: RefundNow,
    choice: str,
    address: str,
    until: datetime,
    error: ApiError | None = None,
    typed_signature: str = "",
) -> HttpResponse:
    chain = signing_chain(current.refund)
    shared = _context(request, current)
    context = {
        **shared,
        "choice": choice,
        "address": address,
        "sign_until": timestamp(until),
        "message": claim_message(current.refund, address, until),
        "wording": chain.family.wording,
        "checkout": {**shared["checkout"], "chain": builtins(CheckoutChain.of(chain))},
        "typed": typed_signature,
        "has_wallets": True,
    }
    if error is not None:
        context["error"] = refusal(error)
    return shown(request, current.refund.request, _SIGN_PAGE, context, error=error)


def _context(request: HttpRequest, current: RefundNow) -> dict[str, Any]:
    refund, standing = current.refund, current.standing
    language = page_language(request, refund.request)
    amount = language.number(price_text(refund.amount, refund.request.token.decimals))
    return {
        **page_context(request, refund.request),
        "refund": refund,
        "refund_status": standing.status.value,
        "refund_amount": f"{amount} {refund.request.token.symbol}",
        "refund_payment": standing.payment,
    }
