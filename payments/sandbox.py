"""The sandbox of a staging deployment: simulate any outcome of a payment immediately, without a chain.

A made-up chain check goes through the verification engine like a real one, so that history, consumed transfers and
events are the same as in production. The effect of each outcome in each state of the request (409 is
`payment_request_not_active`; nothing is written then):

    outcome          active               expired             cancelled, unpaid   completed, or cancelled and paid
    paid             completed            completed, late     stays, but is paid  409
    underpaid        stays, partly paid   stays, partly paid  stays, partly paid  409
    overpaid         completed, overpaid  completed, late     stays, overpaid     stays, overpaid by more
    paid_late        expired, then late   completed, late     409                 409
    expired          expired              409                 409                 409
    failed           a payment fails; the request stays as it is, in every state
    bridge_refunded  a swap fails as `swap_refunded`; the request stays as it is, in every state
    reorged          as `paid`, and that payment is undone in the first three states; in the last one the newest
                     simulated payment is undone, and it is 409 where there is none
    refunded         as `paid` where something remains to be paid, and then all that is left goes back

A request with a price whose price has expired stays expired, whatever arrives, until the merchant accepts the payment;
`paid_late` lets the price expire first.

If a real open payment holds the request, `expired` and `paid_late` return 409 `payment_in_progress`.

Simulated payments are marked in the database and never looked up on a chain. Their hashes start with 16 fixed bytes, so
that they can't collide with the hash of a real transaction.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from chains.client import Block, Head, Snapshot, TransactionFacts, Transfer
from chains.fields import UINT256_MAX
from config.api.errors import ApiError, ErrorCode
from payments.evaluation.binding import Evidence
from payments.evaluation.proof_windows import Proof
from payments.evaluation.verdicts import Finality, Terms
from payments.models import FailureCode, Payment, PaymentRequest
from payments.refunds.services import create_refund
from payments.requests.crediting import PRICE_GRACE
from payments.requests.lifecycle import expire_request, is_held, lock_request
from payments.requests.transitions import move_payment, note_creation
from payments.swaps import deliveries
from payments.verification import outcomes
from payments.verification.attempts import finish_attempt
from payments.verification.checks import ChainCheck
from payments.verification.evidence import EvaluationInput
from payments.verification.finality import flag_reorged

ACTOR = "sandbox"
HASH_PREFIX = b"sandbox-payment-"
# A simulated block is a few seconds old.
_A_MOMENT = timedelta(seconds=60)
_REFUNDED = "The bridge could not deliver and refunded the payer."


class Outcome(StrEnum):
    """The outcomes that can be simulated."""

    PAID = "paid"
    UNDERPAID = "underpaid"
    OVERPAID = "overpaid"
    PAID_LATE = "paid_late"
    FAILED = "failed"
    EXPIRED = "expired"
    REORGED = "reorged"
    BRIDGE_REFUNDED = "bridge_refunded"
    REFUNDED = "refunded"


@dataclass(frozen=True)
class _Attempt:
    """A payment under verification, and the chain check that decides it."""

    payment: Payment
    check: ChainCheck
    facts: TransactionFacts


def is_open() -> bool:
    """Whether this deployment has a sandbox. Only staging has one."""
    return bool(settings.ENVIRONMENT == "staging")


def simulate(request_id: uuid.UUID, outcome: Outcome, *, by: str) -> PaymentRequest:
    """Simulate `outcome` in one transaction and return the request. `by` is written to the history.

    Raises ApiError if the outcome is not possible (see the table above), if `underpaid` is requested when only one base
    unit remains, `refund_too_large` if `refunded` finds nothing to send back, and `resource_missing` outside staging.
    """
    if not is_open():
        raise ApiError(ErrorCode.RESOURCE_MISSING, "The sandbox is available on staging only.")
    with transaction.atomic():
        request = lock_request(request_id)
        why = f"simulated as {outcome.value} by {by}"
        match outcome:
            case Outcome.PAID:
                _pay(request, _remainder(request), why)
            case Outcome.UNDERPAID:
                _pay(request, _part(request), why)
            case Outcome.OVERPAID:
                _pay(request, request.amount_remaining + _surplus(request), why)
            case Outcome.PAID_LATE:
                _pay_late(request, why)
            case Outcome.FAILED:
                _fail(request, why)
            case Outcome.EXPIRED:
                _expire(request)
            case Outcome.REORGED:
                _undo(request, why)
            case Outcome.BRIDGE_REFUNDED:
                _refund_swap(request, why)
            case Outcome.REFUNDED:
                _refund(request, why)
    return PaymentRequest.objects.select_related("token", "chain", "merchant").get(pk=request_id)


def _pay(request: PaymentRequest, amount: int, why: str) -> Payment:
    """Simulate a transfer of `amount` base units, bound to the request like a wallet's transaction."""
    references = (bytes(request.reference),) if request.references else ()
    payer = _payer(request)
    transfer = Transfer(
        slot=ACTOR,
        token=request.token.contract_address,
        sender=payer,
        recipient=request.recipient_address,
        amount=amount,
        references=references,
        made_by=payer,
    )
    return _finish(request, _attempt(request, why, transfers=(transfer,)))


def _payer(request: PaymentRequest) -> str:
    """Return an unused address that is not the recipient: a transfer to itself pays nothing."""
    return next(
        address for address in request.chain.family.sandbox_payers if address != request.recipient_address
    )


def _pay_late(request: PaymentRequest, why: str) -> None:
    if request.status != PaymentRequest.Status.EXPIRED:
        _expire(request)
    if request.price is not None:
        request.expires_at = min(request.expires_at, timezone.now() - PRICE_GRACE - _A_MOMENT)
        PaymentRequest.objects.filter(pk=request.pk).update(expires_at=request.expires_at)
    _pay(request, _remainder(request), why)


def _fail(request: PaymentRequest, why: str) -> None:
    _finish(request, _attempt(request, why, succeeded=False))


def _refund_swap(request: PaymentRequest, why: str) -> None:
    attempt = _attempt(request, why, type=Payment.Type.SWAP, provider=ACTOR, provider_status="refunded")
    outcomes.fail(
        attempt.payment,
        attempt.check.claim_id,
        FailureCode.SWAP_REFUNDED,
        _REFUNDED,
        attempt.check.now,
        facts=attempt.facts,
    )


def _refund(request: PaymentRequest, why: str) -> None:
    """Send all that is left of what was paid back to the simulated payer."""
    if request.amount_remaining:
        _pay(request, request.amount_remaining, why)
    refund = create_refund(
        request.pk,
        amount=None,
        recipient_address=_payer(request),
        payment_id=None,
        reason=why,
        actor=ACTOR,
    ).refund
    carrier = lock_request(refund.carrier.pk) if refund.carrier else request
    _pay(carrier, carrier.amount, why)


def _expire(request: PaymentRequest) -> None:
    """Move the request's expiry to now, and expire it as the worker would."""
    now = timezone.now()
    if request.status != PaymentRequest.Status.ACTIVE:
        message = f"The payment request is {request.status}; only an active one can expire."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
    # Just before now, so that the next payment counts as late.
    request.expires_at = min(request.expires_at, now - timedelta(microseconds=1))
    if is_held(request, now):
        message = "A payment for this request is on its way. Wait until it has completed or failed."
        raise ApiError(ErrorCode.PAYMENT_IN_PROGRESS, message)
    PaymentRequest.objects.filter(pk=request.pk).update(expires_at=request.expires_at)
    expire_request(request, now, actor=ACTOR)


def _undo(request: PaymentRequest, why: str) -> None:
    """Flag a payment as reorged: a new one for the remaining amount or, if nothing remains, the newest."""
    if request.amount_remaining:
        payment: Payment | None = _pay(request, request.amount_remaining, why)
    else:
        credited = request.payments.filter(is_simulated=True, status=Payment.Status.COMPLETED, reorged=False)
        payment = credited.order_by("-created_at", "-id").first()
    if payment is None:
        message = "Nothing remains to be paid, and there is no simulated payment to reverse."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
    flag_reorged(payment)


def _remainder(request: PaymentRequest) -> int:
    if request.amount_remaining == 0:
        message = f"The payment request is {request.status}, and nothing remains to be paid."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
    return request.amount_remaining


def _part(request: PaymentRequest) -> int:
    remainder = _remainder(request)
    if remainder == 1:
        message = "Only one base unit remains to be paid, so it can't be underpaid."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "outcome")
    return remainder // 2


def _surplus(request: PaymentRequest) -> int:
    """Return a tenth of the amount: at least one base unit, and at most what the amount columns can hold."""
    surplus = min(max(request.amount // 10, 1), UINT256_MAX - max(request.amount, request.amount_paid))
    if surplus == 0:
        message = "The request already has the largest possible amount, so it can't be overpaid."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "outcome")
    return surplus


def _attempt(
    request: PaymentRequest,
    why: str,
    *,
    transfers: tuple[Transfer, ...] = (),
    succeeded: bool = True,
    **columns: Any,
) -> _Attempt:
    """Create a payment as if its hash had been submitted and leased, with the facts that a node would return."""
    now, claim_id = timezone.now(), uuid.uuid4()
    payment = Payment.objects.create(
        request=request,
        chain=request.chain,
        transaction_hash=request.chain.family.make_hash(HASH_PREFIX),
        submitted_publicly=False,
        is_simulated=True,
        status_detail="Simulated.",
        created_at=now,
        **columns,
    )
    note_creation(request, payment=payment, actor=ACTOR)
    move_payment(
        payment,
        Payment.Status.PROCESSING,
        actor=ACTOR,
        reason=why,
        claim_id=claim_id,
    )
    finality = Finality.parse(request.chain.confirmations)
    # Block 0 holds no real payment. The head makes it final, with as many confirmations as the chain requires.
    head = Head(latest=(finality.confirmations or 1) - 1, safe=0, finalized=0)
    facts = TransactionFacts(
        hash=payment.transaction_hash,
        sender=_payer(request),
        nonce=None,
        block=Block(number=0, hash=ACTOR, time=now),
        succeeded=succeeded,
        transfers=transfers,
    )
    return _Attempt(payment, ChainCheck(claim_id, Snapshot(head, {facts.hash: facts}), finality, now), facts)


def _finish(request: PaymentRequest, attempt: _Attempt) -> Payment:
    """Let the engine evaluate the chain check. The payment must not stay open: no worker would pick it up."""
    evaluation_input = EvaluationInput(_terms(request, attempt.facts.sender, attempt.check.now))
    finish_attempt(attempt.payment, evaluation_input, attempt.check, swaps=deliveries)
    if attempt.payment.is_open:
        raise RuntimeError(f"{attempt.payment.id} was simulated but not decided")
    return attempt.payment


def _terms(request: PaymentRequest, payer: str, now: datetime) -> Terms:
    """Return the request's terms. Without references, the payer's proof binds the transfer."""
    return Terms(
        chain_id=request.chain_id,
        token=request.token.contract_address,
        symbol=request.token.symbol,
        decimals=request.token.decimals,
        recipient=request.recipient_address,
        created_at=request.created_at,
        evidence=Evidence(reference=bytes(request.reference), proofs=(Proof(payer, now, now, now),)),
        known_tokens={},
        asked_at=now,
    )
