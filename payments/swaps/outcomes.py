"""Writing how far a swap has come: as in `outcomes`, in one transaction each, guarded by the worker's claim."""

import uuid
from datetime import datetime
from typing import Any

from chains.client import TransactionFacts
from payments.evaluation.verdicts import Departed
from payments.models import FailureCode, Payment, Quote
from payments.providers.base import SwapStatus
from payments.requests.lifecycle import UNMINED_HOLD
from payments.swaps.status import Delivered, Ended, UnderWay, Unproved, shown_url, shown_word
from payments.verification import outcomes
from payments.verification.columns import NO_DELIVERY, sighting_columns, swap_columns
from payments.verification.retry_policy import MAX_RETRIES_OF_LOOKS, before_next_try, is_over

# On the customer's side a block is enough: it is the delivery that has to lie deep.
_CONFIRMATIONS_OF_A_DEPARTURE = 1


def start_bridging(
    payment: Payment,
    claim_id: uuid.UUID,
    verdict: Departed,
    facts: TransactionFacts | None,
    quote: Quote,
    name: str,
    now: datetime,
) -> None:
    """Note that the transaction is mined and is the request's swap by `quote`; its provider is asked at once."""
    outcomes.postpone(
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
        confirmations_required=_CONFIRMATIONS_OF_A_DEPARTURE,
        is_in_flight=payment.is_in_flight or payment.bridge_looks == 0,
        is_bridging=True,
        unanswered_looks=0,
        unanswered_since=None,
        status_detail=payment.status_detail
        if payment.bridge_looks
        else f"Sent; asking {name} how far it is.",
    )


def keep_following(
    payment: Payment,
    claim_id: uuid.UUID,
    word: UnderWay,
    status: SwapStatus,
    name: str,
    *,
    next_look: datetime,
    now: datetime,
) -> None:
    """Note the provider's word on a swap that goes on, for 24 hours at most."""
    if is_over(payment, now):
        time_out(payment, claim_id, name, now)
        return
    outcomes.postpone(
        payment,
        claim_id,
        next_look,
        **_said(payment, status),
        is_bridging=not word.ask_source,
        is_in_flight=not word.ask_source or _is_new(payment, now),
        status_detail=word.detail,
    )


def look_for_delivery(
    payment: Payment, claim_id: uuid.UUID, word: Delivered, status: SwapStatus, name: str, now: datetime
) -> None:
    """Have the chain asked at once about the transaction that the provider names."""
    outcomes.postpone(
        payment,
        claim_id,
        now,
        **_said(payment, status),
        **{
            **NO_DELIVERY,
            "destination_transaction_hash": word.transaction_hash,
            "reported_amount": word.amount,
        },
        is_in_flight=True,
        status_detail=f"{name} says that it has delivered; looking for it on the network.",
    )


def reject_delivery(
    payment: Payment,
    claim_id: uuid.UUID,
    why: Unproved,
    now: datetime,
    *,
    status: SwapStatus | None = None,
    is_final: bool = False,
) -> None:
    """Use one retry, since no node of ours bears out that the swap was delivered; give up after the last.

    The provider is asked again, as it may have been wrong. With `is_final` nothing that it could say would help.
    """
    said = _said(payment, status) if status else {}
    if is_final or payment.attempts >= MAX_RETRIES_OF_LOOKS:
        outcomes.fail(payment, claim_id, why.code, why.message, now, columns=said)
        return
    if is_over(payment, now):
        outcomes.fail(payment, claim_id, FailureCode.VERIFICATION_TIMED_OUT, why.message, now, columns=said)
        return
    outcomes.postpone(
        payment,
        claim_id,
        now + before_next_try(payment.attempts),
        **said,
        **NO_DELIVERY,
        attempts=payment.attempts + 1,
        is_in_flight=_is_new(payment, now),
        status_detail=f"{why.message} Looking again.",
    )


def end(payment: Payment, claim_id: uuid.UUID, word: Ended, status: SwapStatus, now: datetime) -> None:
    """Fail the payment by the provider's word, and tell the merchant."""
    outcomes.fail(payment, claim_id, word.code, word.message, now, columns=_said(payment, status))


def keep_silent(
    payment: Payment, claim_id: uuid.UUID, name: str, *, next_look: datetime, now: datetime
) -> None:
    """Wait for the provider to answer, for 24 hours at most."""
    if is_over(payment, now):
        time_out(payment, claim_id, name, now)
        return
    since = payment.unanswered_since or now
    outcomes.postpone(
        payment,
        claim_id,
        next_look,
        unanswered_looks=payment.unanswered_looks + 1,
        unanswered_since=since,
        status_detail=f"{name} has not answered since {since:%H:%M} UTC; asking again.",
    )


def _is_new(payment: Payment, now: datetime) -> bool:
    """Whether a swap of which nothing is to be expected may still hold its request open: as long as an unmined one may.

    Anybody can name a quote in a call that pays for nothing, or somebody else, and a price is no free option.
    """
    return now < min(payment.created_at, payment.request.expires_at) + UNMINED_HOLD


def time_out(payment: Payment, claim_id: uuid.UUID, name: str, now: datetime) -> None:
    """Give a swap up that had no end for 24 hours."""
    message = f"{name} has not delivered within 24 hours. It can be looked at again."
    outcomes.fail(payment, claim_id, FailureCode.VERIFICATION_TIMED_OUT, message, now)


def put_off(payment: Payment, claim_id: uuid.UUID, until: datetime) -> None:
    """Give the claim back unused; the provider is asked at `until`."""
    outcomes.postpone(payment, claim_id, until)


def _said(payment: Payment, status: SwapStatus) -> dict[str, Any]:
    """Return the columns that keep what the provider said."""
    return {
        "provider_status": shown_word(status.raw),
        "provider_url": shown_url(status.explorer_url) or payment.provider_url,
        "bridge_looks": payment.bridge_looks + 1,
        "unanswered_looks": 0,
        "unanswered_since": None,
    }
