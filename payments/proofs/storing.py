"""Storing a payer's proof: its signature is verified, and payments that nothing bound before are verified again."""

from collections.abc import Callable
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.models import Chain
from config.api.errors import ApiError, ErrorCode
from payments.models import FailureCode, PayerProof, Payment, PaymentRequest, Route
from payments.requests.lifecycle import lock_request
from payments.submission.hashes import MAX_PUBLIC_PAYMENTS
from payments.verification.reopening import reopen

# A transfer counts if it is mined between the route's building and this long after.
WINDOW = timedelta(minutes=60)
NODE_RETRY_SECONDS = 5
# Money that may have arrived, and that a proof may bind.
REOPENED_BY_PROOF = (FailureCode.TRANSACTION_NOT_BOUND, FailureCode.NOT_VERIFIABLE)


def take_proof(
    route: Route,
    *,
    wallet_address: str,
    signature: str,
    client: Callable[[Chain], ChainClient] = get_client,
) -> PayerProof:
    """Return the proof, stored, that `wallet_address` signed the message of `route`.

    The same again is the proof that was given first. The payments of the request that failed because nothing bound them
    are verified again, this wallet's first, up to 30; any other when its hash is submitted again. That uses no retry.
    What an earlier proof covers stays with that proof.
    Raises ApiError: the route has expired or was not built for a proof, the signature is not this wallet's, no node
    answers.
    """
    now = timezone.now()
    if now >= route.expires_at or not route.proof_message or route.built_at is None:
        raise ApiError(ErrorCode.ROUTE_EXPIRED, "This route is no longer valid; ask for routes again.")
    if wallet_address != route.wallet_address:
        message = "The route was built for another wallet; ask for routes again from this one."
        raise ApiError(ErrorCode.SIGNATURE_INVALID, message, "wallet_address")
    # What a contract says of its signatures may change, and its node may be down: neither takes a proof back.
    if (same := PayerProof.objects.filter(route=route, signature=signature).first()) is not None:
        return same
    try:
        asked = client(route.chain)
        is_signed = asked.is_signed_by(wallet_address, route.proof_message, signature)
    except ChainError as error:
        message = (
            f"{route.chain.name} can't be asked about this wallet at the moment; try again in a few seconds."
        )
        raise ApiError(ErrorCode.NODE_UNAVAILABLE, message, retry_after=NODE_RETRY_SECONDS) from error
    if not is_signed:
        message = "This is not that wallet's signature under the message; have it signed again."
        raise ApiError(ErrorCode.SIGNATURE_INVALID, message, "signature")
    head = _head(asked)
    with transaction.atomic():
        request = lock_request(route.request_id)
        given = PayerProof.objects.filter(route=route).first()
        if given is not None:
            return given
        proof = PayerProof.objects.create(
            request=request,
            route=route,
            chain=route.chain,
            token=route.token,
            recipient_address=request.recipient_address,
            address=wallet_address,
            message=route.proof_message,
            signature=signature,
            not_before=route.built_at,
            not_after=route.built_at + WINDOW,
            verified_at=now,
            head_block=head,
        )
        for payment in _unbound(request, wallet_address)[:MAX_PUBLIC_PAYMENTS]:
            reopen(payment, actor="checkout", reason="the payer proved the wallet")
        # A look under way does not know this proof: its claim is taken away, so that its verdict is not written.
        Payment.objects.filter(request=request, status__in=Payment.OPEN).update(
            claim_id=None, lease_until=None, next_check_at=now
        )
    return proof


def _head(client: ChainClient) -> int | None:
    """Return the chain's newest block, after which a transfer counts as made later; None where no node tells."""
    try:
        return client.look_up([], with_finality=False).head.latest
    except ChainError:
        return None


def _unbound(request: PaymentRequest, wallet_address: str) -> list[Payment]:
    """Return what failed because nothing bound it: first what this wallet sent, then the newest."""
    failed = Payment.objects.filter(
        request=request,
        chain=request.chain,
        status=Payment.Status.FAILED,
        failure_code__in=REOPENED_BY_PROOF,
        is_simulated=False,
    )
    return sorted(failed.order_by("-created_at", "-id"), key=lambda each: each.from_address != wallet_address)
