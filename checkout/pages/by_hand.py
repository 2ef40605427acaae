"""The page for manual transfers: the recipient, and a form for the transaction hash. Works without scripts."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods

from chains.families import HashError, family_of
from chains.models import Chain
from checkout.api.wallet_links import binds
from checkout.lookup import chain_of, find_request
from checkout.pages.context import link_context, missing, page_context, shown
from checkout.pages.forms import lead_to, typed
from checkout.pages.locate_transaction import any_chain_with, chain_with
from config.api.errors import ApiError, ErrorCode
from config.api.limits.client_address import client_digest
from config.api.limits.public_limits import count_expensive
from config.api.methods import only_read
from payments.deposits.showing import is_offered
from payments.models import PaymentRequest
from payments.submission.hashes import submit_hash

MAX_SHOWN = 200
_CHAIN_ID_DIGITS = 20


@only_read
@gzip_page
def by_hand_page(request: HttpRequest, shortcode: str) -> HttpResponse:
    """Return the page with the risks, the recipient, and a form for the hash of a sent transaction."""
    try:
        payment_request = find_request(shortcode)
    except Http404:
        return missing(request)
    return show_by_hand(request, payment_request)


# No CSRF check is needed: no cookie is read, and everyone who knows the URL may submit hashes.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def submit_by_hand(request: HttpRequest, shortcode: str) -> HttpResponse:
    """Submit the form's hash and redirect to the checkout. Show errors beside the entered text."""
    try:
        payment_request = find_request(shortcode)
    except Http404:
        return missing(request)
    if request.method != "POST":
        return lead_to(request, "by-hand", payment_request.shortcode)
    try:
        submit_typed_hash(request, payment_request)
    except ApiError as error:
        return show_by_hand(request, payment_request, hash_form_errors(request, error), error)
    return lead_to(request, "pay", payment_request.shortcode)


def submit_typed_hash(request: HttpRequest, payment_request: PaymentRequest) -> None:
    """Submit the form's hash for the chain that has the transaction. Raises ApiError."""
    chosen = _chosen_chain(typed(request, "chain_id") or str(payment_request.chain_id))
    others = list(Chain.objects.filter(is_active=True)) if settings.ROUTING_PROVIDERS else []
    may_query = partial(_may_query, request, payment_request)
    chain, transaction_hash = _located(typed(request, "transaction_hash"), chosen, others, may_query)
    submit_hash(
        payment_request,
        chain=chain,
        transaction_hash=transaction_hash,
        actor="checkout",
        submitter=client_digest(request),
        before_extra_lookup=lambda: count_expensive(request, payment_request.pk),
    )


def hash_form_errors(request: HttpRequest, error: ApiError) -> dict[str, Any]:
    """Return the form's context after an error: the error and the entered values."""
    entered = {
        "typed": typed(request, "transaction_hash")[:MAX_SHOWN],
        "typed_chain": typed(request, "chain_id"),
    }
    return {"error": refusal(error), **entered}


def show_by_hand(
    request: HttpRequest,
    payment_request: PaymentRequest,
    more: dict[str, Any] | None = None,
    error: ApiError | None = None,
) -> HttpResponse:
    """Return the page. `more` is additional context. After an `error`, the response has its HTTP status."""
    context = {**by_hand_context(request, payment_request), **(more or {})}
    context["has_wallets"] = context["is_payable"]
    return shown(request, payment_request, "checkout/by_hand.html", context, error=error)


def refusal(error: ApiError) -> dict[str, str]:
    return {"code": error.problems[0].code.value, "message": error.problems[0].message}


def _chosen_chain(text: str) -> Chain:
    is_number = text.isascii() and text.isdecimal() and len(text) <= _CHAIN_ID_DIGITS
    if not is_number:
        raise ApiError(ErrorCode.CHAIN_UNKNOWN, "Choose one of the networks.", "chain_id")
    return chain_of(int(text), active_only=False)


def _located(
    text: str, chosen: Chain, others: list[Chain], may_query: Callable[[], bool]
) -> tuple[Chain, str]:
    """Return the transaction's chain and canonical hash.

    The chain is the chosen one, unless one of `others` has the transaction.

    Nodes are queried only if the hash is valid and `may_query` returns True.
    """
    try:
        transaction_hash = chosen.family.normalise_transaction_hash(text)
    except HashError as error:
        other_families = [chain for chain in others if chain.chain_type != chosen.chain_type]
        located = _on_another_family(text, other_families, may_query)
        if located is None:
            raise ApiError(ErrorCode.TRANSACTION_HASH_INVALID, str(error), "transaction_hash") from error
        return located
    return chain_with(transaction_hash, chosen, others if others and may_query() else []), transaction_hash


def _on_another_family(
    text: str, chains: list[Chain], may_query: Callable[[], bool]
) -> tuple[Chain, str] | None:
    """If `text` is a valid hash in another chain family, return the transaction's chain and the canonical hash."""
    spelled = {
        key: spelling for key in {chain.chain_type for chain in chains} if (spelling := _as_hash(key, text))
    }
    if not spelled or not may_query():
        return None
    for key in sorted(spelled):
        chain = any_chain_with(spelled[key], [chain for chain in chains if chain.chain_type == key])
        if chain is not None:
            return chain, spelled[key]
    return None


def _as_hash(chain_type: str, text: str) -> str:
    """Return `text` as a canonical hash of this family, or "" if it is invalid."""
    try:
        return family_of(chain_type).normalise_transaction_hash(text)
    except HashError:
        return ""


def _may_query(request: HttpRequest, payment_request: PaymentRequest) -> bool:
    """Whether rate limits allow queries of nodes. If they don't, the hash is accepted without a query."""
    try:
        count_expensive(request, payment_request.pk)
    except ApiError:
        return False
    return True


def by_hand_context(request: HttpRequest, payment_request: PaymentRequest) -> dict[str, Any]:
    """Return the page's context.

    A wallet link with the request's reference replaces manual transfers, and so does a deposit address. If no deposit
    address was available, the URL has `?manual`.
    """
    context = page_context(request, payment_request)
    by_address = is_offered(payment_request) and "manual" not in request.GET
    if not context["is_payable"] or binds(payment_request) or by_address:
        return {**context, "is_by_hand": False, "by_address": by_address}
    return {**context, **link_context(payment_request), "is_by_hand": True}
