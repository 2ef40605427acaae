"""Verify and store a payer's proof. Reopen the payments that it may bind."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.models import Chain
from config.api.errors import ApiError, ErrorCode
from payments.evaluation.proof_windows import CLOCK_ALLOWANCE
from payments.models import FailureCode, Lookup, PayerProof, Payment, PaymentRequest, Route, Swap
from payments.requests.lifecycle import lock_request
from payments.submission.caps import MAX_PUBLIC_PAYMENTS
from payments.verification.reopening import reopen

# A proof covers transfers that are mined within this time after its route was built.
WINDOW = timedelta(minutes=60)
NODE_RETRY_SECONDS = 5
# A proof may still bind a payment that failed with one of these codes.
REOPENED_BY_PROOF = (FailureCode.TRANSACTION_NOT_BOUND, FailureCode.NOT_VERIFIABLE)


def store_proof(
    route: Route,
    *,
    wallet_address: str,
    signature: str,
    client: Callable[[Chain], ChainClient] = get_client,
) -> PayerProof:
    """Verify and store the signature that `wallet_address` made for the route's message. Repeating the call returns
    the stored proof.

    Payments of the request that failed as unbound are verified again, without using a retry: up to 30, those of this
    wallet first. The rest are verified when their hash is submitted again. A transfer that an earlier proof covers
    still belongs to that proof.

    Raises ApiError if the route has expired or was not built for a proof, if the signature is invalid, or if no
    node responds.
    """
    now = timezone.now()
    if now >= route.expires_at or not route.proof_message or route.built_at is None:
        raise ApiError(ErrorCode.ROUTE_EXPIRED, "This route is no longer valid. Request routes again.")
    if wallet_address != route.wallet_address:
        message = "The route was built for another wallet. Request routes for this wallet."
        raise ApiError(ErrorCode.SIGNATURE_INVALID, message, "wallet_address")
    # A stored proof stays valid, even if the contract rejects its signature later or no node responds.
    if (same := PayerProof.objects.filter(route=route, signature=signature).first()) is not None:
        return same
    try:
        chain_client = client(route.chain)
        is_signed = chain_client.is_signed_by(wallet_address, route.proof_message, signature)
    except ChainError as error:
        message = f"{route.chain.name} can't be reached to verify this signature. Try again in a few seconds."
        raise ApiError(ErrorCode.NODE_UNAVAILABLE, message, retry_after=NODE_RETRY_SECONDS) from error
    if not is_signed:
        message = "The signature does not match this wallet and message. Sign the message again."
        raise ApiError(ErrorCode.SIGNATURE_INVALID, message, "signature")
    head = _head(chain_client)
    with transaction.atomic():
        request = lock_request(route.request_id)
        existing = PayerProof.objects.filter(route=route).first()
        if existing is not None:
            return existing
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
        check_again(request.payments.filter(status__in=Payment.OPEN).values_list("pk", flat=True), now)
        _hold(proof)
    return proof


def _hold(proof: PayerProof) -> None:
    """Keep the request open until the wallet's mined transfers are checked with the new proof.

    Otherwise, the request could expire or be cancelled before that check, although it is paid.
    """
    # The sender of a transaction without a nonce (Solana) is its fee payer, who need not be the wallet.
    mined = proof.request.payments.filter(
        Q(from_address=proof.address) | Q(nonce=None),
        chain=proof.chain,
        status__in=Payment.OPEN,
        lookup__block_time__range=(proof.not_before - CLOCK_ALLOWANCE, proof.not_after),
    )
    mined.filter(likely_failure__in=("", *REOPENED_BY_PROOF)).update(is_in_flight=True, likely_failure="")


def check_again(open_payments: Iterable[str], now: datetime) -> None:
    """Make the checks of these open payments due now.

    A running check doesn't know the new proof. Clear its claim id, so that it can't store its result.
    """
    keys = list(open_payments)
    Lookup.of(keys).filter(next_check_at__isnull=False).update(
        claim_id=None, lease_until=None, next_check_at=now
    )
    Swap.objects.filter(payment__in=keys, next_poll_at__isnull=False).update(
        claim_id=None, lease_until=None, next_poll_at=now
    )


def _head(client: ChainClient) -> int | None:
    """Return the newest block's number, or None if no node responds."""
    try:
        return client.look_up([], with_finality=False).head.latest
    except ChainError:
        return None


def _unbound(request: PaymentRequest, wallet_address: str) -> list[Payment]:
    """Return the payments that failed as unbound: those of this wallet first, and otherwise the newest first."""
    failed = Payment.objects.filter(
        request=request,
        chain=request.chain,
        status=Payment.Status.FAILED,
        failure_code__in=REOPENED_BY_PROOF,
        is_simulated=False,
    )
    return sorted(failed.order_by("-created_at", "-id"), key=lambda each: each.from_address != wallet_address)
