"""Offer a message that binds a manual transfer: the wallet signs the message before it sends the transfer."""

from django.conf import settings
from django.utils import timezone

from chains.client import ChainError, Refusal, TransferRefused
from chains.families import get_client
from payments.models import PayerProof, PaymentRequest, Route
from payments.proofs.messages import proof_message
from payments.refunds.services import reserve_to_send
from payments.routes.direct import offer_direct
from payments.routes.refusals import no_node, refused, require_payable, require_valid_recipient
from payments.verification.quote_evidence import current_proofs


def offer_proof(request: PaymentRequest, *, wallet_address: str) -> Route:
    """Create a direct route with a message that this wallet signs before a manual transfer.

    The wallet's coin for the fee is not checked, because no transaction is built. If the wallet is a contract,
    another account may pay the fee. Raises ApiError if the request can't be paid now, the wallet holds too little, or
    no node responds.
    """
    require_payable(request, timezone.now(), allow_parallel=False)
    token, client = request.token.contract_address, get_client(request.chain)
    try:
        require_valid_recipient(client, request)
        balance = client.balances(wallet_address, [token]).get(token)
    except ChainError as error:
        raise no_node(request.chain) from error
    missing = 0 if balance is None else request.amount_remaining - balance
    if missing > 0:
        draft = Route(request=request, chain=request.chain, token=request.token)
        raise refused(draft, TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=missing))
    if request.is_refund:
        reserve_to_send(request, actor="checkout")
    now = timezone.now()
    route = offer_direct(request, wallet_address, now)
    route.built_at, route.proof_message = now, proof_message(route, settings.CHECKOUT_URL, now)
    route.save(update_fields=["built_at", "proof_message"])
    return route


def current_proof(route: Route) -> PayerProof | None:
    """Return the route's proof if it is still valid for new transfers of the wallet."""
    return current_proofs().filter(route=route, not_after__gt=timezone.now()).first()
