"""The outcomes of a simulated direct payment.

Each function gets the locked request, the reason for the history, and the open simulated payment to decide. If there
is no open payment, the function creates one.
"""

import uuid
from dataclasses import replace

from django.utils import timezone

from chains.fields import UINT256_MAX
from config.api.errors import ApiError, ErrorCode
from payments.evaluation.binding import Evidence
from payments.evaluation.retry_policy import LONGEST_WAIT, MAX_MISSED_CHECKS
from payments.evaluation.verdicts import NotYet, evaluate
from payments.models import Payment, PaymentRequest
from payments.requests.transitions import note
from payments.sandbox import facts
from payments.sandbox.attempts import Attempt, create, keep_open, lease, write, write_lookup
from payments.sandbox.outcomes import Outcome
from payments.verification.columns import NOT_HOLDING, UNKNOWN
from payments.verification.outcomes import Followed, looked_up_columns, progress_columns, timed_out
from payments.verification.storing import store

_EFFECT = "sandbox"


def pay(request: PaymentRequest, amount: int, why: str, payment: Payment | None = None) -> Payment:
    """Complete a payment by a transfer of `amount` base units that carries the request's reference."""
    attempt = lease(request, why, payment)
    transfer = facts.transfer(request, amount)
    return attempt.finish({attempt.hash: facts.mined(request, attempt.hash, attempt.now, transfer)})


def fail(request: PaymentRequest, why: str, payment: Payment | None = None) -> Payment:
    attempt = lease(request, why, payment)
    reverted = replace(facts.mined(request, attempt.hash, attempt.now), succeeded=False)
    return attempt.finish({attempt.hash: reverted})


def leave_pending(request: PaymentRequest, why: str) -> Payment:
    """Leave a new payment `pending`. A node has seen its transaction, but no block contains it."""
    payment = create(request)
    note(payment, why, actor=facts.ACTOR)
    return _see(request, payment, is_mined=False)


def leave_processing(request: PaymentRequest, why: str, payment: Payment | None = None) -> Payment:
    """Leave a payment `processing`: its transaction is in a block that isn't deep enough."""
    attempt = lease(request, why, payment)
    return _see(request, attempt.payment, is_mined=True)


def speed_up(request: PaymentRequest, why: str, payment: Payment | None = None) -> Payment:
    """Continue a payment with a transaction that replaces the first one: the wallet sped it up."""
    attempt = lease(request, why, payment or leave_pending(request, why))
    sped_up = attempt.payment
    # Set these columns in memory, so that the replacement matches. The values are invented, so don't store
    # them.
    sped_up.from_address, sped_up.nonce, sped_up.effect = facts.payer_of(request), 0, _EFFECT
    replacement = replace(
        facts.unmined(request, facts.new_hash(request), attempt.now, _amount(request, sped_up)),
        nonce=0,
        effect=_EFFECT,
    )
    store([Followed(sped_up.lookup, replacement)], attempt.claim_id, attempt.now)
    sped_up.refresh_from_db()
    write(sped_up, **NOT_HOLDING)
    write_lookup(sped_up, **UNKNOWN)
    return _see(request, sped_up, is_mined=False, detail=sped_up.status_detail)


def leave_unbound(request: PaymentRequest, outcome: Outcome, why: str, payment: Payment | None) -> Payment:
    """Fail a payment whose transfer arrived, but is not bound to the request. Only the merchant can accept it."""
    attempt = lease(request, why, payment)
    own = bytes(request.reference)
    evidence = Evidence(reference=own, foreign=frozenset({facts.FOREIGN_REFERENCE}))
    references = (own, facts.FOREIGN_REFERENCE) if outcome == Outcome.AMBIGUOUS else ()
    transfer = facts.transfer(request, _amount(request, attempt.payment), references)
    transaction = facts.mined(request, attempt.hash, attempt.now, transfer)
    transaction = replace(transaction, is_complete=outcome != Outcome.NOT_VERIFIABLE)
    return attempt.finish({attempt.hash: transaction}, evidence=evidence)


def accept(request: PaymentRequest, payment: Payment) -> Payment:
    """Complete a payment that the merchant has accepted. Credit the amount that arrived."""
    attempt = lease(request, "accepted; simulated", payment)
    transfer = facts.transfer(request, _amount(request, payment), ())
    transaction = facts.mined(request, attempt.hash, attempt.now, transfer)
    evidence = Evidence(reference=bytes(request.reference), is_accepted=True)
    return attempt.finish({attempt.hash: transaction}, evidence=evidence)


def lose(request: PaymentRequest, why: str, payment: Payment | None) -> Payment:
    """Fail a payment: after all lookups, no node knows its transaction."""
    attempt = lease(request, why, payment)
    write(attempt.payment, **NOT_HOLDING)
    write_lookup(attempt.payment, attempts=MAX_MISSED_CHECKS, **UNKNOWN)
    return attempt.finish({attempt.hash: None})


def replace_by_another(request: PaymentRequest, why: str, payment: Payment | None) -> Payment:
    """Fail a payment that another transaction replaced, for example a cancellation by the wallet."""
    attempt = lease(request, why, payment or leave_pending(request, why))
    write(attempt.payment, **NOT_HOLDING)
    write_lookup(attempt.payment, **UNKNOWN)
    other = facts.mined(request, facts.new_hash(request), attempt.now)
    return attempt.finish({attempt.hash: None}, replacement=other)


def time_out(request: PaymentRequest, why: str, payment: Payment | None) -> Payment:
    """Fail a payment that was undecided for 24 hours."""
    open_one = payment or leave_processing(request, why)
    write(open_one, verifying_since=timezone.now() - LONGEST_WAIT)
    return end_abandoned(lease(request, why, open_one))


def end_abandoned(attempt: Attempt) -> Payment:
    return attempt.decide(timed_out(attempt.payment))


def _see(request: PaymentRequest, payment: Payment, *, is_mined: bool, detail: str | None = None) -> Payment:
    """Store the progress of a payment that stays open."""
    now = timezone.now()
    amount, hash_ = _amount(request, payment), payment.own_hash
    seen = (
        facts.mined(request, hash_, now, facts.transfer(request, amount))
        if is_mined
        else facts.unmined(request, hash_, now, amount)
    )
    check = facts.check(request, uuid.uuid4(), {hash_: seen}, now, is_deep=False)
    verdict = evaluate(facts.terms(request, now), payment.chain_id, seen, check.snapshot.head, check.finality)
    if not isinstance(verdict, NotYet):
        raise RuntimeError(f"{payment.id} was simulated as open but decided")
    write(payment, **progress_columns(payment.lookup, verdict, seen, now, None))
    write_lookup(payment, **looked_up_columns(payment.lookup, verdict, seen, check.finality, now))
    return keep_open(payment, detail or verdict.detail)


def _amount(request: PaymentRequest, payment: Payment) -> int:
    """Return the payment's default amount in base units."""
    return payment.amount or request.amount_remaining or request.amount


def remainder(request: PaymentRequest, payment: Payment | None) -> int:
    """Return the amount for `paid`: the unpaid rest. If nothing is left, return the open payment's amount."""
    amount = request.amount_remaining or (payment.amount if payment else None)
    if not amount:
        message = f"The payment request is {request.status}, and nothing remains to be paid."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)
    return amount


def part(request: PaymentRequest) -> int:
    """Return the amount for `underpaid`: half of the unpaid rest."""
    amount = remainder(request, None)
    if amount == 1:
        message = "Only one base unit remains to be paid, so it can't be underpaid."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "outcome")
    return amount // 2


def excessive(request: PaymentRequest) -> int:
    """Return the amount for `overpaid`: the unpaid rest, and a tenth of the requested amount in addition.

    The addition is at least one base unit. The sum is at most the largest amount that the columns can hold.
    """
    surplus = min(max(request.amount // 10, 1), UINT256_MAX - max(request.amount, request.amount_paid))
    if surplus == 0:
        message = "The request already has the largest possible amount, so it can't be overpaid."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "outcome")
    return request.amount_remaining + surplus
