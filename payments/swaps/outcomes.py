"""Store the progress of swaps. As in `payments.verification.outcomes`, each write is guarded by the claim id."""

import uuid
from datetime import datetime
from typing import Any

from chains.client import TransactionFacts
from payments.evaluation.verdicts import SwapStarted
from payments.models import FailureCode, Payment, Quote
from payments.providers.base import SwapStatus
from payments.requests.lifecycle import UNMINED_HOLD
from payments.swaps.status import Delivered, Ended, UnderWay, Unproved, shown_status, shown_url
from payments.verification import outcomes
from payments.verification.columns import NO_DELIVERY, sighting_columns, swap_columns
from payments.verification.leasing import postpone
from payments.verification.retry_policy import MAX_MISSED_CHECKS, is_timed_out, pause_after_miss

# One confirmation of the customer's transaction is enough, because only the delivery is credited.
_CONFIRMATIONS_OF_SWAP_START = 1


def start_bridging(
    payment: Payment,
    claim_id: uuid.UUID,
    verdict: SwapStarted,
    facts: TransactionFacts | None,
    quote: Quote,
    name: str,
    now: datetime,
) -> None:
    """Store that the transaction is mined and started the swap of `quote`; the provider is polled at once."""
    postpone(
        payment,
        claim_id,
        now,
        **sighting_columns(payment, facts, now),
        **swap_columns(quote),
        is_bound_unmined=False,
        likely_failure="",
        block_number=verdict.block.number,
        block_hash=verdict.block.hash,
        block_time=verdict.block.time,
        confirmations=verdict.confirmations,
        confirmations_required=_CONFIRMATIONS_OF_SWAP_START,
        is_in_flight=payment.is_in_flight or payment.bridge_looks == 0,
        is_bridging=True,
        unanswered_looks=0,
        unanswered_since=None,
        status_detail=payment.status_detail
        if payment.bridge_looks
        else f"Sent; checking progress with {name}.",
    )


def keep_following(
    payment: Payment,
    claim_id: uuid.UUID,
    progress: UnderWay,
    status: SwapStatus,
    name: str,
    *,
    next_check: datetime,
    now: datetime,
) -> None:
    """Store the status of a swap that is still in progress; time out after 24 hours."""
    if is_timed_out(payment, now):
        time_out(payment, claim_id, name, now)
        return
    postpone(
        payment,
        claim_id,
        next_check,
        **_status_columns(payment, status),
        is_bridging=not progress.ask_source,
        is_in_flight=not progress.ask_source or _may_hold_request(payment, now),
        status_detail=progress.detail,
    )


def look_for_delivery(
    payment: Payment, claim_id: uuid.UUID, delivered: Delivered, status: SwapStatus, name: str, now: datetime
) -> None:
    """Store the reported delivery, and make the payment due at once so that the engine looks it up."""
    postpone(
        payment,
        claim_id,
        now,
        **_status_columns(payment, status),
        **{
            **NO_DELIVERY,
            "destination_transaction_hash": delivered.transaction_hash,
            "reported_amount": delivered.amount,
        },
        is_in_flight=True,
        status_detail=f"{name} reports a delivery; checking it on the network.",
    )


def reject_delivery(
    payment: Payment,
    claim_id: uuid.UUID,
    rejection: Unproved,
    now: datetime,
    *,
    status: SwapStatus | None = None,
    is_final: bool = False,
) -> None:
    """Use one retry, because our nodes don't confirm the reported delivery; fail the payment after the last.

    The provider is polled again, as its report may have been wrong. With `is_final`, the payment fails at once.
    """
    columns = _status_columns(payment, status) if status else {}
    if is_final or payment.attempts >= MAX_MISSED_CHECKS:
        outcomes.fail(payment, claim_id, rejection.code, rejection.message, now, columns=columns)
        return
    if is_timed_out(payment, now):
        code = FailureCode.VERIFICATION_TIMED_OUT
        outcomes.fail(payment, claim_id, code, rejection.message, now, columns=columns)
        return
    postpone(
        payment,
        claim_id,
        now + pause_after_miss(payment.attempts),
        **columns,
        **NO_DELIVERY,
        attempts=payment.attempts + 1,
        is_in_flight=_may_hold_request(payment, now),
        status_detail=f"{rejection.message} Checking again.",
    )


def end(payment: Payment, claim_id: uuid.UUID, ended: Ended, status: SwapStatus, now: datetime) -> None:
    """Fail the payment because its provider reports that nothing will be delivered."""
    columns = _status_columns(payment, status)
    outcomes.fail(payment, claim_id, ended.code, ended.message, now, columns=columns)


def keep_silent(
    payment: Payment, claim_id: uuid.UUID, name: str, *, next_check: datetime, now: datetime
) -> None:
    """Poll again later because the provider did not answer; time out after 24 hours."""
    if is_timed_out(payment, now):
        time_out(payment, claim_id, name, now)
        return
    since = payment.unanswered_since or now
    postpone(
        payment,
        claim_id,
        next_check,
        unanswered_looks=payment.unanswered_looks + 1,
        unanswered_since=since,
        status_detail=f"{name} has not answered since {since:%H:%M} UTC; trying again.",
    )


def _may_hold_request(payment: Payment, now: datetime) -> bool:
    """Whether a swap that its provider does not confirm still holds its request open, as long as an unmined one does.

    Anyone can send a call that names a quote but pays nothing, or pays another recipient.
    """
    return now < min(payment.created_at, payment.request.expires_at) + UNMINED_HOLD


def time_out(payment: Payment, claim_id: uuid.UUID, name: str, now: datetime) -> None:
    """Fail a swap that is undecided after 24 hours."""
    message = f"{name} has not delivered within 24 hours. You can retry the payment."
    outcomes.fail(payment, claim_id, FailureCode.VERIFICATION_TIMED_OUT, message, now)


def put_off(payment: Payment, claim_id: uuid.UUID, until: datetime) -> None:
    """Release the lease without polling; the swap is due again at `until`."""
    postpone(payment, claim_id, until)


def _status_columns(payment: Payment, status: SwapStatus) -> dict[str, Any]:
    """Return the columns for a provider's status."""
    return {
        "provider_status": shown_status(status.raw),
        "provider_url": shown_url(status.explorer_url) or payment.provider_url,
        "bridge_looks": payment.bridge_looks + 1,
        "unanswered_looks": 0,
        "unanswered_since": None,
    }
