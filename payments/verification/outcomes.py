"""The outcomes of a check, and the columns that they write.

Pure functions; `payments.verification.storing` stores the outcomes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from chains.amounts import display_amount
from chains.client import ChainError, TransactionFacts
from config.due_work.leases import FREE
from payments.evaluation.retry_policy import (
    MAX_MISSED_CHECKS,
    is_timed_out,
    pause_after_miss,
    pause_after_no_answer,
    pause_for_confirmations,
)
from payments.evaluation.verdicts import Finality, NotYet, Paid, Refused
from payments.models import FailureCode, Lookup, Payment, PaymentRequest, Quote
from payments.requests import crediting
from payments.verification.columns import (
    NOT_HOLDING,
    UNKNOWN,
    block_columns,
    depth_columns,
    paid_columns,
    provider_columns,
    sender_columns,
    sighting_columns,
    waiting_columns,
)
from payments.verification.evidence import ChainCheck

# The time until a completed or failed payment is first checked for finality.
FIRST_FINALITY_CHECK = timedelta(minutes=2)

# The payment's columns once a node or provider has responded.
RESPONDED: dict[str, Any] = {"unanswered_looks": 0, "unanswered_since": None}
# The columns of a lookup whose payment is decided.
DECIDED: dict[str, Any] = {"next_check_at": None, "finality_misses": 0, **FREE}

# The error if a payment could not be evaluated or stored.
UNUSABLE = ChainError("the response could not be used")
_NO_ANSWER = "The network's nodes have not answered"
UNKNOWN_FORM = "The network's nodes have returned this transaction in an unknown form"
_ALREADY_USED = "This transaction has already been used to pay another request."
_NOT_FOUND = (
    "The network does not know this transaction. It may never have been sent, or was replaced by another."
)
_TIMED_OUT = "The transaction could not be confirmed within 24 hours. You can retry the payment."


@dataclass(frozen=True)
class Completed:
    """The transaction pays the request. `quote` is the quote that the transaction names.

    If other payments have consumed all its transfers, `if_used` returns the outcome to store. Without `if_used`,
    the payment fails as `transaction_already_used`.
    """

    lookup: Lookup
    verdict: Paid
    facts: TransactionFacts | None
    finality: Finality
    quote: Quote | None = None
    if_used: Callable[[], "Failed | Postponed"] | None = None

    @property
    def payment(self) -> Payment:
        return self.lookup.payment


@dataclass(frozen=True)
class Failed:
    """The payment fails.

    `columns` are for the payment, `looked_up` for the lookup of its own transaction, and `swap` for its swap.
    """

    payment: Payment
    code: FailureCode
    message: str
    columns: Mapping[str, Any] = field(default_factory=dict)
    looked_up: Mapping[str, Any] = field(default_factory=dict)
    swap: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Postponed:
    """The payment stays open.

    - `columns` are for the payment.
    - `looked_up` is for `lookup`, which is due again at `next_check`.
    - `swap` is for the payment's swap. The swap's `next_poll_at` is the time of the next poll.
    - `waits_for_block`: if a block arrived during the check, the lookup stays due.
    - `delivery` is the delivery's hash that the provider reports now, or "" if it reports none. If `delivery` is
      None, the stored hash stays.
    """

    payment: Payment
    lookup: Lookup | None
    next_check: datetime | None
    columns: Mapping[str, Any] = field(default_factory=dict)
    looked_up: Mapping[str, Any] = field(default_factory=dict)
    swap: Mapping[str, Any] = field(default_factory=dict)
    waits_for_block: bool = False
    delivery: str | None = None


@dataclass(frozen=True)
class Followed:
    """The payment continues with another transaction that replaced its own and has the same effect."""

    lookup: Lookup
    replacement: TransactionFacts

    @property
    def payment(self) -> Payment:
        return self.lookup.payment


@dataclass(frozen=True)
class Unexecuted:
    """A reorganisation removed the proposal's execution. Search for it again."""

    lookup: Lookup

    @property
    def payment(self) -> Payment:
        return self.lookup.payment


@dataclass(frozen=True)
class Attached:
    """The transaction sent native coin to the deposit address, but another payment has this coin already."""

    lookup: Lookup
    facts: TransactionFacts

    @property
    def payment(self) -> Payment:
        return self.lookup.payment


Outcome = Completed | Failed | Postponed | Followed | Unexecuted | Attached


def refused(lookup: Lookup, verdict: Refused, facts: TransactionFacts | None, now: datetime) -> Failed:
    """The customer's transaction does not pay the request."""
    payment = lookup.payment
    columns: dict[str, Any] = {}
    looked_up: dict[str, Any] = {}
    if facts is not None and facts.block is not None:
        columns |= sender_columns(payment, facts)
        looked_up = {**sighting_columns(lookup, facts, now), **block_columns(facts.block)}
    if verdict.arrived:
        columns |= {"amount": verdict.arrived, "token_id": payment.request.token_id}
    return Failed(payment, verdict.code, verdict.message, columns, looked_up)


def if_used(completed: Completed, now: datetime) -> Failed | Postponed:
    """Return the outcome to store if other payments have consumed all the transfers of `completed`."""
    if completed.if_used is not None:
        return completed.if_used()
    verdict = Refused(FailureCode.TRANSACTION_ALREADY_USED, _ALREADY_USED)
    return refused(completed.lookup, verdict, completed.facts, now)


def missing(lookup: Lookup, now: datetime) -> Failed | Postponed:
    """Healthy nodes don't know the transaction. Check again, or fail after the last check."""
    payment = lookup.payment
    if payment.attempts >= MAX_MISSED_CHECKS:
        return Failed(payment, FailureCode.TRANSACTION_NOT_FOUND, _NOT_FOUND)
    detail = (
        "The network no longer knows the transaction; checking again."
        if lookup.is_seen
        else "Not seen on the network yet; checking again."
    )
    columns = {**RESPONDED, "status_detail": detail, **NOT_HOLDING}
    looked_up = {"attempts": lookup.attempts + 1, **UNKNOWN}
    if lookup.is_difference:
        # A later transaction may send the coin. It must not get the time of the one that is gone.
        looked_up |= {"first_block_time": None, "first_block_number": None}
    return Postponed(payment, lookup, now + pause_after_miss(payment.attempts), columns, looked_up)


def unanswered(
    lookup: Lookup, error: ChainError, now: datetime, detail: str = _NO_ANSWER
) -> Failed | Postponed:
    """No node gave a usable response. Check again without using a retry. The payment times out after 24 hours."""
    payment = lookup.payment
    if is_timed_out(payment, now):
        return timed_out(payment)
    since = payment.unanswered_since or now
    columns = {
        "unanswered_looks": payment.unanswered_looks + 1,
        "unanswered_since": since,
        "status_detail": f"{detail} since {since:%H:%M} UTC; asking again.",
    }
    pause = pause_after_no_answer(payment.unanswered_looks, error.retry_after)
    return Postponed(payment, lookup, now + pause, columns)


def waiting(
    lookup: Lookup,
    verdict: NotYet,
    facts: TransactionFacts | None,
    check: ChainCheck,
    quote: Quote | None = None,
) -> Failed | Postponed:
    """The result is not final yet. Check again. The payment times out after 24 hours.

    `quote` is the quote that the transaction names.
    """
    payment = lookup.payment
    if is_timed_out(payment, check.now):
        return timed_out(payment)
    return Postponed(
        payment,
        lookup,
        check.now + pause_for_confirmations(lookup.chain.block_time_ms),
        progress_columns(lookup, verdict, facts, check.now, quote),
        looked_up_columns(lookup, verdict, facts, check.finality, check.now),
        provider_columns(lookup, verdict, quote),
        waits_for_block=True,
    )


def timed_out(payment: Payment) -> Failed:
    """The payment has no result after 24 hours."""
    return Failed(payment, FailureCode.VERIFICATION_TIMED_OUT, _TIMED_OUT)


def progress_columns(
    lookup: Lookup, verdict: NotYet, facts: TransactionFacts | None, now: datetime, quote: Quote | None
) -> dict[str, Any]:
    """Return new values for the columns of a payment whose result is not final yet."""
    return {
        **RESPONDED,
        "status_detail": verdict.detail,
        **waiting_columns(lookup, verdict, facts, now, quote),
    }


def looked_up_columns(
    lookup: Lookup, verdict: Paid | NotYet, facts: TransactionFacts | None, finality: Finality, now: datetime
) -> dict[str, Any]:
    """Return new values for the `Lookup` row of a transaction that pays, or whose result is not final yet."""
    return {**sighting_columns(lookup, facts, now), **depth_columns(verdict, finality)}


def failed_columns(failed: Failed, now: datetime) -> dict[str, Any]:
    """Return a failed payment's columns, except its status."""
    message = failed.message
    return {
        "failure_code": failed.code,
        "failure_message": message,
        "status_detail": f"Simulated, no money moved. {message}" if failed.payment.is_simulated else message,
        "unanswered_looks": 0,
        **NOT_HOLDING,
        "failed_at": now,
        **failed.columns,
    }


def failed_lookup(failed: Failed, now: datetime) -> dict[str, Any]:
    """Return the columns of a failed payment's lookup."""
    payment = failed.payment
    is_mined = failed.looked_up.get("block_number", payment.lookup.block_number) is not None
    return {
        **DECIDED,
        # Until the block is final, a reorganisation can reverse the failure.
        "finality_check_at": now + FIRST_FINALITY_CHECK if is_mined and not payment.is_simulated else None,
        **failed.looked_up,
    }


def completed_columns(
    completed: Completed, request: PaymentRequest, received: int, now: datetime, *, carries_others: bool
) -> dict[str, Any]:
    """Return the columns of a payment that completes with `received` base units. Call this before the request is
    credited.

    `carries_others` means that the transaction has unused transfers that may pay another request.
    """
    payment, verdict = completed.payment, completed.verdict
    after_price = crediting.is_after_price(request, payment, paid_at(completed))
    return {
        "amount_received": received,
        "after_price": after_price,
        "carries_others": carries_others,
        "unanswered_looks": 0,
        **NOT_HOLDING,
        "status_detail": verified_detail(payment, request, received, after_price=after_price),
        "completed_at": now,
        "value_due_at": now if request.token.price_as and not request.is_refund else None,
        **paid_columns(completed.lookup, request, verdict.bound, received, completed.quote),
        **({} if completed.lookup.is_delivery else sender_columns(payment, completed.facts, verdict.bound)),
    }


def completed_lookup(completed: Completed, now: datetime) -> dict[str, Any]:
    """Return the columns of a completed payment's lookup."""
    lookup, verdict = completed.lookup, completed.verdict
    return {
        **DECIDED,
        "finality_check_at": None if lookup.is_simulated else now + FIRST_FINALITY_CHECK,
        **looked_up_columns(lookup, verdict, completed.facts, completed.finality, now),
    }


def completed_swap(completed: Completed) -> dict[str, Any]:
    """Return the columns of a completed payment's swap, if it has one."""
    return provider_columns(completed.lookup, completed.verdict, completed.quote)


def paid_at(completed: Completed) -> datetime:
    """Return the time of payment.

    - Usually: the time of the first block in which our nodes saw the transaction, or the delivery of a swap.
    - Transfer that its sender proved afterwards: the time of the proof.
    - Unbound transfer that the merchant accepted: the time of the acceptance.
    """
    lookup, block, bound = completed.lookup, completed.verdict.block, completed.verdict.bound
    if bound.by == Payment.BoundBy.MANUAL and completed.payment.accepted_at is not None:
        return completed.payment.accepted_at
    if bound.proved_at is not None:
        return bound.proved_at
    if lookup.first_block_time is None:
        return block.time
    return min(lookup.first_block_time, block.time)


def verified_detail(payment: Payment, request: PaymentRequest, received: int, *, after_price: bool) -> str:
    """Return the status detail. The detail says how much is unpaid or overpaid, or that the merchant decides because
    the price had expired.
    """
    symbol, decimals = request.token.symbol, request.token.decimals
    lead = "Simulated, no money moved" if payment.is_simulated else "Verified on the chain"
    missing = request.amount - request.net - received
    if after_price and request.is_completable and missing <= 0:
        return f"{lead}; it came after the price had expired, so the merchant decides whether to accept it."
    if missing > 0 and request.status != PaymentRequest.Status.COMPLETED:
        return f"{lead}; {display_amount(missing, decimals)} {symbol} is still to be paid."
    if missing < 0:
        return f"{lead}; {display_amount(-missing, decimals)} {symbol} more than requested."
    return f"{lead}."
