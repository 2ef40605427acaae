"""Complete many payments in one transaction, with the same rows as `payments.verification.outcomes.complete` writes.

Only the usual case is completed here: a direct payment whose transaction no payment was credited with yet, and whose
request no other transaction has locked. What is unusual, or changes meanwhile, is returned, and the caller completes it
alone. Locks are taken in one order by all: requests, payments, credits, merchants' events.
"""

import copy
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction

from chains.client import TransactionFacts
from chains.models import Chain, Token
from payments.evaluation.verdicts import Paid
from payments.models import Payment, PaymentRequest, Quote
from payments.requests import crediting
from payments.requests.bulk_updates import update_each
from payments.requests.events import announced, credit_event
from payments.requests.lifecycle import lock_free_requests
from payments.requests.transitions import Move, move_payments, move_requests
from payments.verification import outcomes
from payments.verification.checks import ChainCheck
from payments.verification.consumption import Consumption, plan_first_credits, store_credits
from webhooks.event_types import EventType
from webhooks.events import record_events

logger = logging.getLogger(__name__)

# How many payments one transaction completes. Their requests and merchants are locked until its commit.
AT_ONCE = 100
# A transaction with more transfers is completed alone: storing them would hold up the others.
_MOST_TRANSFERS = 20
_ACTOR = "verification"


@dataclass(frozen=True)
class Completion:
    """A payment that its transaction pays; `quote` is the quote that the transaction names."""

    payment: Payment
    verdict: Paid
    facts: TransactionFacts | None
    quote: Quote | None


class _Conflict(Exception):
    """A row is not as the batch expects, so the batch is undone."""


def complete_together(completions: Sequence[Completion], check: ChainCheck, chain: Chain) -> list[Completion]:
    """Complete the payments on `chain` in batches and return those that have to be completed alone.

    A payment whose lease was lost is not returned: nothing may be written for it.
    """
    usual = [each for each in completions if _is_usual(each)]
    left = [each for each in completions if not _is_usual(each)]
    tokens = frozenset(Token.objects.filter(chain=chain).values_list("contract_address", flat=True))
    for start in range(0, len(usual), AT_ONCE):
        batch = usual[start : start + AT_ONCE]
        try:
            with transaction.atomic():
                left += _complete(batch, check, tokens)
        except SoftTimeLimitExceeded:
            raise
        except Exception:
            # Also for a mistake of ours: what is completed alone doesn't depend on the batch.
            logger.warning("completing a batch of %d payments one by one", len(batch), exc_info=True)
            left += batch
    return left


def _is_usual(completion: Completion) -> bool:
    transfers = completion.verdict.bound.transfers
    has_distinct_slots = len({transfer.slot for transfer in transfers}) == len(transfers)
    return (
        not completion.payment.has_delivery
        and not completion.payment.is_simulated
        and len(transfers) <= _MOST_TRANSFERS
        and has_distinct_slots
    )


def _complete(batch: Sequence[Completion], check: ChainCheck, tokens: frozenset[str]) -> list[Completion]:
    """Complete the batch inside the caller's transaction; return those that have to be completed alone."""
    requests = lock_free_requests([each.payment.request_id for each in batch])
    planned = {
        consumption.payment.pk: consumption
        for consumption in plan_first_credits(
            [
                (each.payment, each.verdict.bound.transfers)
                for each in batch
                if each.payment.request_id in requests
            ]
        )
        if consumption.received
    }
    ready = [each for each in batch if each.payment.pk in planned]
    # On copies: if the batch is undone, the payments are completed alone as they were.
    paid = {each.payment.pk: copy.copy(each.payment) for each in ready}
    moves = [
        Move(
            paid[each.payment.pk],
            _payment_columns(
                each, requests[each.payment.request_id], planned[each.payment.pk], check, tokens
            ),
        )
        for each in ready
    ]
    moved = move_payments(moves, Payment.Status.COMPLETED, actor=_ACTOR, held_by=check.claim_id)
    completed = [each for each in ready if each.payment.pk in moved]
    store_credits([planned[each.payment.pk] for each in completed])
    _credit(completed, paid, requests, check)
    return [each for each in batch if each.payment.pk not in planned]


def _payment_columns(
    completion: Completion,
    request: PaymentRequest,
    consumption: Consumption,
    check: ChainCheck,
    tokens: frozenset[str],
) -> dict[str, object]:
    credited = {transfer.slot for transfer in consumption.transfers}
    return outcomes.completion_columns(
        completion.payment,
        request,
        completion.verdict,
        completion.facts,
        check.finality,
        check.now,
        received=consumption.received,
        quote=completion.quote,
        carries_others=outcomes.carries_others(
            completion.payment, completion.facts, tokens=tokens, credited=credited
        ),
    )


def _credit(
    completed: Sequence[Completion],
    paid: dict[str, Payment],
    requests: dict[uuid.UUID, PaymentRequest],
    check: ChainCheck,
) -> None:
    """Credit the requests of these completed payments, move those that are paid in full, and record the events."""
    event_types: dict[str, EventType] = {}
    moves, amounts = [], {}
    for each in completed:
        payment, request = paid[each.payment.pk], requests[each.payment.request_id]
        event_type = event_types[payment.pk] = crediting.credit(request, payment)
        columns = crediting.credit_columns(request, event_type, check.now)
        if crediting.completes(request, event_type):
            paid_at = outcomes.paid_at(each.payment, each.verdict)
            more = crediting.completion_columns(request, paid_at, check.now)
            moves.append(Move(request, {**columns, **more}, reason=payment.pk))
        else:
            amounts[request.pk] = columns
    written = update_each(PaymentRequest, amounts, guard={})
    written |= move_requests(moves, PaymentRequest.Status.COMPLETED, actor=_ACTOR)
    if len(written) < len(completed):
        raise _Conflict("a request changed while it was locked")
    credited = (
        credit_event(event_types[pk], requests[payment.request_id], payment) for pk, payment in paid.items()
    )
    record_events(announced(credited))
