"""The outcomes of a check and the columns that they write. Pure: `payments.verification.storing` stores them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from chains.amounts import display_amount
from chains.client import ChainError, TransactionFacts
from config.due_work.leases import FREE
from payments.evaluation.verdicts import Finality, NotYet, Paid, Refused
from payments.models import FailureCode, Payment, PaymentRequest, Quote
from payments.requests import crediting
from payments.verification.columns import (
    UNKNOWN,
    block_columns,
    paid_columns,
    refusal_columns,
    sighting_columns,
    waiting_columns,
)
from payments.verification.evidence import ChainCheck
from payments.verification.retry_policy import (
    MAX_MISSED_CHECKS,
    is_timed_out,
    pause_after_miss,
    pause_after_no_answer,
    pause_for_confirmations,
)

# When a completed or failed payment is first checked for finality of its block.
FIRST_FINALITY_CHECK = timedelta(minutes=2)

# For a payment that could not be evaluated or stored.
UNUSABLE = ChainError("the response could not be used")
_ALREADY_USED = "This transaction has already been used to pay another request."
_NOT_FOUND = (
    "The network does not know this transaction. It may never have been sent, or was replaced by another."
)
_TIMED_OUT = "The transaction could not be confirmed within 24 hours. You can retry the payment."


@dataclass(frozen=True)
class Completed:
    """The transaction pays the request; `quote` is the quote that it names.

    `if_used` returns what is stored instead if other payments have consumed all its transfers. Without it, the payment
    fails as `transaction_already_used`.
    """

    payment: Payment
    verdict: Paid
    facts: TransactionFacts | None
    finality: Finality
    quote: Quote | None = None
    if_used: Callable[[], "Failed | Postponed"] | None = None


@dataclass(frozen=True)
class Failed:
    """The payment fails; `columns` are written as well."""

    payment: Payment
    code: FailureCode
    message: str
    columns: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Postponed:
    """The payment stays open and is checked again at `next_check`; `columns` are written as well.

    With `waits_for_block`, a block that arrived during the check keeps the payment due.
    """

    payment: Payment
    next_check: datetime
    columns: Mapping[str, Any] = field(default_factory=dict)
    waits_for_block: bool = False


@dataclass(frozen=True)
class Followed:
    """The payment continues with a replacement of its transaction that has the same effect."""

    payment: Payment
    replacement: TransactionFacts


Outcome = Completed | Failed | Postponed | Followed


def refused(payment: Payment, verdict: Refused, facts: TransactionFacts | None, now: datetime) -> Failed:
    """Return the outcome of a transaction that does not pay the request."""
    columns = refusal_columns(payment, facts, verdict.arrived, now)
    return Failed(payment, verdict.code, verdict.message, columns)


def if_used(completed: Completed, now: datetime) -> Failed | Postponed:
    """Return the outcome of a paid payment if other payments have consumed all its transfers."""
    if completed.if_used is not None:
        return completed.if_used()
    verdict = Refused(FailureCode.TRANSACTION_ALREADY_USED, _ALREADY_USED)
    return refused(completed.payment, verdict, completed.facts, now)


def missing(payment: Payment, now: datetime) -> Failed | Postponed:
    """Return the outcome of a transaction that healthy nodes don't know: use a retry, or fail after the last."""
    if payment.attempts >= MAX_MISSED_CHECKS:
        return Failed(payment, FailureCode.TRANSACTION_NOT_FOUND, _NOT_FOUND)
    detail = (
        "The network no longer knows the transaction; checking again."
        if payment.is_seen
        else "Not seen on the network yet; checking again."
    )
    columns = {
        "attempts": payment.attempts + 1,
        "unanswered_looks": 0,
        "unanswered_since": None,
        "status_detail": detail,
        **UNKNOWN,
    }
    return Postponed(payment, now + pause_after_miss(payment.attempts), columns)


def unanswered(payment: Payment, error: ChainError, now: datetime) -> Failed | Postponed:
    """Return the outcome if no node gave a usable response: no retry is used, but it times out after 24 hours."""
    if is_timed_out(payment, now):
        return timed_out(payment)
    since = payment.unanswered_since or now
    columns = {
        "unanswered_looks": payment.unanswered_looks + 1,
        "unanswered_since": since,
        "status_detail": f"The network's nodes have not answered since {since:%H:%M} UTC; asking again.",
    }
    pause = pause_after_no_answer(payment.unanswered_looks, error.retry_after)
    return Postponed(payment, now + pause, columns)


def waiting(
    payment: Payment,
    verdict: NotYet,
    facts: TransactionFacts | None,
    check: ChainCheck,
    quote: Quote | None = None,
) -> Failed | Postponed:
    """Return the outcome of a transaction that can't be counted yet; it times out after 24 hours.

    `quote` is the quote that the transaction names.
    """
    if is_timed_out(payment, check.now):
        return timed_out(payment)
    next_check = check.now + pause_for_confirmations(payment.counted_chain.block_time_ms)
    columns = progress_columns(payment, verdict, facts, check.finality, check.now, quote)
    return Postponed(payment, next_check, columns, waits_for_block=True)


def timed_out(payment: Payment) -> Failed:
    """Return the outcome of a payment that is undecided after 24 hours."""
    return Failed(payment, FailureCode.VERIFICATION_TIMED_OUT, _TIMED_OUT)


def progress_columns(
    payment: Payment,
    verdict: NotYet,
    facts: TransactionFacts | None,
    finality: Finality,
    now: datetime,
    quote: Quote | None,
) -> dict[str, Any]:
    """Return the columns of a payment whose transaction can't be counted yet."""
    return {
        "unanswered_looks": 0,
        "unanswered_since": None,
        "status_detail": verdict.detail,
        **waiting_columns(payment, verdict, facts, now, quote),
        **block_columns(payment, verdict, finality),
    }


def failed_columns(failed: Failed, now: datetime) -> dict[str, Any]:
    """Return the columns of a failed payment, except its status."""
    payment, message = failed.payment, failed.message
    is_mined = failed.columns.get("block_number", payment.block_number) is not None
    return {
        "failure_code": failed.code,
        "failure_message": message,
        "status_detail": f"Simulated, no money moved. {message}" if payment.is_simulated else message,
        "unanswered_looks": 0,
        "is_in_flight": False,
        "is_bound_unmined": False,
        "likely_failure": "",
        "is_bridging": False,
        "failed_at": now,
        "next_check_at": None,
        # Until its block is final, a reorganisation can reverse the failure.
        "finality_check_at": now + FIRST_FINALITY_CHECK if is_mined and not payment.is_simulated else None,
        **FREE,
        **failed.columns,
    }


def completed_columns(
    completed: Completed, request: PaymentRequest, received: int, now: datetime, *, carries_others: bool
) -> dict[str, Any]:
    """Return the columns of a payment that completes with `received` base units, before the request is credited.

    `carries_others`: the transaction has transfers left that may pay another request.
    """
    payment, verdict = completed.payment, completed.verdict
    after_price = crediting.is_after_price(request, payment, paid_at(completed))
    return {
        "amount_received": received,
        "after_price": after_price,
        "carries_others": carries_others,
        "unanswered_looks": 0,
        "is_in_flight": False,
        "is_bound_unmined": False,
        "likely_failure": "",
        "is_bridging": False,
        "status_detail": _verified(payment, request, received, after_price=after_price),
        "completed_at": now,
        "value_due_at": now if request.token.price_as and not request.is_refund else None,
        "next_check_at": None,
        "finality_check_at": None if payment.is_simulated else now + FIRST_FINALITY_CHECK,
        **FREE,
        **paid_columns(payment, request, verdict.bound, received, completed.quote),
        **block_columns(payment, verdict, completed.finality),
        **({} if payment.has_delivery else sighting_columns(payment, completed.facts, now)),
    }


def paid_at(completed: Completed) -> datetime:
    """Return the time of the first block in which our nodes saw the transfer or, for a delivery, of its block."""
    payment, block = completed.payment, completed.verdict.block
    if payment.has_delivery or payment.first_block_time is None:
        return block.time
    return min(payment.first_block_time, block.time)


def _verified(payment: Payment, request: PaymentRequest, received: int, *, after_price: bool) -> str:
    """Return the status detail: paid in full, what remains, how much was overpaid, or that the price had expired."""
    symbol, decimals = request.token.symbol, request.token.decimals
    lead = "Simulated, no money moved" if payment.is_simulated else "Verified on the chain"
    if after_price:
        return f"{lead}; it came after the price had expired, so the merchant decides whether to accept it."
    missing = request.amount - request.net - received
    if missing > 0 and request.status != PaymentRequest.Status.COMPLETED:
        return f"{lead}; {display_amount(missing, decimals)} {symbol} is still to be paid."
    if missing < 0:
        return f"{lead}; {display_amount(-missing, decimals)} {symbol} more than requested."
    return f"{lead}."
