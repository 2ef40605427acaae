"""The outcomes of following a swap. Pure: `payments.verification.storing` stores them."""

from datetime import datetime
from typing import Any

from chains.client import TransactionFacts
from payments.evaluation.verdicts import SwapStarted
from payments.models import FailureCode, Payment, Quote
from payments.providers.base import SwapStatus
from payments.requests.lifecycle import UNMINED_HOLD
from payments.swaps.status import Delivered, Ended, UnderWay, Unproved, shown_status, shown_url
from payments.verification.columns import NO_DELIVERY, sighting_columns, swap_columns
from payments.verification.outcomes import Failed, Postponed
from payments.verification.retry_policy import MAX_MISSED_CHECKS, is_timed_out, pause_after_miss

# One confirmation of the customer's transaction is enough, because only the delivery is credited.
_CONFIRMATIONS_OF_SWAP_START = 1


def started(
    payment: Payment,
    verdict: SwapStarted,
    facts: TransactionFacts | None,
    quote: Quote,
    name: str,
    now: datetime,
) -> Postponed:
    """Return the outcome of a mined transaction that started the swap of `quote`; the provider is polled at once."""
    detail = payment.status_detail if payment.bridge_looks else f"Sent; checking progress with {name}."
    columns = {
        **sighting_columns(payment, facts, now),
        **swap_columns(quote),
        "is_bound_unmined": False,
        "likely_failure": "",
        "block_number": verdict.block.number,
        "block_hash": verdict.block.hash,
        "block_time": verdict.block.time,
        "confirmations": verdict.confirmations,
        "confirmations_required": _CONFIRMATIONS_OF_SWAP_START,
        "is_in_flight": payment.is_in_flight or payment.bridge_looks == 0,
        "is_bridging": True,
        "unanswered_looks": 0,
        "unanswered_since": None,
        "status_detail": detail,
    }
    return Postponed(payment, now, columns)


def under_way(
    payment: Payment,
    progress: UnderWay,
    status: SwapStatus,
    name: str,
    *,
    next_check: datetime,
    now: datetime,
) -> Failed | Postponed:
    """Return the outcome of a swap that is still in progress; it times out after 24 hours."""
    if is_timed_out(payment, now):
        return timed_out(payment, name)
    columns = {
        **_status_columns(payment, status),
        "is_bridging": not progress.ask_source,
        "is_in_flight": not progress.ask_source or _may_hold_request(payment, now),
        "status_detail": progress.detail,
    }
    return Postponed(payment, next_check, columns)


def reported(
    payment: Payment, delivered: Delivered, status: SwapStatus, name: str, now: datetime
) -> Postponed:
    """Return the outcome of a reported delivery: the payment is due at once, so that the engine looks it up."""
    columns = {
        **_status_columns(payment, status),
        **NO_DELIVERY,
        "destination_transaction_hash": delivered.transaction_hash,
        "reported_amount": delivered.amount,
        "is_in_flight": True,
        "status_detail": f"{name} reports a delivery; checking it on the network.",
    }
    return Postponed(payment, now, columns)


def unproved(
    payment: Payment,
    rejection: Unproved,
    now: datetime,
    *,
    status: SwapStatus | None = None,
    is_final: bool = False,
) -> Failed | Postponed:
    """Return the outcome of a reported delivery that our nodes don't confirm: use a retry, or fail after the last.

    The provider is polled again, as its report may have been wrong. With `is_final`, the payment fails at once.
    """
    columns = _status_columns(payment, status) if status else {}
    if is_final or payment.attempts >= MAX_MISSED_CHECKS:
        return Failed(payment, rejection.code, rejection.message, columns)
    if is_timed_out(payment, now):
        return Failed(payment, FailureCode.VERIFICATION_TIMED_OUT, rejection.message, columns)
    columns |= {
        **NO_DELIVERY,
        "attempts": payment.attempts + 1,
        "is_in_flight": _may_hold_request(payment, now),
        "status_detail": f"{rejection.message} Checking again.",
    }
    return Postponed(payment, now + pause_after_miss(payment.attempts), columns)


def ended(payment: Payment, end: Ended, status: SwapStatus) -> Failed:
    """Return the outcome of a swap whose provider reports that nothing will be delivered."""
    return Failed(payment, end.code, end.message, _status_columns(payment, status))


def silent(payment: Payment, name: str, *, next_check: datetime, now: datetime) -> Failed | Postponed:
    """Return the outcome if the provider did not answer: it is polled again, but the swap times out after 24 hours."""
    if is_timed_out(payment, now):
        return timed_out(payment, name)
    since = payment.unanswered_since or now
    columns = {
        "unanswered_looks": payment.unanswered_looks + 1,
        "unanswered_since": since,
        "status_detail": f"{name} has not answered since {since:%H:%M} UTC; trying again.",
    }
    return Postponed(payment, next_check, columns)


def timed_out(payment: Payment, name: str) -> Failed:
    """Return the outcome of a swap that is undecided after 24 hours."""
    message = f"{name} has not delivered within 24 hours. You can retry the payment."
    return Failed(payment, FailureCode.VERIFICATION_TIMED_OUT, message)


def _may_hold_request(payment: Payment, now: datetime) -> bool:
    """Whether a swap that its provider does not confirm still holds its request open, as long as an unmined one does.

    Anyone can send a call that names a quote but pays nothing, or pays another recipient.
    """
    return now < min(payment.created_at, payment.request.expires_at) + UNMINED_HOLD


def _status_columns(payment: Payment, status: SwapStatus) -> dict[str, Any]:
    """Return the columns for a provider's status."""
    return {
        "provider_status": shown_status(status.raw),
        "provider_url": shown_url(status.explorer_url) or payment.provider_url,
        "bridge_looks": payment.bridge_looks + 1,
        "unanswered_looks": 0,
        "unanswered_since": None,
    }
