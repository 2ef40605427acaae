"""What to store after a swap was polled. Pure functions; `payments.verification.storing` stores the result."""

from datetime import datetime
from typing import Any

from chains.client import TransactionFacts
from payments.evaluation.retry_policy import MAX_MISSED_CHECKS, is_timed_out, pause_after_miss
from payments.evaluation.verdicts import SwapStarted
from payments.models import FailureCode, Lookup, Payment, Quote, swap_of
from payments.providers.base import SwapStatus
from payments.requests.lifecycle import UNMINED_HOLD
from payments.swaps.status import Delivered, Ended, UnderWay, Unproved, shown_status, shown_url
from payments.verification.columns import (
    UNKNOWN,
    block_columns,
    sender_columns,
    sighting_columns,
    swap_columns,
)
from payments.verification.outcomes import RESPONDED, Failed, Postponed

# One confirmation of the customer's transaction is enough: only the delivery is credited.
_CONFIRMATIONS_OF_SWAP_START = 1


def started(
    lookup: Lookup,
    verdict: SwapStarted,
    facts: TransactionFacts | None,
    quote: Quote,
    name: str,
    now: datetime,
) -> Postponed:
    """The customer's transaction is mined, so the swap of `quote` has started. Poll the provider at once."""
    payment = lookup.payment
    swap = swap_of(payment)
    is_known = swap is not None and swap.polls > 0
    detail = payment.status_detail if is_known else f"Sent; checking progress with {name}."
    columns = {
        **RESPONDED,
        **sender_columns(payment, facts),
        **swap_columns(quote),
        "is_bound_unmined": False,
        "likely_failure": "",
        "is_in_flight": payment.is_in_flight or not is_known,
        "status_detail": detail,
    }
    looked_up = {
        **sighting_columns(lookup, facts, now),
        **block_columns(verdict.block),
        "confirmations": verdict.confirmations,
        "confirmations_required": _CONFIRMATIONS_OF_SWAP_START,
    }
    polled = {"provider": quote.provider, "next_poll_at": now}
    return Postponed(payment, lookup, None, columns, looked_up, polled)


def under_way(
    payment: Payment,
    progress: UnderWay,
    status: SwapStatus,
    name: str,
    *,
    next_check: datetime,
    now: datetime,
) -> Failed | Postponed:
    """The swap is in progress, and times out after 24 hours."""
    if is_timed_out(payment, now):
        return timed_out(payment, name)
    columns = {
        **RESPONDED,
        "is_in_flight": not progress.ask_source or _may_hold_request(payment, now),
        "status_detail": progress.detail,
    }
    swap = {**_status_columns(payment, status), "next_poll_at": None if progress.ask_source else next_check}
    lookup = payment.lookup if progress.ask_source else None
    return Postponed(payment, lookup, next_check, columns, swap=swap)


def reported(payment: Payment, delivered: Delivered, status: SwapStatus, name: str) -> Postponed:
    """The provider reports a delivery. Look up the delivery at once."""
    columns = {
        **RESPONDED,
        "is_in_flight": True,
        "status_detail": f"{name} reports a delivery; checking it on the network.",
    }
    swap = {
        **_status_columns(payment, status),
        "reported_amount": delivered.amount,
        "next_poll_at": None,
    }
    return Postponed(payment, None, None, columns, swap=swap, delivery=delivered.transaction_hash)


def unproved(
    payment: Payment,
    rejection: Unproved,
    now: datetime,
    *,
    status: SwapStatus | None = None,
    is_final: bool = False,
    removed: Lookup | None = None,
) -> Failed | Postponed:
    """Our nodes don't confirm the reported delivery.

    The failed check uses a retry. The report may have been wrong, so the provider is polled again. The payment
    fails after the last retry, or at once with `is_final`.

    `removed` is the lookup of a delivery that was mined, but that no node knows now. Its row stays: if the provider
    reports the same transaction again, the first block's time counts.
    """
    columns, swap = (RESPONDED, _status_columns(payment, status)) if status else ({}, {})
    if is_final or payment.attempts >= MAX_MISSED_CHECKS:
        return Failed(payment, rejection.code, rejection.message, columns, swap=swap)
    if is_timed_out(payment, now):
        return Failed(payment, FailureCode.VERIFICATION_TIMED_OUT, rejection.message, columns, swap=swap)
    columns = {
        **columns,
        "is_in_flight": _may_hold_request(payment, now),
        "status_detail": f"{rejection.message} Checking again.",
    }
    swap = {
        **swap,
        "attempts": payment.swap.attempts + 1,
        "reported_amount": None,
        "next_poll_at": now + pause_after_miss(payment.attempts),
    }
    if removed is not None:
        return Postponed(payment, removed, None, columns, UNKNOWN, swap=swap)
    return Postponed(payment, None, None, columns, swap=swap, delivery="")


def ended(payment: Payment, end: Ended, status: SwapStatus) -> Failed:
    """The provider reports that nothing will be delivered."""
    return Failed(payment, end.code, end.message, RESPONDED, swap=_status_columns(payment, status))


def silent(payment: Payment, name: str, *, next_check: datetime, now: datetime) -> Failed | Postponed:
    """The provider did not respond. Poll it again. The swap times out after 24 hours."""
    if is_timed_out(payment, now):
        return timed_out(payment, name)
    since = payment.unanswered_since or now
    columns = {
        "unanswered_looks": payment.unanswered_looks + 1,
        "unanswered_since": since,
        "status_detail": f"{name} has not answered since {since:%H:%M} UTC; trying again.",
    }
    return Postponed(payment, None, None, columns, swap={"next_poll_at": next_check})


def timed_out(payment: Payment, name: str) -> Failed:
    """The swap is undecided after 24 hours."""
    message = f"{name} has not delivered within 24 hours. You can retry the payment."
    return Failed(payment, FailureCode.VERIFICATION_TIMED_OUT, message)


def _may_hold_request(payment: Payment, now: datetime) -> bool:
    """Whether a swap that its provider doesn't confirm still keeps its request open.

    An unconfirmed swap keeps its request open as long as an unmined transaction would. A longer time would be unsafe:
    anyone can send a call that contains a quote's id but doesn't pay the recipient.
    """
    return now < min(payment.created_at, payment.request.expires_at) + UNMINED_HOLD


def _status_columns(payment: Payment, status: SwapStatus) -> dict[str, Any]:
    swap = swap_of(payment)
    return {
        "provider_status": shown_status(status.raw),
        "provider_url": shown_url(status.explorer_url) or (swap.provider_url if swap else ""),
        "polls": (swap.polls if swap else 0) + 1,
    }
