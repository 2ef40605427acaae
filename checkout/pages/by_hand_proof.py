"""Prove an address before sending from it by hand, without scripts: a text to sign, then where to send.

A page of one route: only the customer who had the text made knows its address, since the text names their wallet.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods

from chains.families import SignatureError
from chains.families.base import LONGEST_SIGNATURE
from checkout.lookup import find_request, find_route, wallet_of
from checkout.pages.by_hand import (
    MOST_SHOWN,
    by_hand_context,
    refusal,
    refused_hash,
    show_by_hand,
    take_typed_hash,
)
from checkout.pages.context import link_context, missing, page_context, shown
from checkout.pages.forms import lead_to, typed
from config.api.errors import ApiError, ErrorCode
from config.api.limits.public_limits import count_expensive
from config.api.serializers import timestamp
from payments.models import PayerProof, Payment, PaymentRequest, Route
from payments.proofs.storing import store_proof
from payments.routes.proof_offers import current_proof, offer_proof

_PAGE = "checkout/by_hand_proof.html"


# No cookie is read here either: another site's form could only make a text that is never signed.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def ask_for_proof(request: HttpRequest, shortcode: str) -> HttpResponse:
    """Have the text made that an address signs, and lead to it; what is wrong is said beside what was typed."""
    try:
        found = find_request(shortcode)
    except Http404:
        return missing(request)
    context = by_hand_context(found)
    if request.method != "POST" or not context["is_by_hand"]:
        return lead_to(request, "by-hand", found.shortcode)
    address = typed(request, "wallet_address")
    try:
        wallet_address = wallet_of(found.chain, address.strip())
        count_expensive(request)
        route = offer_proof(found, wallet_address=wallet_address)
    except ApiError as error:
        return show_by_hand(request, found, {"proof_refusal": refusal(error), **_kept(address)}, error)
    return lead_to(request, "by-hand-proof", found.shortcode, route.id)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@gzip_page
def proof_page(request: HttpRequest, shortcode: str, route_id: str) -> HttpResponse:
    """Show the text to sign and take its signature; once that is given, show where to send."""
    try:
        found = find_request(shortcode)
        route = find_route(route_id, of=found)
    except Http404:
        return missing(request)
    if request.method == "POST":
        return _take_signature(request, found, route)
    proof = current_proof(route)
    context = page_context(found)
    if proof is not None and _is_being_checked(found, proof):
        return lead_to(request, "pay", found.shortcode)
    if proof is not None and _may_send(context):
        return _shown(request, found, route, {**context, **_sending(found, proof)})
    if found.status == PaymentRequest.Status.COMPLETED or (proof and context["state"] == "processing"):
        return lead_to(request, "pay", found.shortcode)
    if _may_sign(route):
        return _shown(request, found, route, context)
    return show_by_hand(request, found, {"is_proof_over": True, **_kept(route.wallet_address)})


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def take_hash_after_proof(request: HttpRequest, shortcode: str, route_id: str) -> HttpResponse:
    """Accept the hash of what the proved address sent; errors are shown on the page with the recipient."""
    try:
        found = find_request(shortcode)
        route = find_route(route_id, of=found)
    except Http404:
        return missing(request)
    if request.method != "POST":
        return lead_to(request, "by-hand-proof", found.shortcode, route.id)
    try:
        take_typed_hash(request, found)
    except ApiError as error:
        refused, proof, context = refused_hash(request, error), current_proof(route), page_context(found)
        if proof is None or not _may_send(context):
            return show_by_hand(request, found, refused, error)
        return _shown(request, found, route, {**context, **_sending(found, proof), **refused}, error)
    return lead_to(request, "pay", found.shortcode)


def _may_send(context: dict[str, Any]) -> bool:
    return bool(context["is_payable"])


def _is_being_checked(found: PaymentRequest, proof: PayerProof) -> bool:
    """Whether what the proved address sent is known already, so that the page must not ask for it again."""
    sent = Payment.objects.filter(request=found, status__in=Payment.OPEN, likely_failure="")
    return sent.filter(from_address=proof.address).exists()


def _sending(found: PaymentRequest, proof: PayerProof) -> dict[str, Any]:
    """Return what the page shows of where to send, and until when."""
    until = timestamp(min(proof.not_after, found.expires_at))
    return {**link_context(found), "proof": proof, "send_until": until}


def _take_signature(request: HttpRequest, found: PaymentRequest, route: Route) -> HttpResponse:
    given = typed(request, "signature")
    try:
        signature = _signature(route, given)
        count_expensive(request)
        store_proof(route, wallet_address=route.wallet_address, signature=signature)
    except ApiError as error:
        if error.problems[0].code == ErrorCode.ROUTE_EXPIRED:
            over = {"is_proof_over": True, **_kept(route.wallet_address)}
            return show_by_hand(request, found, over, error)
        answered = {**page_context(found), "error": refusal(error), "typed": given[:LONGEST_SIGNATURE]}
        return _shown(request, found, route, answered, error)
    return lead_to(request, "by-hand-proof", found.shortcode, route.id)


def _signature(route: Route, text: str) -> str:
    try:
        return route.chain.family.normalise_signature(text)
    except SignatureError as error:
        raise ApiError(ErrorCode.SIGNATURE_INVALID, str(error), "signature") from error


def _may_sign(route: Route) -> bool:
    """Whether a signature under the route's text would still be taken."""
    is_given = PayerProof.objects.filter(route=route).exists()
    return bool(route.proof_message) and not is_given and timezone.now() < route.expires_at


def _shown(
    request: HttpRequest,
    found: PaymentRequest,
    route: Route,
    context: dict[str, Any],
    error: ApiError | None = None,
) -> HttpResponse:
    times = {"built_at": timestamp(route.built_at), "sign_until": timestamp(route.expires_at)}
    return shown(request, found, _PAGE, {**context, "route": route, **times}, error=error)


def _kept(address: str) -> dict[str, str]:
    return {"typed_wallet": address[:MOST_SHOWN]}
