"""What a wallet may sign before it sends by hand, and what a signature can still do afterwards."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum

from django.conf import settings
from django.utils import timezone

from chains.client import ChainClient, ChainError, Refusal, TransferRefused
from chains.families import get_client
from chains.models import Chain
from payments.evaluation.proof_windows import CLOCK_ALLOWANCE
from payments.models import PayerProof, Payment, PaymentRequest, Route
from payments.proofs.messages import proof_message
from payments.proofs.storing import REOPENED_BY_PROOF, WINDOW
from payments.routes.direct import offer_direct
from payments.routes.refusals import no_node, refused, require_payable, require_valid_recipient
from payments.verification.quote_evidence import current_proofs


def offer_proof(
    request: PaymentRequest, *, wallet_address: str, client: Callable[[Chain], ChainClient] = get_client
) -> Route:
    """Return a new direct route with the message that this wallet signs before it sends what remains by hand.

    No transaction is built: its fee may be fetched later, or be paid by others where the wallet is a contract. Raises
    ApiError unless the request can be paid now, where the wallet has less than what remains, and where no node answers.
    """
    require_payable(request, timezone.now(), allow_parallel=False)
    token, asked = request.token.contract_address, client(request.chain)
    try:
        require_valid_recipient(asked, request)
        held = asked.balances(wallet_address, [token]).get(token)
    except ChainError as error:
        raise no_node(request.chain) from error
    short = 0 if held is None else request.amount_remaining - held
    if short > 0:
        wanted = Route(request=request, chain=request.chain, token=request.token)
        raise refused(wanted, TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=short))
    now = timezone.now()
    route = offer_direct(request, wallet_address, now)
    route.built_at, route.proof_message = now, proof_message(route, settings.CHECKOUT_URL, now)
    route.save(update_fields=["built_at", "proof_message"])
    return route


def current_proof(route: Route) -> PayerProof | None:
    """Return the proof that was given for `route`, if what its wallet sends now counts by it: none is newer."""
    return current_proofs().filter(route=route, not_after__gt=timezone.now()).first()


class Remedy(StrEnum):
    """What can be done about an unbound payment, beside that the merchant accepts it."""

    SIGN = "sign"
    """A message was made before the payment was sent, and can still be signed."""
    NOT_COVERED = "not_covered"
    """A proof was given for what was sent at this time, but not for what this payment is."""
    NONE = "none"
    """No message was made in time; one made now would not count for it."""


def remedy_for(payment: Payment) -> tuple[Remedy, datetime | None]:
    """Return what still helps the unbound payment and, of a message to sign, until when it can be."""
    code = payment.failure_code or payment.likely_failure
    if code not in REOPENED_BY_PROOF or payment.block_time is None:
        return Remedy.NONE, None
    latest = payment.block_time + CLOCK_ALLOWANCE
    messages = Route.objects.filter(
        request=payment.request_id, built_at__lte=latest, built_at__gte=payment.block_time - WINDOW
    ).exclude(proof_message="")
    unsigned = messages.filter(expires_at__gt=timezone.now()).exclude(
        pk__in=PayerProof.objects.filter(request=payment.request_id).values("route")
    )
    newest = unsigned.order_by("-expires_at").first()
    if newest is not None:
        return Remedy.SIGN, newest.expires_at
    proofs = PayerProof.objects.filter(request=payment.request_id, not_before__lte=latest)
    return (Remedy.NOT_COVERED if proofs.exists() else Remedy.NONE), None
