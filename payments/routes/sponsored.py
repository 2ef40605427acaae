"""Offer sponsored routes, and build the data or the transaction that the customer signs."""

from datetime import UTC, datetime, timedelta

from django.utils import timezone

from chains.client import ChainClient, Refusal, TransferRefused
from payments.models import Authorization, Payment, PaymentRequest, Route
from payments.routes.answers import Built
from payments.routes.cosigned import build_cosigned
from payments.routes.direct import offer_direct
from payments.routes.refusals import expired, require_valid_recipient, unavailable
from payments.sponsoring import budgets, terms
from payments.sponsoring.offers import store_authorization

# Others may use a signature before it is submitted here. So the chain is searched for transactions that use
# it. The first search comes after this time.
FIRST_CHECK = timedelta(seconds=30)
# The search begins this many blocks before the current one, because a reorganisation can move a later transaction
# into an earlier block.
SEARCHED_BEFORE = 64


def offer_sponsored(request: PaymentRequest, wallet_address: str, now: datetime) -> Route | None:
    """Return a route whose network fee the operator pays, or None if it can't be offered now.

    Queries no node. Nodes are queried when the route is built.
    """
    if not terms.is_allowed(request) or request.expires_at - now < terms.LEFT_TO_BUILD:
        return None
    sponsor, recipient = terms.address_of(request.chain), request.recipient_address
    # A transfer to the sender's own account would cost a fee and pay nothing. The operator's account is never the
    # payer.
    if wallet_address in (sponsor, recipient) or sponsor == recipient:
        return None
    day = now.astimezone(UTC).date()
    is_spent = budgets.spent_on(request.chain, day) >= terms.budget_of(request.chain)
    if is_spent or budgets.is_barred(wallet_address, day):
        return None
    return offer_direct(request, wallet_address, now, is_sponsored=True)


def build_sponsored(route: Route, client: ChainClient, now: datetime) -> Built:
    """Return the typed data or the transaction that the customer signs.

    Each call for a route returns the same typed data. On Solana, each call returns the same transaction while that
    transaction can still be sent. Raises ApiError, TransferRefused and ChainError.
    """
    if terms.cosigning_of(route.chain) is not None:
        return build_cosigned(route, client, now)
    request = route.request
    if route.amount != request.amount_remaining:
        raise expired()
    rules, domain = terms.rules_of(route.chain), route.token.authorization_domain
    if not terms.is_allowed(request) or rules is None or domain is None:
        raise unavailable()
    require_valid_recipient(client, request)
    if not rules.can_sign(client.contract_code(route.wallet_address)):
        raise unavailable("This wallet is a contract account, which can't sign the transfer.")
    if (existing := Authorization.objects.select_related("token").filter(route=route).first()) is None:
        balance = client.balances(route.wallet_address, [domain.token]).get(domain.token, 0)
        if balance < route.amount:
            raise TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=route.amount - balance)
        waiting = Authorization.objects.filter(request=request, signed_at__isnull=True, ended_at__isnull=True)
        if waiting.count() >= terms.MAX_UNSIGNED:
            raise unavailable()
        # One node alone could name a block that is too high, so that a use of the signature is never found.
        existing = _store(route, client.look_up([], with_finality=False).head.latest, now)
    if existing.ends_at is None or existing.ends_at - timezone.now() < terms.LEFT_TO_BUILD:
        raise expired()
    return Built(None, Payment.BoundBy.AUTHORIZATION, typed_data=rules.typed_data(existing.terms))


def _store(route: Route, head: int, now: datetime) -> Authorization:
    request, rules, domain = route.request, terms.rules_of(route.chain), route.token.authorization_domain
    if rules is None or domain is None:
        raise unavailable()
    columns = {
        "domain_name": domain.name,
        "domain_version": domain.version,
        "valid_before": terms.valid_before(request, now),
        "nonce": rules.nonce_of(bytes(request.reference), route.pk),
        "since_block": max(head - SEARCHED_BEFORE, 0),
        "next_check_at": now + FIRST_CHECK,
    }
    if (authorization := store_authorization(route, now, columns)) is None:
        raise expired()
    return authorization
