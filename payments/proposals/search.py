"""Wallets of contract accounts return a proposal's id, not a hash. Search for the transactions that executed
proposals.

The search begins at the block that was newest when the route was built, and uses no retries. It ends a day after the
request's end, or two days after it if the nodes don't return the logs. The id proves nothing, so the transaction that
executed the proposal is verified like any payment (`payments.verification`).
"""

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from chains.client import ChainClient, ChainError, Snapshot, TransactionFacts
from chains.facts.proposals import Execution, Proposal, ProposalSearch
from chains.families import get_client
from chains.models import Chain
from config.api.log_context import log_context
from config.due_work import leases
from config.due_work.leases import FREE
from config.due_work.listening import Channel, notify
from config.due_work.queue import Queue
from config.tracing.recording import traced
from payments.discovery.search_pass import searched_again
from payments.discovery.watches import AFTERWARDS
from payments.evaluation.proof_windows import CLOCK_ALLOWANCE
from payments.evaluation.verdicts import Finality
from payments.models import FailureCode, Lookup, Payment, PaymentRequest, Route
from payments.proposals.following import drop_account, follow_execution, verify_beside
from payments.requests import events
from payments.requests.bulk_updates import update_each
from payments.requests.lifecycle import lock_request
from payments.requests.new_payments import AWAITED
from payments.requests.transitions import move_payment
from payments.requests.watching import tell_watchers
from payments.submission.hashes import SUBMITTED
from payments.verification.columns import NO_PROPOSAL, block_columns
from payments.verification.leasing import with_payments
from payments.verification.outcomes import Failed, failed_columns, failed_lookup

logger = logging.getLogger(__name__)

BATCH = 30
SHORTEST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(seconds=60)
# The pause between searches is a twentieth of the payment's age, since most signers sign soon.
_PART_OF_AGE = 20
_PAUSE_AFTER_FAILURE = timedelta(seconds=10)
_LONGEST_PAUSE_AFTER_FAILURE = timedelta(minutes=5)
# If nodes don't return the logs, wait longer, because they may return them later.
_GRACE = timedelta(days=1)
# If no node can look up block times, assume blocks twice as fast as the catalogue says.
_MARGIN = 2
_NEVER_EXECUTED = (
    "The wallet's other signers did not execute this transaction within the time that was searched."
)
_FAILED = "The account executed the transaction, but its call failed, so nothing was paid."
_FAILING = "The account's call failed; waiting for confirmations."
_ACTOR = "verification"

PROPOSALS = Queue(
    model=Lookup,
    due="proposal_check_at",
    owner="merchant_id",
    waiting="NOT is_simulated AND proposal_check_at IS NOT NULL",
    lane="chain_id",
)


def search_due(
    chain_id: int,
    *,
    client: Callable[[Chain], ChainClient] = get_client,
    now: Callable[[], datetime] = timezone.now,
) -> int:
    """Search for a batch of the chain's due proposals. Return their number."""
    lease = PROPOSALS.claim(now(), BATCH, chain_id)
    lookups = list(Lookup.objects.filter(pk__in=lease.keys).order_by("proposal_check_at"))
    if not lookups:
        return 0
    with_payments(lookups)
    chain = lookups[0].chain
    with log_context(chain_id=chain_id), traced("search for executions"), leases.kept(lease):
        try:
            _search(chain, lookups, client(chain), lease.claim_id, now())
        except ChainError as error:
            logger.warning("the search for executions on %s failed: %s", chain.name, error)
            asked_for = timedelta(seconds=error.retry_after or 0)
            pause = min(max(_PAUSE_AFTER_FAILURE, asked_for), _LONGEST_PAUSE_AFTER_FAILURE)
            _postpone({each.pk: {"proposal_check_at": now() + pause} for each in lookups}, lease.claim_id)
    return len(lookups)


def _search(
    chain: Chain, lookups: Sequence[Lookup], client: ChainClient, claim_id: uuid.UUID, now: datetime
) -> None:
    finality = Finality.parse(chain.confirmations)
    # Look up the ids as hashes too: an id can be a hash. Also, a transaction that a reorganisation removed can be
    # mined again without the account's log.
    hashes = sorted({each.payment.own_hash for each in lookups})
    snapshot = client.look_up(hashes, with_finality=finality.tag is not None)
    head = snapshot.head.latest
    proposals = {lookup.pk: _proposals(lookup, _first_block(lookup, client, head, now)) for lookup in lookups}
    wanted = {proposal for group in proposals.values() for proposal in group}
    failure: ChainError | None = None
    try:
        found = client.find_executions(sorted(wanted, key=lambda each: each.id), until_block=head)
    except ChainError as error:
        # Continue without the logs, because anyone may have submitted a hash as a proposal. If a node knows
        # the submitted hash, logs aren't needed.
        found, failure = ProposalSearch({}, {}), error
    again: dict[int, dict[str, Any]] = {}
    for lookup in lookups:
        own = proposals[lookup.pk]
        executions = {each: found.executions[each] for each in own if each in found.executions}
        execution = _deciding(own, executions)
        first = own[0].first_block
        is_unreadable = any(each in found.unreadable for each in own)
        with log_context(payment_id=lookup.payment_id, payment_request_id=lookup.payment.request_id):
            try:
                reached = min(found.next_blocks.get(each, first) for each in own)
                if execution is None or lookup.payment.reorged:
                    _divert(lookup, executions, snapshot, finality, claim_id, now)
                is_decided = (
                    not lookup.payment.reorged
                    and _decide(lookup, execution, snapshot, finality, claim_id, now)
                ) or (
                    execution is None
                    and (reached > head or is_unreadable)
                    and _give_up(lookup, claim_id, now, _GRACE if is_unreadable else timedelta())
                )
            except Exception:
                # The failure of one payment must not delay the others.
                logger.exception("the execution of payment %s could not be stored", lookup.payment_id)
                is_decided, execution, reached = False, None, first
        if not is_decided and failure is None:
            # Search the newest blocks again, since they may be reorganised, and nodes may index them late.
            block = max(first, min(reached, head + 1 - searched_again(chain)))
            is_waiting = execution is not None or reached > head or is_unreadable
            pause = pause_of(lookup.payment, now) if is_waiting else timedelta()
            if is_unreadable:
                pause = max(pause, _PAUSE_AFTER_FAILURE)
            again[lookup.pk] = {"proposal_check_at": now + pause, "proposal_block": block}
            detail = AWAITED if execution is None else _FAILING
            if lookup.payment.status_detail != detail and not lookup.payment.reorged:
                _store(lookup, claim_id, _await if execution is None else _expect_failure)
    if failure is not None:
        raise failure
    _postpone(again, claim_id)


def _proposals(lookup: Lookup, first_block: int) -> list[Proposal]:
    return [Proposal(account, lookup.proposal_id, first_block) for account in lookup.proposal_accounts]


def _deciding(own: Sequence[Proposal], executions: Mapping[Proposal, Execution]) -> Execution | None:
    """Return the execution that decides the payment: the first certain one. If there is none and the payment has only
    one account, return that account's execution.
    """
    certain = [each for each in executions.values() if each.is_certain]
    return next(iter(certain), None) if certain or len(own) > 1 else executions.get(own[0])


def pause_of(payment: Payment, now: datetime) -> timedelta:
    """Return the pause before the next search: 5 seconds at first, and a minute once the payment is 20 minutes
    old.
    """
    return min(max((now - payment.created_at) / _PART_OF_AGE, SHORTEST_PAUSE), LONGEST_PAUSE)


def _first_block(lookup: Lookup, client: ChainClient, head: int, now: datetime) -> int:
    """Return the next block to search. The first search begins when the route was built."""
    if lookup.proposal_block is not None:
        return lookup.proposal_block
    payment = lookup.payment
    routes = Route.objects.filter(
        request=payment.request_id, chain=lookup.chain_id, wallet_address__in=lookup.proposal_accounts
    )
    built_at = [route.built_at or route.created_at for route in routes] or [payment.created_at]
    since = min(built_at) - CLOCK_ALLOWANCE
    try:
        return min(client.block_at(since), head)
    except ChainError:
        # Nodes may have deleted old blocks, so estimate the block from the block time.
        block_time = timedelta(milliseconds=max(lookup.chain.block_time_ms, 1))
        return max(head - _MARGIN * ((now - since) // block_time), 0)


def _decide(
    lookup: Lookup,
    execution: Execution | None,
    snapshot: Snapshot,
    finality: Finality,
    claim_id: uuid.UUID,
    now: datetime,
) -> bool:
    """Store the result of the search. Return True if the search is over.

    If a node knows the payment's hash as a transaction, ignore the execution. An account can log that it executed any
    id, even a transaction's hash.
    """
    if snapshot.transactions.get(lookup.payment.own_hash) is not None:
        return _store(lookup, claim_id, lambda payment, _: _verify(payment, now))
    if execution is not None and execution.succeeded:
        return _store(lookup, claim_id, lambda payment, request: _follow(payment, request, execution, now))
    if execution is not None:
        facts = TransactionFacts(
            execution.transaction_hash, "", None, execution.block, succeeded=False, transfers=()
        )
        if not finality.is_reached(facts, snapshot.head):
            return False
        return _store(lookup, claim_id, lambda payment, request: _revert(payment, request, execution, now))
    return False


def _divert(
    lookup: Lookup,
    executions: Mapping[Proposal, Execution],
    snapshot: Snapshot,
    finality: Finality,
    claim_id: uuid.UUID,
    now: datetime,
) -> None:
    """Verify each of these executions in a separate payment, and continue the search.

    If there are several accounts, one of them may be an attacker's. An account can log any id, so its execution
    must not end the search for the customer's transaction. If a reorganisation removed the execution of a completed
    payment, that payment keeps its execution, and the next execution gets a separate payment.
    """
    for proposal, execution in executions.items():
        facts = TransactionFacts(
            execution.transaction_hash, "", None, execution.block, succeeded=False, transfers=()
        )
        is_deep = finality.is_reached(facts, snapshot.head)

        def change(
            payment: Payment,
            request: PaymentRequest,
            proposal: Proposal = proposal,
            execution: Execution = execution,
            is_deep: bool = is_deep,
        ) -> None:
            if execution.succeeded:
                verify_beside(payment, request, execution.transaction_hash, now)
            if is_deep:
                drop_account(payment, "" if execution.is_certain else proposal.account)

        _store(lookup, claim_id, change)


def _store(lookup: Lookup, claim_id: uuid.UUID, change: Callable[[Payment, PaymentRequest], None]) -> bool:
    """Change the payment if this worker still holds the lookup's lease. Always return True, so that the caller
    doesn't postpone the search.
    """
    with transaction.atomic():
        request = lock_request(lookup.payment.request_id)
        held = Lookup.objects.filter(pk=lookup.pk, claim_id=claim_id, proposal_check_at__isnull=False)
        if held.select_for_update(no_key=True).exists():
            payment = Payment.objects.select_for_update(no_key=True).get(pk=lookup.payment_id)
            payment.request = request
            if payment.is_open or payment.reorged:
                change(payment, request)
    return True


def _follow(payment: Payment, request: PaymentRequest, execution: Execution, now: datetime) -> None:
    follow_execution(payment, request, execution.transaction_hash, now)
    notify(Channel.PAYMENTS, str(payment.chain_id))


def _verify(payment: Payment, now: datetime) -> None:
    """A node knows the payment's hash, so verify the payment as usual."""
    Payment.objects.filter(pk=payment.pk).update(status_detail=SUBMITTED, verifying_since=now)
    own = Lookup.objects.filter(of_payment=payment)
    own.filter(proposal_id=payment.transaction_hash).update(**NO_PROPOSAL)
    hash_ = payment.transaction_hash
    own.update(transaction_hash=hash_, proposal_check_at=None, next_check_at=now, seen_at=now, **FREE)
    tell_watchers(payment.request_id)
    notify(Channel.PAYMENTS, str(payment.chain_id))


def _revert(payment: Payment, request: PaymentRequest, execution: Execution, now: datetime) -> None:
    """Fail the payment. Leave the proposal's id as its hash, because another call in the same transaction may pay."""
    looked_up = {
        "transaction_hash": execution.transaction_hash,
        "seen_at": now,
        **block_columns(execution.block),
    }
    failed = Failed(payment, FailureCode.TRANSACTION_REVERTED, _FAILED, looked_up=looked_up)
    if _fail(failed, now):
        events.record_failed(request, payment)


def _give_up(lookup: Lookup, claim_id: uuid.UUID, now: datetime, grace: timedelta) -> bool:
    """Fail the payment without an event if the request ended more than a day, and `grace`, ago. Return True if it
    failed.
    """
    request = lookup.payment.request
    ended_at = request.last_ended_at
    if ended_at is None or now < ended_at + AFTERWARDS + grace:
        return False

    def fail(payment: Payment, _: PaymentRequest) -> None:
        if payment.reorged:
            drop_account(payment, "")
            return
        _fail(Failed(payment, FailureCode.TRANSACTION_NOT_FOUND, _NEVER_EXECUTED), now)

    return _store(lookup, claim_id, fail)


def _fail(failed: Failed, now: datetime) -> bool:
    payment, columns = failed.payment, failed_columns(failed, now)
    is_moved = move_payment(payment, Payment.Status.FAILED, actor=_ACTOR, reason=failed.code.value, **columns)
    if is_moved:
        Lookup.objects.filter(of_payment=payment).update(**failed_lookup(failed, now), proposal_check_at=None)
    return is_moved


def _expect_failure(payment: Payment, _: PaymentRequest) -> None:
    """Mark the payment as likely to fail. The account's call failed, but the call's block isn't deep enough yet."""
    likely = {"status_detail": _FAILING, "likely_failure": FailureCode.TRANSACTION_REVERTED.value}
    move_payment(payment, Payment.Status.PROCESSING, actor=_ACTOR, reason="its call failed", **likely)


def _await(payment: Payment, _: PaymentRequest) -> None:
    """Mark the payment as waiting for the execution, also if a reorganisation removed a failed execution."""
    columns = {"status_detail": AWAITED, "likely_failure": ""}
    if payment.status == Payment.Status.PENDING:
        Payment.objects.filter(pk=payment.pk).update(**columns)
        tell_watchers(payment.request_id)
    else:
        move_payment(
            payment, Payment.Status.PENDING, actor=_ACTOR, reason="its failure was removed", **columns
        )


def _postpone(rows: Mapping[int, Mapping[str, Any]], claim_id: uuid.UUID) -> None:
    """Store the time of the next search, and release the leases.

    Lookups that this worker no longer holds don't change.
    """
    update_each(Lookup, {pk: {**each, **FREE} for pk, each in rows.items()}, guard={"claim_id": claim_id})
