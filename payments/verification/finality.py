"""Check completed and failed payments again until their block is final. Until then, a reorganisation can reverse
the result.

If the block of a completed payment was removed, the payment stays completed, because a webhook was sent. The
payment is flagged, and the operator is alerted. The flag is cleared if the transaction is in the chain again, at
the required depth. If the transaction then pays another amount, or by another transfer, its credit is replaced. The
same applies if another transaction uses the payer's authorization (`recrediting`).

If the block of a failed payment was removed, the payment is verified again, without using a retry. A failed payment
can't be retried once its block is final.
"""

import logging
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from chains.client import ChainClient, ChainError, Head, Snapshot, TransactionFacts
from chains.families import get_client
from chains.lookup import token_by_id
from chains.models import Chain
from config.api.log_context import log_context
from config.due_work import leases
from config.due_work.leases import FREE
from config.due_work.queue import Queue
from config.tracing.recording import traced
from payments.coins.awaiting import awaits_balance
from payments.coins.lookups import look_up
from payments.evaluation.verdicts import Finality
from payments.models import Authorization, FailureCode, GasAccount, Lookup, Payment, PaymentRequest, Swap
from payments.requests import events
from payments.requests.lifecycle import lock_request
from payments.requests.transitions import note
from payments.verification.columns import block_columns, sender_columns
from payments.verification.leasing import with_payments
from payments.verification.quote_evidence import pinned_contracts
from payments.verification.recrediting import is_uncredited, paying_transfers, replace_credit
from payments.verification.reopening import reopen, undo_refund

logger = logging.getLogger(__name__)

BATCH = 500
PAUSE = timedelta(minutes=2)
LONGEST_WAIT = timedelta(hours=24)
# A reorganised payment's transaction may be mined again. That transaction is looked up for this long.
REORGED_WATCH = timedelta(days=30)
# If the chain has no finalized block, a block is final at this multiple of the required depth.
FINAL_DEPTH_FACTOR = 2
CHECKS_BEFORE_ALERT = 3
_DEFAULT_CONFIRMATIONS = 64
FINALITY = Queue(
    model=Lookup,
    due="finality_check_at",
    owner="merchant_id",
    waiting="NOT is_simulated",
    lane="chain_id",
)


def check_finality(
    chain_id: int,
    *,
    client: Callable[[Chain], ChainClient] = get_client,
    now: Callable[[], datetime] = timezone.now,
) -> int:
    """Check the finality of a batch of the chain's due payments. Return the number of payments."""
    lease = FINALITY.claim(now(), BATCH, chain_id)
    lookups = list(Lookup.objects.filter(pk__in=lease.keys).order_by("finality_check_at"))
    if not lookups:
        return 0
    with_payments(lookups)
    chain = lookups[0].chain
    with leases.kept(lease):
        held = [lookup for lookup in lookups if lease.holds(lookup.pk)]
        try:
            _check_on_chain(held, client(chain), lease.claim_id, now())
        except ChainError:
            _postpone(held, lease.claim_id, now())
        except Exception:
            logger.exception("the finality check on chain %s stopped", chain.pk)
            _postpone(held, lease.claim_id, now())
    return len(lookups)


def _held(lookups: Sequence[Lookup], claim_id: uuid.UUID) -> QuerySet[Lookup]:
    """Return the rows that this worker may write: it still leases them, and their payments were not reopened."""
    ids = [lookup.pk for lookup in lookups]
    return Lookup.objects.filter(pk__in=ids, claim_id=claim_id, finality_check_at__isnull=False)


def _postpone(lookups: Sequence[Lookup], claim_id: uuid.UUID, now: datetime) -> None:
    """There was no usable response: schedule another check."""
    _held(lookups, claim_id).update(finality_check_at=now + PAUSE, **FREE)


def _check_on_chain(
    lookups: Sequence[Lookup], client: ChainClient, claim_id: uuid.UUID, now: datetime
) -> None:
    if not lookups:
        return
    # Only reorganised payments are evaluated again.
    is_evaluated = any(lookup.payment.reorged for lookup in lookups)
    contracts = pinned_contracts(lookups[0].chain) if is_evaluated else ()
    snapshot = look_up(client, lookups, with_finality=True, mentioning=contracts)
    for lookup in lookups:
        payment = lookup.payment
        if lookup.transaction_hash in snapshot.contradicted:
            _postpone([lookup], claim_id, now)
            continue
        facts = snapshot.transactions.get(lookup.transaction_hash)
        check_result = _check_failed if payment.status == Payment.Status.FAILED else _check_completed
        with (
            log_context(payment_id=payment.pk, payment_request_id=payment.request_id),
            traced("check finality"),
        ):
            try:
                check_result(lookup, facts, snapshot.head, claim_id, now)
            except Exception:
                # The failure of one payment must not delay the others.
                logger.exception("the finality of payment %s could not be checked", payment.pk)
                _postpone([lookup], claim_id, now)


def _check_failed(
    lookup: Lookup, facts: TransactionFacts | None, head: Head, claim_id: uuid.UUID, now: datetime
) -> None:
    """Reopen a failed payment if its block changed. Stop checking once the block is final.

    If the payment timed out without a result, reopen it once its block is final. So its transfers are credited
    after an outage of the nodes.
    """
    payment, held = lookup.payment, _held([lookup], claim_id)
    block = facts.block if facts else None
    if block is not None and block.hash != lookup.block_hash:
        _reopen(lookup, claim_id, "its block was reorganised away, and it is in another one")
    elif block is not None and _timed_out_undecided(payment) and is_final(lookup, facts, head):
        _reopen(lookup, claim_id, "its block is final by now")
    elif block is not None:
        waited = payment.failed_at is not None and now - payment.failed_at > LONGEST_WAIT
        is_closed = waited or is_final(lookup, facts, head)
        held.update(finality_check_at=None if is_closed else now + PAUSE, finality_misses=0, **FREE)
    elif lookup.finality_misses + 1 < CHECKS_BEFORE_ALERT:
        _count_miss(held, now)
    else:
        _reopen(lookup, claim_id, "its block was reorganised away")


def _count_miss(held: QuerySet[Lookup], now: datetime) -> None:
    """Count a check that did not find the transaction, and schedule another. Only several misses in a row raise an
    alert.
    """
    held.update(finality_misses=F("finality_misses") + 1, finality_check_at=now + PAUSE, **FREE)


def _timed_out_undecided(payment: Payment) -> bool:
    """Whether the payment timed out without a result.

    Swaps are left out, because their provider decides. Native coin at a deposit address is left out too, because the
    address's balance credits it.
    """
    is_timed_out = payment.failure_code == FailureCode.VERIFICATION_TIMED_OUT
    return is_timed_out and payment.quote_id is None and not awaits_balance(payment)


def _reopen(lookup: Lookup, claim_id: uuid.UUID, reason: str) -> None:
    """Verify the failed payment again. This verification uses no retry."""
    with transaction.atomic():
        lock_request(lookup.payment.request_id)
        if not _held([lookup], claim_id).exists():
            return
        current = Payment.objects.filter(pk=lookup.payment_id, status=Payment.Status.FAILED).first()
        if current is not None:
            reopen(current, actor="finality", reason=reason)


def _check_completed(
    lookup: Lookup, facts: TransactionFacts | None, head: Head, claim_id: uuid.UUID, now: datetime
) -> None:
    payment, held = lookup.payment, _held([lookup], claim_id)
    if payment.reorged:
        _check_reorged(lookup, facts, head, claim_id, now)
    elif not is_final(lookup, facts, head):
        waited = payment.completed_at is not None and now - payment.completed_at > LONGEST_WAIT
        reading = _reading_columns(lookup, facts)
        held.update(finality_check_at=None if waited else now + PAUSE, **reading, **FREE)
    elif facts is not None and facts.block is not None and _still_pays(lookup, facts):
        held.update(finality_check_at=None, finality_misses=0, **block_columns(facts.block), **FREE)
    elif lookup.finality_misses + 1 < CHECKS_BEFORE_ALERT:
        _count_miss(held, now)
    else:
        flag_reorged(payment, held, now)


def _check_reorged(
    lookup: Lookup, facts: TransactionFacts | None, head: Head, claim_id: uuid.UUID, now: datetime
) -> None:
    """Clear the flag if the transaction is in the chain again and deep enough. Otherwise check again later."""
    payment, held = lookup.payment, _held([lookup], claim_id)
    finality = Finality.parse(lookup.chain.confirmations, lookup.chain.confirmations_fallback)
    has_own_credit = not is_uncredited(lookup)
    is_unchanged = has_own_credit and facts is not None and _pays_the_same(lookup, facts)
    if not is_unchanged and _credit_again(lookup, facts, head, finality, claim_id, now):
        return
    is_back = facts is not None and finality.is_reached(facts, head) and _still_pays(lookup, facts)
    if has_own_credit and is_back and facts is not None and facts.block is not None:
        clear_reorged(payment, held, finality_check_at=now + PAUSE, **block_columns(facts.block))
        return
    reading = _reading_columns(lookup, facts)
    next_check = now + PAUSE if reading else next_check_of_reorged(payment, now)
    held.update(finality_check_at=next_check, **reading, **FREE)


def _credit_again(
    lookup: Lookup,
    facts: TransactionFacts | None,
    head: Head,
    finality: Finality,
    claim_id: uuid.UUID,
    now: datetime,
) -> bool:
    """The payment follows another transaction now, or its own transaction pays otherwise: replace its credit. Return
    False if the transaction doesn't pay, or is not deep enough.

    A completed request stays paid in full: if the transaction pays too little for it, the payment stays `reorged`.
    """
    if lookup.is_difference or facts is None or facts.block is None or not finality.is_reached(facts, head):
        return False
    transfers = paying_transfers(lookup, Snapshot(head, {lookup.transaction_hash: facts}), finality)
    if _still_pays(lookup, facts) and sum(each.amount for each in transfers) < _credited(lookup).total():
        return False  # All that was credited is still there. Evidence that came later doesn't reduce it.
    held = _held([lookup], claim_id)
    with transaction.atomic():
        request = lock_request(lookup.payment.request_id)
        current = Payment.objects.get(pk=lookup.payment_id)
        if not (current.reorged and held.select_for_update(no_key=True).exists()):
            return False
        columns = {} if lookup.is_delivery else sender_columns(current, facts)
        if not replace_credit(request, lookup, transfers, columns):
            return False
        current.refresh_from_db()
        clear_reorged(current, held, finality_check_at=now + PAUSE, **block_columns(facts.block))
    logger.warning("payment %s was paid again, by %s", current.pk, lookup.transaction_hash)
    return True


def _reading_columns(lookup: Lookup, facts: TransactionFacts | None) -> dict[str, Any]:
    """Return the columns for a balance that was read again at a new block.

    The next check can then count this block's depth.
    """
    if not lookup.is_difference or facts is None or not _still_pays(lookup, facts):
        return {}
    return {**block_columns(facts.block), "received": facts.transfers[0].gain}


def next_check_of_reorged(payment: Payment, now: datetime) -> datetime | None:
    """Return when to check a removed transaction again. None after 30 days. The pauses get longer."""
    age = now - (payment.completed_at or now)
    return None if age > REORGED_WATCH else now + max(PAUSE, age / 10)


def _credited(lookup: Lookup) -> Counter[str]:
    """Return the amount that was credited for each of the transaction's transfers, by slot.

    If other transactions were credited to this payment too, their blocks were final already.
    """
    own = lookup.payment.consumed_transfers.filter(transaction_hash=lookup.credit_key)
    return Counter({slot: int(amount) for slot, amount in own.values_list("slot", "amount")})


def _moved(lookup: Lookup, facts: TransactionFacts) -> dict[str, int]:
    """Return the amounts that reached the request's addresses in its token, by slot.

    In another block, a slot can have a transfer of another token, or to another account.
    """
    request = lookup.payment.request
    own = (request.recipient_address, request.deposit_address)
    token = token_by_id(request.token_id).contract_address
    return {t.slot: t.amount for t in facts.transfers if t.token == token and t.recipient in own}


def _pays_the_same(lookup: Lookup, facts: TransactionFacts) -> bool:
    """Whether the mined transaction transfers exactly what was credited."""
    moved = _moved(lookup, facts)
    return facts.succeeded and all(moved.get(slot) == amount for slot, amount in _credited(lookup).items())


def _still_pays(lookup: Lookup, facts: TransactionFacts) -> bool:
    """Whether the mined transaction still transfers what was credited, or more."""
    if not facts.is_readable:
        return facts.block is not None and facts.block.hash == lookup.block_hash
    if not facts.succeeded:
        return False
    moved, credited = _moved(lookup, facts), _credited(lookup)
    # The logs of EVM tokens are always complete.
    may_be_hidden = (
        token_by_id(lookup.payment.request.token_id).contract_address == "" or facts.commitment is not None
    )
    is_hidden = may_be_hidden and not facts.is_complete
    return is_hidden or all(moved.get(slot, 0) >= amount for slot, amount in credited.items())


def is_final(lookup: Lookup, facts: TransactionFacts | None, head: Head) -> bool:
    """Whether the transaction's block is final. If it is in no block now, the stored block is checked."""
    height = facts.block.number if facts and facts.block else lookup.block_number or 0
    if facts is not None and facts.commitment is not None:
        return facts.commitment == "finalized"
    return final_height(lookup.chain, head) >= height


def final_height(chain: Chain, head: Head) -> int:
    """Return the height of the last final block; negative if there is none.

    Not for Solana, which has commitments instead.
    """
    if head.finalized is not None:
        return head.finalized
    finality = Finality.parse(chain.confirmations, chain.confirmations_fallback)
    needed = finality.confirmations or finality.fallback or _DEFAULT_CONFIRMATIONS
    return head.latest + 1 - FINAL_DEPTH_FACTOR * needed


def flag_reorged(payment: Payment, held: QuerySet[Lookup] | None = None, now: datetime | None = None) -> None:
    """Flag the completed payment as reorged, record its event and alert the operator. A second call changes
    nothing.

    `held` selects the payment's lookup while this worker has its lease. If it selects no row, nothing is written. A
    payment that sent a refund fails instead (`undo_refund`).
    """
    now = now or timezone.now()
    with transaction.atomic():
        request = lock_request(payment.request_id)
        if held is not None and not held.select_for_update(no_key=True).exists():
            return
        if request.is_refund:
            if undo_refund(request, Payment.objects.filter(pk=payment.pk).first()):
                logger.error(
                    "payment %s sent a refund, but its block was reorganised away: the refund has failed",
                    payment.pk,
                )
            return
        if _set_reorged(request, payment, now, reorged=True):
            if held is not None:
                held.update(finality_check_at=now + PAUSE, finality_misses=0, **FREE)
            # Search for the proposal again, since another transaction may execute it and pay the request.
            executed = Lookup.objects.filter(of_payment=payment).exclude(proposal_id="")
            executed.update(proposal_check_at=now, proposal_block=None)
            # Search for the use of the payer's authorization again, since another transaction may have used it. Send
            # it again if none has. Lock the gas account first, as `payments.sponsoring` does.
            signed = Authorization.objects.filter(payment=payment)
            if signed.exists():
                idle = GasAccount.objects.filter(chain=payment.chain_id, next_look_at=None)
                idle.update(next_look_at=now)
                signed.update(ended_at=None, next_check_at=now, **FREE)
            # Poll the swap's provider again, since it may deliver once more. A swap on one chain has no delivery.
            if not payment.is_simulated:
                Swap.objects.filter(payment=payment, delivery__isnull=False).update(next_poll_at=now)
            kind = "simulated payment" if payment.is_simulated else "payment"
            logger.error(
                "%s %s is completed, but its block was reorganised away: check it by hand", kind, payment.pk
            )


def clear_reorged(payment: Payment, held: QuerySet[Lookup] | None = None, **columns: Any) -> bool:
    """The transaction is in the chain again: clear the payment's flag. Return False if it has no flag.

    `held` selects the payment's lookup while this worker has its lease, and the `columns` are written to that row.
    If it selects no row, nothing is written. The request is not completed automatically: if it is paid in full now,
    the merchant can accept the payment.
    """
    with transaction.atomic():
        request = lock_request(payment.request_id)
        if held is not None and not held.select_for_update(no_key=True).exists():
            return False
        is_cleared = _set_reorged(request, payment, timezone.now(), reorged=False)
        Lookup.objects.filter(of_payment=payment).update(proposal_check_at=None)
        if is_cleared and held is not None:
            held.update(finality_misses=0, **columns, **FREE)
        return is_cleared


def _set_reorged(request: PaymentRequest, payment: Payment, now: datetime, *, reorged: bool) -> bool:
    """Set or clear the flag, update the request's sum, and record the event. The request must be locked."""
    unchanged = Payment.objects.filter(pk=payment.pk, status=Payment.Status.COMPLETED, reorged=not reorged)
    if not unchanged.update(reorged=reorged):
        return False
    # Compute the whole sum. Don't add to it: a worker of the previous release may have set a flag without adding.
    lost = request.payments.filter(status=Payment.Status.COMPLETED, reorged=True)
    request.amount_reorged = lost.aggregate(total=Sum("amount_received"))["total"] or 0
    PaymentRequest.objects.filter(pk=request.pk).update(amount_reorged=request.amount_reorged)
    payment.reorged = reorged
    reason = "its block was reorganised away" if reorged else "its transaction is in the chain again"
    note(payment, reason, actor="sandbox" if payment.is_simulated else "finality")
    events.record_reorged(request, payment, now)
    return True
