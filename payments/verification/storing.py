"""Store the outcomes of a check, for one payment or many.

All code takes locks in this order: requests, lookups and swaps, payments, consumed transfers, merchants' events.
Every change of a request or of its payments locks the request. So completion, expiry and cancellation never happen
at the same time.
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
from payments.coins.awaiting import LOOK_PAUSE, awaits_balance, make_look_due
from payments.models import (
    DepositAddress,
    FailureCode,
    Lookup,
    Payment,
    PaymentRequest,
    Solver,
    Swap,
    delivery_of,
    swap_of,
)
from payments.requests import crediting
from payments.requests.bulk_updates import update_each
from payments.requests.events import announced, credit_event, failed_event
from payments.requests.lifecycle import lock_requests
from payments.requests.transitions import Move, complete_requests, move_payments
from payments.requests.watching import tell_watchers
from payments.verification.consumption import Consumption, plan_credits, store_credits
from payments.verification.leasing import lock_held
from payments.verification.outcomes import (
    DECIDED,
    UNUSABLE,
    Attached,
    Completed,
    Failed,
    Followed,
    Outcome,
    Postponed,
    Unexecuted,
    completed_columns,
    completed_lookup,
    completed_swap,
    failed_columns,
    failed_lookup,
    if_used,
    paid_at,
    unanswered,
)
from payments.verification.reopening import search_again
from payments.verification.replacements import follow, join_difference
from webhooks.events import NewEvent, record_events

logger = logging.getLogger(__name__)

# The maximum number of payments and transfers in one transaction. Until its commit, their requests and merchants are
# locked.
AT_ONCE = 100
_TRANSFERS_AT_ONCE = 2000


def store_all(outcomes: Sequence[Outcome], claim_id: uuid.UUID, now: datetime) -> None:
    """Store the outcomes in batches. If a batch fails, store its payments one at a time."""
    for batch in _batches(outcomes):
        written: set[str] = set()
        if len(batch) > 1:
            try:
                written = store(batch, claim_id, now)
            except SoftTimeLimitExceeded:
                raise
            except Exception:
                # Catch our own bugs too, because the failure of one payment must not delay the others.
                logger.warning("storing %d payments one by one", len(batch), exc_info=True)
        for outcome in batch:
            if outcome.payment.pk not in written:
                _store_alone(outcome, claim_id, now)


def store(outcomes: Sequence[Outcome], claim_id: uuid.UUID, now: datetime) -> set[str]:
    """Store the outcomes in one transaction. Return the ids of the payments that were written.

    - Nothing is written for a payment whose lease was lost.
    - If there are several outcomes, a payment whose request is locked is skipped. So a batch never waits for
      another transaction.
    - Payments that complete or fail must have different requests and transactions. The payments must all be
      simulated, or all real.
    - The instances in memory don't change.
    """
    with transaction.atomic():
        deciding = {each.payment.request_id for each in outcomes if not isinstance(each, Postponed)}
        requests = lock_requests(deciding, skip_locked=len(outcomes) > 1)
        free = [
            each.payment.pk
            for each in outcomes
            if isinstance(each, Postponed) or each.payment.request_id in requests
        ]
        locked = _Locked(requests, lock_held(free, claim_id), now)
        held = [each for each in outcomes if each.payment.pk in locked.next_checks]
        credits = plan_credits(
            [(each.lookup, each.verdict.bound.transfers) for each in held if isinstance(each, Completed)]
        )
        rows = [_unless_used(each, credits, now) for each in held]
        events = {
            **_complete([each for each in rows if isinstance(each, Completed)], credits, locked),
            **_fail([each for each in rows if isinstance(each, Failed)], locked),
        }
        for each in rows:
            if isinstance(each, Followed):
                request = requests[each.payment.request_id]
                follow(copy.copy(each.payment), request, each.replacement, now)
            elif isinstance(each, Unexecuted):
                search_again(copy.copy(each.payment), now)
            elif isinstance(each, Attached):
                join_difference(copy.copy(each.payment), requests[each.payment.request_id], each.facts, now)
        _postpone([each for each in rows if isinstance(each, Postponed)], locked)
        new = announced(events.get(each.payment.pk) for each in rows)
        if new:
            record_events(new)
    return set(locked.next_checks)


def store_together(completed: Completed, credit: Consumption, request: PaymentRequest, now: datetime) -> None:
    """Store a completed payment that consists of several transactions. The request must be locked."""
    events = _complete([completed], {completed.payment.pk: credit}, _Locked({request.pk: request}, {}, now))
    record_events(announced(events.values()))


@dataclass(frozen=True)
class _Locked:
    """The locked requests, and the stored time of the next check of each payment that the claim still holds."""

    requests: Mapping[uuid.UUID, PaymentRequest]
    next_checks: Mapping[str, datetime | None]
    now: datetime


def _batches(outcomes: Sequence[Outcome]) -> Iterator[list[Outcome]]:
    """Divide the outcomes into batches for `store`: first all postponed ones, then the others in their order.

    Payments with the same request or transaction are in different batches, because each result depends on the one
    before.
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
            keys: set[object] = {each.payment.request_id}
            if isinstance(each, Completed | Followed):
                keys.add(each.lookup.transaction_hash)
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


def _lookup_of(outcome: Outcome) -> Lookup:
    """Return the lookup that is checked again if the outcome can't be stored."""
    lookup = None if isinstance(outcome, Failed) else outcome.lookup
    return lookup or delivery_of(outcome.payment) or outcome.payment.lookup


def _store_alone(outcome: Outcome, claim_id: uuid.UUID, now: datetime) -> None:
    payment = outcome.payment
    with log_context(payment_id=payment.pk, payment_request_id=payment.request_id):
        try:
            store([outcome], claim_id, now)
        except SoftTimeLimitExceeded:
            raise
        except Exception:
            # Postpone the check: the payment times out after a day.
            logger.exception("payment %s could not be stored", payment.pk)
            store([unanswered(_lookup_of(outcome), UNUSABLE, now)], claim_id, now)


def _unless_used(outcome: Outcome, credits: Mapping[str, Consumption], now: datetime) -> Outcome:
    """Return the outcome, or the result of `if_used` if other payments have consumed all its transfers."""
    if isinstance(outcome, Completed) and not credits[outcome.payment.pk].received:
        return if_used(outcome, now)
    return outcome


def _complete(
    rows: Sequence[Completed], credits: Mapping[str, Consumption], locked: _Locked
) -> dict[str, NewEvent | None]:
    """Complete these payments and credit their requests. Return the events by payment id."""
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
            carries_others=_carries_others(each, consumption, tokens[each.lookup.chain_id]),
        )
    looked_up = {each.lookup.pk: completed_lookup(each, locked.now) for each in rows}
    payments = _decide(rows, columns, looked_up, Payment.Status.COMPLETED)
    _write_swaps({each.payment.pk: completed_swap(each) for each in rows})
    store_credits([credits[pk] for pk in payments])
    _remember_solvers([(each, credits[each.payment.pk]) for each in rows])
    return _credit(rows, payments, locked)


def _remember_solvers(rows: Sequence[tuple[Completed, Consumption]]) -> None:
    """Store the senders of these deliveries as solvers.

    Customers who delivered in their own transaction are left out.
    """
    addresses: set[str] = set()
    for each, consumption in rows:
        if each.verdict.bound.by == Payment.BoundBy.PROVIDER:
            signer = each.facts.sender if each.facts else ""
            customer = signer if each.lookup.is_customers_own else each.payment.from_address
            senders = {account for t in consumption.transfers for account in (t.sender, t.made_by)}
            addresses |= {*senders, signer} - {"", customer}
    Solver.objects.bulk_create([Solver(pk=each) for each in sorted(addresses)], ignore_conflicts=True)


def _credit(
    rows: Sequence[Completed], payments: Mapping[str, Payment], locked: _Locked
) -> dict[str, NewEvent | None]:
    """Credit these payments' requests, and complete those that are paid in full. Return the events."""
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
    written |= complete_requests(moves, actor=_actor(rows))
    if len(written) < len(rows):
        raise RuntimeError("a request changed while it was locked")
    return {
        pk: credit_event(event_types[pk], locked.requests[payment.request_id], payment)
        for pk, payment in payments.items()
    }


def _fail(rows: Sequence[Failed], locked: _Locked) -> dict[str, NewEvent | None]:
    """Fail these payments. Return the events by payment id."""
    columns = {each.payment.pk: failed_columns(each, locked.now) for each in rows}
    looked_up = {each.payment.lookup.pk: failed_lookup(each, locked.now) for each in rows}
    deliveries = [delivery_of(each.payment) for each in rows]
    looked_up |= {delivery.pk: DECIDED for delivery in deliveries if delivery is not None}
    payments = _decide(rows, columns, looked_up, Payment.Status.FAILED)
    # Stop polling a failed swap.
    stopped = {"next_poll_at": None, **FREE}
    swaps = {each.payment.pk: {**each.swap, **stopped} for each in rows if swap_of(each.payment)}
    _write_swaps(swaps)
    timed_out = [each.payment for each in rows if each.code == FailureCode.VERIFICATION_TIMED_OUT]
    make_look_due([each.request_id for each in timed_out if awaits_balance(each)], locked.now)
    return {
        pk: failed_event(locked.requests[payment.request_id], payment) for pk, payment in payments.items()
    }


def _decide(
    rows: Sequence[Completed | Failed],
    columns: Mapping[str, Mapping[str, object]],
    looked_up: Mapping[int, Mapping[str, object]],
    to: Payment.Status,
) -> dict[str, Payment]:
    """Write the statuses and the lookups. Return copies of the payments as they are stored now."""
    payments = {each.payment.pk: _copied(each.payment, looked_up) for each in rows}
    moves = [
        Move(
            payments[each.payment.pk], columns[each.payment.pk], each.code if isinstance(each, Failed) else ""
        )
        for each in rows
    ]
    if len(move_payments(moves, to, actor=_actor(rows))) < len(rows):
        raise RuntimeError("a payment changed while it was locked")
    update_each(Lookup, looked_up, guard={})
    return payments


def _copied(payment: Payment, looked_up: Mapping[int, Mapping[str, object]]) -> Payment:
    """Return a copy of the payment, with these columns set in the copy's lookup."""
    copied, lookup = copy.copy(payment), copy.copy(payment.lookup)
    for name, value in looked_up.get(lookup.pk, {}).items():
        setattr(lookup, name, value)
    copied.lookup = lookup
    return copied


def _postpone(rows: Sequence[Postponed], locked: _Locked) -> None:
    """Store the next checks and polls, and release the leases."""
    columns, lookups, swaps = {}, {}, {}
    for each in rows:
        columns[each.payment.pk] = each.columns
        swaps[each.payment.pk] = {**each.swap, **FREE} if "next_poll_at" in each.swap else each.swap
        if each.lookup is not None:
            stored = locked.next_checks[each.payment.pk]
            # If a block arrived after the lease, the stored lookup is due earlier. Keep that time.
            is_due_again = each.waits_for_block and stored != each.lookup.next_check_at
            next_check = stored if is_due_again else each.next_check
            lookups[each.lookup.pk] = {**each.looked_up, **FREE, "next_check_at": next_check}
    guard = {"status": Payment.Status.PROCESSING}
    update_each(Payment, {pk: each for pk, each in columns.items() if each}, guard=guard)
    update_each(Lookup, lookups, guard={})
    _write_swaps(swaps)
    make_look_due([each.payment.request_id for each in rows if _is_at_address(each)], locked.now + LOOK_PAUSE)
    _write_deliveries({each.payment: each.delivery for each in rows if each.delivery is not None}, locked.now)
    tell_watchers(*{each.payment.request_id for each in rows})


def _is_at_address(outcome: Postponed) -> bool:
    """Whether the payment's transaction is mined and sent something to the deposit address."""
    columns, payment = outcome.columns, outcome.payment
    is_bound = columns.get("bound_by") == Payment.BoundBy.ADDRESS and bool(columns.get("is_in_flight"))
    return is_bound and payment.deposit_sequence is None


def _write_deliveries(reported: Mapping[Payment, str], now: datetime) -> None:
    """Replace the lookups of these payments' deliveries. The new ones are due now. An empty hash means: no delivery.

    If a new lookup has the same hash as the one that it replaces, it keeps the transaction's first block.
    """
    if not reported:
        return
    replaced = Lookup.objects.filter(of_swap__in=[payment.pk for payment in reported])
    first_blocks = {
        (each.of_swap_id, each.transaction_hash): {
            "first_block_time": each.first_block_time,
            "first_block_number": each.first_block_number,
        }
        for each in replaced
    }
    replaced.delete()
    Lookup.objects.bulk_create(
        Lookup(
            of_swap_id=payment.pk,
            chain_id=payment.request.chain_id,
            merchant_id=payment.request.merchant_id,
            transaction_hash=transaction_hash,
            is_simulated=payment.is_simulated,
            next_check_at=now,
            **first_blocks.get((payment.pk, transaction_hash), {}),
        )
        for payment, transaction_hash in reported.items()
        if transaction_hash
    )


def _write_swaps(rows: Mapping[str, Mapping[str, object]]) -> None:
    """Write these columns to the payments' swaps. Create a swap if there is none. The payments must be locked."""
    columns = {pk: each for pk, each in rows.items() if each}
    new = columns.keys() - update_each(Swap, columns, guard={})
    Swap.objects.bulk_create([Swap(payment_id=pk, **columns[pk]) for pk in sorted(new)])


def _tokens(rows: Sequence[Completed]) -> dict[int, set[str]]:
    tokens: dict[int, set[str]] = defaultdict(set)
    chains = {each.lookup.chain_id for each in rows}
    for chain_id, address in Token.objects.filter(chain__in=chains).values_list(
        "chain_id", "contract_address"
    ):
        tokens[chain_id].add(address)
    return tokens


def _carries_others(completed: Completed, consumption: Consumption, tokens: set[str]) -> bool:
    """Whether the transaction has unused transfers that may pay another request.

    A transfer needs no reference, because a payer's proof or the merchant's acceptance can bind it.
    """
    if consumption.beside:
        return True
    if completed.facts is None:
        return False
    credited = {transfer.slot for transfer in consumption.transfers}
    recipients = {
        transfer.recipient
        for transfer in completed.facts.transfers
        if transfer.amount > 0 and transfer.token in tokens and transfer.slot not in credited
    }
    chain_id = completed.lookup.chain_id
    wanted = PaymentRequest.objects.filter(chain=chain_id, recipient_address__in=recipients)
    shown = DepositAddress.objects.filter(chain=chain_id, address__in=recipients)
    return bool(recipients) and (wanted.exists() or shown.exists())


def _actor(rows: Sequence[Completed | Failed]) -> str:
    return "sandbox" if any(each.payment.is_simulated for each in rows) else "verification"
