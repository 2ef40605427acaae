"""Store the outcomes of a check: one function for one payment and for many.

Locks are taken in one order by all: requests, payments, consumed transfers, merchants' events. A request is locked by
every change of it or its payments, so that completion, expiry and cancellation never run at the same time.
"""

import copy
import logging
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction

from chains.models import Token
from config.api.log_context import log_context
from config.due_work.leases import FREE
from payments.models import Payment, PaymentRequest
from payments.requests import crediting
from payments.requests.bulk_updates import update_each
from payments.requests.events import announced, credit_event, failed_event
from payments.requests.lifecycle import lock_requests
from payments.requests.transitions import Move, move_payments, move_requests
from payments.requests.watching import tell_watchers
from payments.verification.consumption import Consumption, plan_credits, store_credits
from payments.verification.leasing import lock_held
from payments.verification.outcomes import (
    UNUSABLE,
    Completed,
    Failed,
    Followed,
    Outcome,
    Postponed,
    completed_columns,
    failed_columns,
    if_used,
    paid_at,
    unanswered,
)
from payments.verification.replacements import follow
from webhooks.events import NewEvent, record_events

logger = logging.getLogger(__name__)

# How many payments and transfers one transaction decides. Their requests and merchants are locked until its commit.
AT_ONCE = 100
_TRANSFERS_AT_ONCE = 2000


def store_all(outcomes: Sequence[Outcome], claim_id: uuid.UUID, now: datetime) -> None:
    """Store the outcomes in batches. What a batch could not store is stored again, one payment at a time."""
    for batch in _batches(outcomes):
        written: set[str] = set()
        if len(batch) > 1:
            try:
                written = store(batch, claim_id, now)
            except SoftTimeLimitExceeded:
                raise
            except Exception:
                # Also for a mistake of ours: a failure of one payment must not delay the others.
                logger.warning("storing %d payments one by one", len(batch), exc_info=True)
        for outcome in batch:
            if outcome.payment.pk not in written:
                _store_alone(outcome, claim_id, now)


def store(outcomes: Sequence[Outcome], claim_id: uuid.UUID, now: datetime) -> set[str]:
    """Store the outcomes in one transaction and return the ids of the payments that were written.

    Nothing is written for a payment whose lease was lost or, if there are several, whose request is locked: a batch
    does not wait for another transaction. Payments that are decided must have different requests and transactions, and
    all or none are simulated. The instances in memory don't change.
    """
    with transaction.atomic():
        deciding = {each.payment.request_id for each in outcomes if not isinstance(each, Postponed)}
        requests = lock_requests(deciding, skip_locked=len(outcomes) > 1)
        free = [
            each.payment.pk
            for each in outcomes
            if isinstance(each, Postponed) or each.payment.request_id in requests
        ]
        locked = _Locked(requests, lock_held(free, claim_id), claim_id, now)
        held = [each for each in outcomes if each.payment.pk in locked.next_checks]
        credits = plan_credits(
            [(each.payment, each.verdict.bound.transfers) for each in held if isinstance(each, Completed)]
        )
        rows = [_unless_used(each, credits, now) for each in held]
        events = {
            **_complete([each for each in rows if isinstance(each, Completed)], credits, locked),
            **_fail([each for each in rows if isinstance(each, Failed)], locked),
        }
        for each in rows:
            if isinstance(each, Followed):
                request = requests[each.payment.request_id]
                follow(copy.copy(each.payment), request, each.replacement, claim_id, now)
        _postpone([each for each in rows if isinstance(each, Postponed)], locked)
        new = announced(events.get(each.payment.pk) for each in rows)
        if new:
            record_events(new)
    return set(locked.next_checks)


@dataclass(frozen=True)
class _Locked:
    """The locked requests, and the stored next checks of the locked payments that the claim still holds."""

    requests: Mapping[uuid.UUID, PaymentRequest]
    next_checks: Mapping[str, datetime | None]
    claim_id: uuid.UUID
    now: datetime


def _batches(outcomes: Sequence[Outcome]) -> Iterator[list[Outcome]]:
    """Yield the outcomes in batches for `store`: first all that are postponed, then the others in their order.

    Payments of one request or transaction go into different batches, because the result of one depends on the other.
    """
    postponed: list[Outcome] = [each for each in outcomes if isinstance(each, Postponed)]
    if postponed:
        yield postponed
    rest: list[Outcome] = [each for each in outcomes if not isinstance(each, Postponed)]
    while rest:
        batch: list[Outcome] = []
        later: list[Outcome] = []
        seen: set[object] = set()
        transfers = 0
        for each in rest:
            keys = {each.payment.request_id, each.payment.counted_hash}
            more = len(each.verdict.bound.transfers) if isinstance(each, Completed) else 0
            is_full = len(batch) == AT_ONCE or (batch and transfers + more > _TRANSFERS_AT_ONCE)
            if is_full or not seen.isdisjoint(keys):
                later.append(each)
            else:
                batch.append(each)
                transfers += more
            seen |= keys
        yield batch
        rest = later


def _store_alone(outcome: Outcome, claim_id: uuid.UUID, now: datetime) -> None:
    payment = outcome.payment
    with log_context(payment_id=payment.pk, payment_request_id=payment.request_id):
        try:
            store([outcome], claim_id, now)
        except SoftTimeLimitExceeded:
            raise
        except Exception:
            # Postponing it lets it time out after a day.
            logger.exception("payment %s could not be stored", payment.pk)
            store([unanswered(payment, UNUSABLE, now)], claim_id, now)


def _unless_used(outcome: Outcome, credits: Mapping[str, Consumption], now: datetime) -> Outcome:
    """Return the outcome or, if other payments have consumed all its transfers, what is stored instead."""
    if isinstance(outcome, Completed) and not credits[outcome.payment.pk].received:
        return if_used(outcome, now)
    return outcome


def _complete(
    rows: Sequence[Completed], credits: Mapping[str, Consumption], locked: _Locked
) -> dict[str, NewEvent | None]:
    """Complete these payments, credit their requests, and return the events by payment id."""
    if not rows:
        return {}
    tokens = _tokens(rows)
    columns = {}
    for each in rows:
        consumption = credits[each.payment.pk]
        columns[each.payment.pk] = completed_columns(
            each,
            locked.requests[each.payment.request_id],
            consumption.received,
            locked.now,
            carries_others=_carries_others(each, consumption, tokens[each.payment.counted_chain.pk]),
        )
    payments = _decide(rows, columns, Payment.Status.COMPLETED, locked)
    store_credits([credits[pk] for pk in payments])
    return _credit(rows, payments, locked)


def _credit(
    rows: Sequence[Completed], payments: Mapping[str, Payment], locked: _Locked
) -> dict[str, NewEvent | None]:
    """Credit the requests of these completed payments, move those that are paid in full, and return the events."""
    moves, amounts, event_types = [], {}, {}
    for each in rows:
        payment, request = payments[each.payment.pk], locked.requests[each.payment.request_id]
        event_type = event_types[payment.pk] = crediting.credit(request, payment)
        columns = crediting.credit_columns(request, event_type, locked.now)
        if crediting.completes(request, event_type):
            more = crediting.completion_columns(request, paid_at(each), locked.now)
            moves.append(Move(request, {**columns, **more}, reason=payment.pk))
        else:
            amounts[request.pk] = columns
    written = update_each(PaymentRequest, amounts, guard={})
    written |= move_requests(moves, PaymentRequest.Status.COMPLETED, actor=_actor(rows))
    if len(written) < len(rows):
        raise RuntimeError("a request changed while it was locked")
    return {
        pk: credit_event(event_types[pk], locked.requests[payment.request_id], payment)
        for pk, payment in payments.items()
    }


def _fail(rows: Sequence[Failed], locked: _Locked) -> dict[str, NewEvent | None]:
    """Fail these payments and return the events by payment id."""
    columns = {each.payment.pk: failed_columns(each, locked.now) for each in rows}
    payments = _decide(rows, columns, Payment.Status.FAILED, locked)
    return {
        pk: failed_event(locked.requests[payment.request_id], payment) for pk, payment in payments.items()
    }


def _decide(
    rows: Sequence[Completed | Failed],
    columns: Mapping[str, Mapping[str, object]],
    to: Payment.Status,
    locked: _Locked,
) -> dict[str, Payment]:
    """Move these payments and return copies of them as they are stored now."""
    payments = {each.payment.pk: copy.copy(each.payment) for each in rows}
    moves = [
        Move(
            payments[each.payment.pk], columns[each.payment.pk], each.code if isinstance(each, Failed) else ""
        )
        for each in rows
    ]
    if len(move_payments(moves, to, actor=_actor(rows), held_by=locked.claim_id)) < len(rows):
        raise RuntimeError("a payment changed while it was locked")
    return payments


def _postpone(rows: Sequence[Postponed], locked: _Locked) -> None:
    """Write the next checks and release the leases."""
    columns = {}
    for each in rows:
        stored = locked.next_checks[each.payment.pk]
        # A block that arrived since the lease has brought the check forward.
        is_due_again = each.waits_for_block and stored != each.payment.next_check_at
        next_check = stored if is_due_again else each.next_check
        columns[each.payment.pk] = {**each.columns, **FREE, "next_check_at": next_check}
    guard = {"claim_id": locked.claim_id, "status": Payment.Status.PROCESSING}
    update_each(Payment, columns, guard=guard)
    tell_watchers(*{each.payment.request_id for each in rows})


def _tokens(rows: Sequence[Completed]) -> dict[int, set[str]]:
    """Return the addresses of the tokens by chain."""
    tokens: dict[int, set[str]] = defaultdict(set)
    chains = {each.payment.counted_chain.pk for each in rows}
    for chain_id, address in Token.objects.filter(chain__in=chains).values_list(
        "chain_id", "contract_address"
    ):
        tokens[chain_id].add(address)
    return tokens


def _carries_others(completed: Completed, consumption: Consumption, tokens: set[str]) -> bool:
    """Whether the transaction has transfers left that may pay another request.

    The other transfer need not carry a reference: a payer's proof or the merchant may bind it.
    """
    if completed.facts is None:
        return False
    credited = {transfer.slot for transfer in consumption.transfers}
    recipients = {
        transfer.recipient
        for transfer in completed.facts.transfers
        if transfer.amount > 0 and transfer.token in tokens and transfer.slot not in credited
    }
    chain = completed.payment.counted_chain
    wanted = PaymentRequest.objects.filter(chain=chain, recipient_address__in=recipients)
    return bool(recipients) and wanted.exists()


def _actor(rows: Sequence[Completed | Failed]) -> str:
    return "sandbox" if any(each.payment.is_simulated for each in rows) else "verification"
