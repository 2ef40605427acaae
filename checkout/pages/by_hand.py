"""Pay without connecting a wallet: where to send, and a form for the hash, both without scripts."""

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
from checkout.api.payment_links import binds
from checkout.lookup import chain_of, find_request
from checkout.pages.context import link_context, missing, page_context, shown
from checkout.pages.forms import lead_to, typed
from checkout.pages.locate_transaction import any_chain_with, chain_with
from config.api.errors import ApiError, ErrorCode
from config.api.limits.client_address import client_digest
from config.api.limits.public_limits import count_expensive
from config.api.methods import only_read
from payments.models import PaymentRequest
from payments.submission.hashes import submit_hash

MOST_SHOWN = 200
_CHAIN_ID_DIGITS = 20


@only_read
@gzip_page
def by_hand_page(request: HttpRequest, shortcode: str) -> HttpResponse:
    """Show how to send by hand, after what that means; and the form for what was sent already."""
    try:
        found = find_request(shortcode)
    except Http404:
        return missing(request)
    return show_by_hand(request, found)


# No cookie is read here, so another site's form has nothing to act with: anyone who knows the request's address may
# submit any hash for it, as by the public endpoint, and a hash alone pays nothing.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def take_hash(request: HttpRequest, shortcode: str) -> HttpResponse:
    """Take the form's hash and lead to the page that follows it; what is wrong is said beside what was typed."""
    try:
        found = find_request(shortcode)
    except Http404:
        return missing(request)
    if request.method != "POST":
        return lead_to(request, "by-hand", found.shortcode)
    try:
        take_typed_hash(request, found)
    except ApiError as error:
        return show_by_hand(request, found, refused_hash(request, error), error)
    return lead_to(request, "pay", found.shortcode)


def take_typed_hash(request: HttpRequest, found: PaymentRequest) -> None:
    """Have the form's transaction looked for, on whichever network it is. Raises ApiError."""
    chosen = _chosen_chain(typed(request, "chain_id") or str(found.chain_id))
    others = list(Chain.objects.filter(is_active=True)) if settings.ROUTING_PROVIDERS else []
    may_look = partial(_may_look, request)
    chain, transaction_hash = _located(typed(request, "transaction_hash"), chosen, others, may_look)
    submit_hash(
        found,
        chain=chain,
        transaction_hash=transaction_hash,
        actor="checkout",
        submitter=client_digest(request),
        before_extra_lookup=lambda: count_expensive(request),
    )


def refused_hash(request: HttpRequest, error: ApiError) -> dict[str, Any]:
    """Return what the form shows after a refusal: that, beside what was typed."""
    kept = {
        "typed": typed(request, "transaction_hash")[:MOST_SHOWN],
        "typed_chain": typed(request, "chain_id"),
    }
    return {"error": refusal(error), **kept}


def show_by_hand(
    request: HttpRequest,
    found: PaymentRequest,
    more: dict[str, Any] | None = None,
    error: ApiError | None = None,
) -> HttpResponse:
    """Return the page, with `more` than it always shows; after a refusal with that one's status."""
    context = {**by_hand_context(found), **(more or {})}
    return shown(request, found, "checkout/by_hand.html", context, error=error)


def refusal(error: ApiError) -> dict[str, str]:
    """Return what the page says of the refusal, by its code where there are words for that."""
    return {"code": error.problems[0].code.value, "message": error.problems[0].message}


def _chosen_chain(text: str) -> Chain:
    is_number = text.isascii() and text.isdecimal() and len(text) <= _CHAIN_ID_DIGITS
    if not is_number:
        raise ApiError(ErrorCode.CHAIN_UNKNOWN, "Choose one of the networks.", "chain_id")
    return chain_of(int(text), active_only=False)


def _located(
    text: str, chosen: Chain, others: list[Chain], may_look: Callable[[], bool]
) -> tuple[Chain, str]:
    """Return the transaction's canonical hash and its chain: the chosen one, unless one of `others` has it.

    Nodes are asked only if `may_look` allows it, once the hash is known to be one.
    """
    try:
        transaction_hash = chosen.family.normalise_transaction_hash(text)
    except HashError as error:
        strangers = [chain for chain in others if chain.chain_type != chosen.chain_type]
        found = _on_another_family(text, strangers, may_look)
        if found is None:
            raise ApiError(ErrorCode.TRANSACTION_HASH_INVALID, str(error), "transaction_hash") from error
        return found
    return chain_with(transaction_hash, chosen, others if others and may_look() else []), transaction_hash


def _on_another_family(
    text: str, chains: list[Chain], may_look: Callable[[], bool]
) -> tuple[Chain, str] | None:
    """Return the hash and its chain, of those `chains` in whose families `text` is one."""
    spelled = {
        key: spelling for key in {chain.chain_type for chain in chains} if (spelling := _as_hash(key, text))
    }
    if not spelled or not may_look():
        return None
    for key in sorted(spelled):
        chain = any_chain_with(spelled[key], [chain for chain in chains if chain.chain_type == key])
        if chain is not None:
            return chain, spelled[key]
    return None


def _as_hash(chain_type: str, text: str) -> str:
    """Return the canonical hash that `text` is in this family, or ""."""
    try:
        return family_of(chain_type).normalise_transaction_hash(text)
    except HashError:
        return ""


def _may_look(request: HttpRequest) -> bool:
    """Whether the limits leave room to ask nodes; a hash itself is never refused for asking too often."""
    try:
        count_expensive(request)
    except ApiError:
        return False
    return True


def by_hand_context(found: PaymentRequest) -> dict[str, Any]:
    """Return what the page shows; a link for wallets only where it means a transfer by hand."""
    context = page_context(found)
    if not context["is_payable"] or binds(found):
        return {**context, "is_by_hand": False}
    return {**context, **link_context(found), "is_by_hand": True}
