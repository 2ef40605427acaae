"""Credit small and very frequent arrivals at a deposit address together: one payment and one event, at most once
an hour.

Anyone can send tiny amounts very often, for no more than the network's fee. Each arrival is verified like a
payment, but only when its block is final. So no arrival needs a check for reorganisations. The common payment has the
hash of the last transaction. Each credited transfer is stored with the hash of its own transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chains.client import ChainClient, Snapshot, TransactionFacts
from chains.fields import UINT256_MAX
from chains.health import finality_still_since
from chains.models import Chain
from payments.evaluation.verdicts import Finality, Paid, Refused, evaluate
from payments.models import (
    ConsumedTransfer,
    DepositAddress,
    Lookup,
    Payment,
    PaymentRequest,
    WaitingArrival,
)
from payments.requests import crediting
from payments.requests.lifecycle import lock_request
from payments.requests.new_payments import create_payment
from payments.requests.transitions import move_payment
from payments.verification.consumption import plan_credits
from payments.verification.evidence import collect_evidence
from payments.verification.finality import is_final
from payments.verification.outcomes import Completed
from payments.verification.reopening import is_given_up, reopen
from payments.verification.storing import store_together

PERIOD = timedelta(hours=1)
PAUSE = timedelta(minutes=1)
MAX_IN_A_GROUP = 500
# If no node knows a transaction for this long, a reorganisation probably removed it, and it is no longer looked up.
FORGOTTEN_AFTER = timedelta(days=1)
_REQUESTS_AT_ONCE = 10
_ACTOR = "discovery"


@dataclass(frozen=True)
class _Arrival:
    """A final transaction that pays the request. `lookup` and its payment are not saved."""

    lookup: Lookup
    verdict: Paid
    facts: TransactionFacts


def wait(chain: Chain, arrivals: Mapping[tuple[UUID, str], int]) -> None:
    """Store these arrivals. They are credited with the next group of their request. `arrivals` maps (request id,
    hash) to the amount.
    """
    if not arrivals:
        return
    now = timezone.now()
    shown = DepositAddress.objects.filter(pk__in={request_id for request_id, _ in arrivals})
    due = {pk: next_group(grouped_at, now) for pk, grouped_at in shown.values_list("pk", "grouped_at")}
    rows = [
        WaitingArrival(
            request_id=request_id,
            chain=chain,
            transaction_hash=hash_,
            amount=min(amount, UINT256_MAX),
            due_at=due.get(request_id, now),
        )
        for (request_id, hash_), amount in sorted(arrivals.items())
    ]
    WaitingArrival.objects.bulk_create(rows, batch_size=1000, ignore_conflicts=True)


def next_group(grouped_at: datetime | None, now: datetime) -> datetime:
    """Return when the next group may be credited, if the last group was credited at `grouped_at`."""
    return now if grouped_at is None else max(now, grouped_at + PERIOD)


def credited_for(chain: Chain, transaction_hashes: Sequence[str]) -> set[tuple[UUID, str]]:
    """Return (request id, hash) of those transactions that were credited through a deposit address."""
    rows = ConsumedTransfer.objects.filter(chain=chain, transaction_hash__in=transaction_hashes)
    by_address = rows.filter(payment__bound_by=Payment.BoundBy.ADDRESS)
    return set(by_address.values_list("payment__request_id", "transaction_hash"))


def has_due(chain: Chain, now: datetime) -> bool:
    return WaitingArrival.objects.filter(chain=chain, due_at__lte=now).exists()


def credit_groups(chain: Chain, client: ChainClient, *, now: datetime) -> int:
    """Credit the chain's due groups. Return the number of payments.

    Only final transactions are credited. Raises ChainError.
    """
    due = WaitingArrival.objects.filter(chain=chain, due_at__lte=now).order_by("due_at", "pk")
    keys = due.values_list("request_id", flat=True)[: _REQUESTS_AT_ONCE * MAX_IN_A_GROUP]
    return sum(
        _credit_group(chain, client, request_id, now)
        for request_id in list(dict.fromkeys(keys))[:_REQUESTS_AT_ONCE]
    )


def _credit_group(chain: Chain, client: ChainClient, request_id: UUID, now: datetime) -> bool:
    due = WaitingArrival.objects.filter(request=request_id, chain=chain, due_at__lte=now)
    rows = list(due.order_by("due_at", "-amount", "pk")[:MAX_IN_A_GROUP])
    if not rows:
        return False
    request = PaymentRequest.objects.select_related("merchant", "token", "chain").get(pk=request_id)
    snapshot = client.look_up(sorted(row.transaction_hash for row in rows), with_finality=True)
    lookups = [_lookup(request, row) for row in rows]
    finality = Finality.parse(
        chain.confirmations, chain.confirmations_fallback, finality_still_since(chain, now)
    )
    paid, refused = _evaluate(chain, lookups, snapshot, finality)
    with transaction.atomic():
        locked = lock_request(request_id)
        shown = DepositAddress.objects.get(pk=request_id)
        if (due_at := next_group(shown.grouped_at, now)) > now:
            due.update(due_at=due_at)
            return False
        held = due.filter(pk__in=[row.pk for row in rows]).select_for_update()
        waiting = set(held.values_list("transaction_hash", flat=True))
        # Don't credit a transaction here if it already has a payment: verification credits that payment.
        own = list(Payment.objects.filter(request=locked, chain=chain, transaction_hash__in=waiting))
        apart = {each.transaction_hash for each in own}
        for each in filter(is_given_up, own):
            reopen(each, actor=_ACTOR, reason="found on the network")
        payable = [each for each in paid if each.lookup.transaction_hash in waiting - apart]
        counted = _earliest(locked, payable)
        later = {each.lookup.transaction_hash for each in payable if each not in counted}
        ended = {each for each in apart if each} | refused | {each.lookup.transaction_hash for each in paid}
        ended -= later
        rest = WaitingArrival.objects.filter(pk__in=[row.pk for row in rows])
        rest.filter(transaction_hash__in=ended).delete()
        unknown = {hash_ for hash_, facts in snapshot.transactions.items() if facts is None}
        forgotten = unknown - snapshot.contradicted
        rest.filter(created_at__lt=now - FORGOTTEN_AFTER, transaction_hash__in=forgotten).delete()
        is_credited = _credit(locked, chain, counted, finality, now)
        # After a credit, all other arrivals of the request wait for the next group. If nothing was credited, only the
        # checked arrivals wait. A node may have invented them, so other arrivals are checked first.
        if is_credited:
            rest = WaitingArrival.objects.filter(request=locked, due_at__lte=now)
        rest.update(due_at=now + (PERIOD if is_credited else PAUSE))
    return is_credited


def _lookup(request: PaymentRequest, row: WaitingArrival) -> Lookup:
    """Return an unsaved lookup for the evaluation of this transaction."""
    payment = Payment(request=request, chain=row.chain, transaction_hash=row.transaction_hash)
    return Lookup(
        of_payment=payment,
        chain=row.chain,
        merchant=request.merchant,
        transaction_hash=row.transaction_hash,
    )


def _evaluate(
    chain: Chain, lookups: Sequence[Lookup], snapshot: Snapshot, finality: Finality
) -> tuple[list[_Arrival], set[str]]:
    """Return the final transactions that pay the request, in the order of their blocks. Also return the hashes of
    final transactions that pay nothing.
    """
    inputs = collect_evidence(lookups, chain, snapshot, {})
    paid: list[_Arrival] = []
    refused: set[str] = set()
    for lookup in lookups:
        hash_ = lookup.transaction_hash
        facts = snapshot.transactions.get(hash_)
        if facts is None or facts.block is None or not is_final(lookup, facts, snapshot.head):
            continue
        verdict = evaluate(inputs[lookup.payment.pk].terms, chain.pk, facts, snapshot.head, finality)
        if isinstance(verdict, Paid) and verdict.bound.by == Payment.BoundBy.ADDRESS:
            paid.append(_Arrival(lookup, verdict, facts))
        elif isinstance(verdict, Refused | Paid):
            refused.add(hash_)
    return sorted(paid, key=lambda each: (each.verdict.block.number, each.lookup.transaction_hash)), refused


def _earliest(request: PaymentRequest, arrivals: Sequence[_Arrival]) -> Sequence[_Arrival]:
    """Return those arrivals that are in time, or else those that are in time for the price, or else all.

    The payment has the time of its last transaction. So a transaction that comes too late must not be credited
    together with earlier ones. Otherwise a stranger could make them count as late.
    """
    for limit in crediting.time_limits(request):
        if early := [each for each in arrivals if each.verdict.block.time <= limit]:
            return early
    return arrivals


def _credit(
    request: PaymentRequest, chain: Chain, arrivals: Sequence[_Arrival], finality: Finality, now: datetime
) -> bool:
    """Credit these transactions' transfers, except those that were already credited. The request must be locked."""
    plan = plan_credits([(each.lookup, each.verdict.bound.transfers) for each in arrivals])
    counted = [each for each in arrivals if plan[each.lookup.payment.pk].received]
    if not counted:
        return False
    *others, last = counted
    payment = create_payment(
        request, chain, last.lookup.transaction_hash, actor=_ACTOR, seen_at=now, submitted_publicly=False
    )
    payment.request = request
    move_payment(payment, Payment.Status.PROCESSING, actor=_ACTOR)
    own = replace(plan[last.lookup.payment.pk], lookup=payment.lookup)
    credit = replace(own, beside=tuple(plan[each.lookup.payment.pk] for each in others))
    store_together(Completed(payment.lookup, last.verdict, last.facts, finality), credit, request, now)
    DepositAddress.objects.filter(pk=request.pk).update(grouped_at=now)
    return True
