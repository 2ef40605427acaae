"""The pages where a customer proves by a wallet's signature that a transfer pays the request. No scripts are needed.

The customer can sign before a manual transfer, or after a transfer that nothing else links to the request. Before a
transfer, the page's URL contains the id of a route. The page shows the text to sign, and then the recipient. The text
contains the wallet's address, so only the customer who requested the page gets the page's URL.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods

from chains.families import SignatureError
from chains.families.base import LONGEST_SIGNATURE
from chains.models import Chain
from checkout.api.wallet_links import binds, wallet_link
from checkout.lookup import find_payment, find_request, find_route, wallet_of
from checkout.pages.by_hand import (
    MAX_SHOWN,
    by_hand_context,
    hash_form_errors,
    refusal,
    show_by_hand,
    submit_typed_hash,
)
from checkout.pages.context import link_context, missing, page_context, shown
from checkout.pages.forms import lead_to, typed
from checkout.pages.qr import qr_code
from config.api.errors import ApiError, ErrorCode
from config.api.limits.public_limits import count_expensive
from config.api.serializers import timestamp
from payments.models import PayerProof, Payment, PaymentRequest, Route, TransferProof
from payments.proofs.afterwards import offer_message, store_transfer_proof
from payments.proofs.storing import store_proof
from payments.routes.proof_offers import current_proof, offer_proof

_PAGE = "checkout/by_hand_proof.html"
_TRANSFER_PAGE = "checkout/transfer_proof.html"


# No CSRF check is needed: no cookie is read, and a form of another site could only create an unsigned text.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def request_proof(request: HttpRequest, shortcode: str) -> HttpResponse:
    """Create the text to sign for an address, and redirect to it. Show errors beside the entered address."""
    try:
        payment_request = find_request(shortcode)
    except Http404:
        return missing(request)
    context = by_hand_context(request, payment_request)
    if request.method != "POST" or not context["is_payable"]:
        return lead_to(request, "by-hand", payment_request.shortcode)
    address = typed(request, "wallet_address")
    try:
        wallet_address = wallet_of(payment_request.chain, address.strip())
        count_expensive(request, payment_request.pk)
        route = offer_proof(payment_request, wallet_address=wallet_address)
    except ApiError as error:
        return show_by_hand(
            request, payment_request, {"proof_refusal": refusal(error), **_kept(address)}, error
        )
    return lead_to(request, "by-hand-proof", payment_request.shortcode, route.id)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@gzip_page
def proof_page(request: HttpRequest, shortcode: str, route_id: str) -> HttpResponse:
    """Show the text to sign, and accept its signature. After that, show the recipient."""
    try:
        payment_request = find_request(shortcode)
        route = find_route(route_id, of=payment_request)
    except Http404:
        return missing(request)
    if request.method == "POST":
        return _accept_signature(request, payment_request, route)
    proof = current_proof(route)
    context = page_context(request, payment_request)
    if proof is not None and _is_being_checked(payment_request, proof):
        return lead_to(request, "pay", payment_request.shortcode)
    if proof is not None and _may_send(context):
        return _shown(request, payment_request, route, {**context, **_sending(payment_request, proof)})
    if payment_request.status == PaymentRequest.Status.COMPLETED or (
        proof and context["state"] == "processing"
    ):
        return lead_to(request, "pay", payment_request.shortcode)
    if _may_sign(route):
        return _shown(request, payment_request, route, context)
    return show_by_hand(request, payment_request, {"is_proof_over": True, **_kept(route.wallet_address)})


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def submit_hash_after_proof(request: HttpRequest, shortcode: str, route_id: str) -> HttpResponse:
    """Submit the hash of the transfer from the proved address. Show errors on the page with the recipient."""
    try:
        payment_request = find_request(shortcode)
        route = find_route(route_id, of=payment_request)
    except Http404:
        return missing(request)
    if request.method != "POST":
        return lead_to(request, "by-hand-proof", payment_request.shortcode, route.id)
    try:
        submit_typed_hash(request, payment_request)
    except ApiError as error:
        refused, proof, context = (
            hash_form_errors(request, error),
            current_proof(route),
            page_context(request, payment_request),
        )
        if proof is None or not _may_send(context):
            return show_by_hand(request, payment_request, refused, error)
        return _shown(
            request, payment_request, route, {**context, **_sending(payment_request, proof), **refused}, error
        )
    return lead_to(request, "pay", payment_request.shortcode)


def _may_send(context: dict[str, Any]) -> bool:
    return bool(context["is_payable"])


def _is_being_checked(payment_request: PaymentRequest, proof: PayerProof) -> bool:
    """Whether a transfer from the proved address is being verified. If so, the customer must not pay again."""
    sent = Payment.objects.filter(request=payment_request, status__in=Payment.OPEN, likely_failure="")
    return sent.filter(from_address=proof.address).exists()


def _sending(payment_request: PaymentRequest, proof: PayerProof) -> dict[str, Any]:
    """Return the context for the transfer: the recipient and the deadline.

    The wallet link has no reference: the signature already binds the transfer, and some wallets reject the reference.
    """
    until = timestamp(min(proof.not_after, payment_request.expires_at))
    sending = {"proof": proof, "send_until": until}
    if not binds(payment_request):
        return {**link_context(payment_request), **sending}
    link = wallet_link(payment_request, is_plain=True)
    return {"link": link, "link_qr": qr_code(link), "is_plain_link": True, **sending}


def _accept_signature(request: HttpRequest, payment_request: PaymentRequest, route: Route) -> HttpResponse:
    text = typed(request, "signature")
    try:
        signature = _signature(route.chain, text)
        count_expensive(request, payment_request.pk)
        store_proof(route, wallet_address=route.wallet_address, signature=signature)
    except ApiError as error:
        if error.problems[0].code == ErrorCode.ROUTE_EXPIRED:
            over = {"is_proof_over": True, **_kept(route.wallet_address)}
            return show_by_hand(request, payment_request, over, error)
        answered = {
            **page_context(request, payment_request),
            "error": refusal(error),
            "typed": text[:LONGEST_SIGNATURE],
        }
        return _shown(request, payment_request, route, answered, error)
    return lead_to(request, "by-hand-proof", payment_request.shortcode, route.id)


def _signature(chain: Chain, text: str) -> str:
    try:
        return chain.family.normalise_signature(text)
    except SignatureError as error:
        raise ApiError(ErrorCode.SIGNATURE_INVALID, str(error), "signature") from error


def _may_sign(route: Route) -> bool:
    """Whether the route's text can still be signed."""
    is_given = PayerProof.objects.filter(route=route).exists()
    return bool(route.proof_message) and not is_given and timezone.now() < route.expires_at


def _shown(
    request: HttpRequest,
    payment_request: PaymentRequest,
    route: Route,
    context: dict[str, Any],
    error: ApiError | None = None,
) -> HttpResponse:
    times = {"built_at": timestamp(route.built_at), "sign_until": timestamp(route.expires_at)}
    whole = {**context, "route": route, "has_wallets": "proof" not in context, **times}
    return shown(request, payment_request, _PAGE, whole, error=error)


def _kept(address: str) -> dict[str, str]:
    return {"typed_wallet": address[:MAX_SHOWN]}


# No CSRF check is needed: no cookie is read, and nothing happens without the wallet's signature.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@gzip_page
def transfer_proof_page(request: HttpRequest, shortcode: str, payment_id: str) -> HttpResponse:
    """Show the order and a form for the sender's address. Then show the text to sign, and store its signature.

    A thief could send the link to this page to another sender. So the page shows a warning before it offers a wallet.
    In the browser that sent the transaction, the page's script hides the warning.
    """
    try:
        payment_request = find_request(shortcode)
        payment = find_payment(payment_id, of=payment_request)
    except Http404:
        return missing(request)
    if payment_request.is_refund or payment.status == Payment.Status.COMPLETED:
        return lead_to(request, "pay", payment_request.shortcode)
    if request.method != "POST":
        return _transfer_shown(request, payment_request, payment, {})
    address = typed(request, "wallet_address")
    try:
        wallet_address = wallet_of(payment.chain, address.strip())
        count_expensive(request, payment_request.pk)
        if "signature" in request.POST:
            return _accept_transfer_signature(request, payment_request, payment, wallet_address)
        proof = offer_message(payment, wallet_address=wallet_address)
    except ApiError as error:
        kept = {"proof_refusal": refusal(error), "typed_wallet": address[:MAX_SHOWN]}
        return _transfer_shown(request, payment_request, payment, kept, error)
    return _transfer_shown(request, payment_request, payment, _transfer_to_sign(proof))


def _accept_transfer_signature(
    request: HttpRequest, payment_request: PaymentRequest, payment: Payment, wallet_address: str
) -> HttpResponse:
    """Store the signature, and redirect to the payment.

    Show an error about an invalid signature beside the text to sign. Raises ApiError.
    """
    text = typed(request, "signature")
    try:
        signature = _signature(payment.chain, text)
        store_transfer_proof(payment, wallet_address=wallet_address, signature=signature)
    except ApiError as error:
        if error.problems[0].code != ErrorCode.SIGNATURE_INVALID:
            raise
        proof = offer_message(payment, wallet_address=wallet_address)
        again = {**_transfer_to_sign(proof), "error": refusal(error), "typed": text[:LONGEST_SIGNATURE]}
        return _transfer_shown(request, payment_request, payment, again, error)
    return lead_to(request, "pay", payment_request.shortcode)


def _transfer_to_sign(proof: TransferProof) -> dict[str, Any]:
    return {"proof": proof, "sign_until": timestamp(proof.expires_at)}


def _transfer_shown(
    request: HttpRequest,
    payment_request: PaymentRequest,
    payment: Payment,
    context: dict[str, Any],
    error: ApiError | None = None,
) -> HttpResponse:
    whole = {**page_context(request, payment_request), "payment": payment, "has_wallets": True, **context}
    return shown(request, payment_request, _TRANSFER_PAGE, whole, error=error)
