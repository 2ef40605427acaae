"""The verification engine: due payments are claimed, looked up chain by chain, judged, and the verdict written.

1. Claim: due rows are locked with SKIP LOCKED, given a claim id and a lease. Two workers never share one.
2. Look: for each chain one batch of questions, however many payments; outside any transaction. Meanwhile a heartbeat
   renews the leases (`config.leases`), however slow the node is.
3. Judge: `payments.judging`, pure.
4. Write: one transaction for each payment, guarded by the claim id. A worker that was too slow changes nothing.

A crash at any point leaves a row whose lease runs out within seconds; the next sweep asks again.

A swap is looked up twice: its customer's transaction, which leads to its provider (`payments.swaps.following`), and the
delivery that the provider names, on the chain of the request and by the rules of every payment.
"""

import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from chains.clients import get_client
from chains.clients.base import ChainClient, ChainError, TransactionFacts
from chains.models import Chain
from config import leases
from config.leases import Lease
from payments import outcomes, patience
from payments.claims import Case, cases_of
from payments.judging import (
    WRONG_CHAIN,
    Departed,
    Finality,
    NotFound,
    NotYet,
    Paid,
    Refused,
    Verdict,
    departed_here,
    judge,
    judge_departure,
)
from payments.looks import Look
from payments.models import FailureCode, Payment, Quote
from payments.replacements import find_replacements, follow_replacement, speeds_up
from payments.swaps import outcomes as swap_outcomes
from payments.swaps.claims import pinned_contracts, quotes_of
from payments.swaps.deliveries import settle_delivery
from payments.swaps.status import provider_name
from payments.transitions import start_processing
from payments.turns import batch_of

logger = logging.getLogger(__name__)

BATCH = 400
_REPLACED = "The wallet sent another transaction in its place. If that one pays too, submit its hash."

Client = Callable[[Chain], ChainClient]


def verify_due(*, client: Client = get_client, now: Callable[[], datetime] = timezone.now) -> int:
    """Look at every payment that is due; return how many. `client` gives the chain's client, `now` the time."""
    lease, claimed = claim_due(now())
    by_chain: dict[Chain, list[Payment]] = defaultdict(list)
    for payment in claimed:
        by_chain[payment.counted_chain].append(payment)
    with leases.kept(lease):
        for chain, payments in by_chain.items():
            try:
                verify_on_chain(chain, payments, lease, client=client, now=now)
            except SoftTimeLimitExceeded:
                raise
            except Exception:
                # One chain's trouble must not keep the others waiting; the leases bring its payments back.
                logger.exception("verification on chain %s stopped", chain.pk)
    return len(claimed)


def claim_due(now: datetime) -> tuple[Lease, list[Payment]]:
    """Return the due payments with their lease. Their verification has then started.

    Those are left out whose next word is not a chain's but a routing provider's.
    """
    return claim(due_payments(now).exclude(at_the_provider()), BATCH)


def due_payments(now: datetime) -> QuerySet[Payment]:
    """Return the payments to be looked at now that nobody looks at, the longest due first."""
    open_ones = Payment.objects.filter(is_simulated=False, status__in=Payment.OPEN)
    return open_ones.filter(leases.is_free(), next_check_at__lte=now).order_by("next_check_at")


def at_the_provider() -> Q:
    """Return the condition on swaps under way whose provider has not named a delivery yet."""
    return Q(is_bridging=True, destination_transaction_hash="")


def claim(due: QuerySet[Payment], most: int) -> tuple[Lease, list[Payment]]:
    """Return up to `most` of the due payments with their lease; what others claim is passed over.

    Where more are due, merchants take turns, and of each merchant's those come first that were not missed before:
    anyone can submit hashes of transactions that there are not.
    """
    asked_at, claim_id = time.monotonic(), uuid.uuid4()
    related = ("chain", "request__chain")
    with transaction.atomic():
        due = batch_of(due, most, merchant="request__merchant_id", first=("attempts", "next_check_at"))
        payments = list(due.select_for_update(skip_locked=True, of=("self",)).select_related(*related)[:most])
        ids = [payment.pk for payment in payments]
        Payment.objects.filter(pk__in=ids).update(claim_id=claim_id, lease_until=leases.expiry())
        start_processing(payments)
    abandoned = sum(payment.lease_until is not None for payment in payments)
    if abandoned:
        logger.warning("took over %d payments from a worker that has ended", abandoned)
    return Lease(Payment, claim_id, ids, asked_at=asked_at), payments


def verify_on_chain(
    chain: Chain,
    payments: Sequence[Payment],
    lease: Lease,
    *,
    client: Client,
    now: Callable[[], datetime],
) -> None:
    """Look up, judge and write these claimed payments, whose transactions are to be looked up on `chain`."""
    quotes = quotes_of({payment.request_id for payment in payments}, chain)
    payments = _still_held(_without_strays(payments, lease.claim_id, quotes.values(), now), lease)
    if not payments:
        return
    finality = Finality.parse(chain.confirmations)
    try:
        asked = client(chain)
        # Nonces first: a transaction mined between the two questions must not be called replaced by itself.
        used_up = _with_used_up_nonces(asked, payments)
        payments = _still_held(payments, lease)
        if not payments:
            return
        hashes = sorted({payment.counted_hash for payment in payments})
        snapshot = asked.look_up(
            hashes, with_finality=finality.tag is not None, mentioning=pinned_contracts(chain)
        )
        look = Look(lease.claim_id, snapshot, finality, now())
        held = _still_held(payments, lease)
        replacements = find_replacements(asked, chain, held, snapshot)
    except ChainError as error:
        for payment in payments:
            postpone_unanswered(payment, lease.claim_id, error, now())
        return
    unsearched = replacements.unsearched | ({p.pk for p in payments} - {p.pk for p in held})
    cases = cases_of(payments, chain, look.snapshot, quotes)
    for payment in payments:
        try:
            settle(
                payment,
                cases[payment.pk],
                look,
                is_replaced=payment.pk in used_up,
                replacement=replacements.found.get(payment.pk),
                is_unsearched=payment.pk in unsearched,
            )
        except SoftTimeLimitExceeded:
            raise
        except Exception:
            # One payment's trouble must not keep the others waiting, nor last longer than a day.
            logger.exception("payment %s could not be settled", payment.pk)
            unusable = ChainError("the answer could not be used")
            postpone_unanswered(payment, lease.claim_id, unusable, now())


def _still_held(payments: Sequence[Payment], lease: Lease) -> list[Payment]:
    """Return those that no other worker can look at meanwhile; the chain is asked about no others."""
    held = [payment for payment in payments if lease.holds(payment.pk)]
    if len(held) < len(payments):
        logger.warning("lost the leases of %d payments before a look ended", len(payments) - len(held))
    return held


def _without_strays(
    payments: Sequence[Payment], claim_id: uuid.UUID, quotes: Iterable[Quote], now: Callable[[], datetime]
) -> list[Payment]:
    """Fail payments on another chain than the requested one that can be no swap either; return the others.

    No reorganisation changes the chain that a hash was submitted for, so that fails at once.
    """
    may_swap = {quote.route.request_id for quote in quotes}
    others = []
    for payment in payments:
        if payment.crosses_chains and not payment.has_delivery and payment.request_id not in may_swap:
            outcomes.fail(payment, claim_id, FailureCode.WRONG_CHAIN, WRONG_CHAIN, now())
        else:
            others.append(payment)
    return others


def settle(
    payment: Payment,
    case: Case,
    look: Look,
    *,
    is_replaced: bool = False,
    replacement: TransactionFacts | None = None,
    is_unsearched: bool = False,
) -> None:
    """Evaluate one payment by what the chain said, and write what follows.

    `is_replaced`: another transaction of its sender was mined with its nonce. `replacement` is that one, if known;
    `is_unsearched`: it could not be looked for.
    """
    if payment.counted_hash in look.snapshot.contradicted:
        error = ChainError("the nodes contradict each other")
        postpone_unanswered(payment, look.claim_id, error, look.now)
        return
    if payment.has_delivery:
        settle_delivery(payment, case.terms, look)
        return
    facts = look.snapshot.transactions.get(payment.transaction_hash)
    match verdict := verdict_of(payment, case, look):
        case Departed() if case.quote is not None:
            name = provider_name(case.quote.provider)
            swap_outcomes.depart(payment, look.claim_id, verdict, facts, case.quote, name, look.now)
        case Paid():
            outcomes.complete(
                payment, look.claim_id, verdict, facts, look.finality, look.now, quote=case.quote
            )
        case Refused():
            outcomes.fail(
                payment,
                look.claim_id,
                verdict.code,
                verdict.message,
                look.now,
                facts=facts,
                arrived=verdict.arrived,
            )
        case NotFound():
            if is_unsearched and is_replaced and payment.attempts >= patience.LOOKS_FOR_REPLACEMENT:
                error = ChainError("what replaced it could not be looked for")
                postpone_unanswered(payment, look.claim_id, error, look.now)
            else:
                _settle_missing(payment, look, is_replaced, replacement)
        case NotYet():
            _keep_waiting(payment, verdict, facts, look, case.quote)


def verdict_of(payment: Payment, case: Case, look: Look) -> Verdict | Departed:
    """Return what the look says of the payment's own transaction."""
    facts, head = look.snapshot.transactions.get(payment.transaction_hash), look.snapshot.head
    if payment.crosses_chains:
        return judge_departure(case.terms, facts, head, look.finality)
    verdict = judge(case.terms, payment.chain_id, facts, head, look.finality)
    return departed_here(case.terms, verdict, facts, head, look.finality)


def _settle_missing(
    payment: Payment, look: Look, is_replaced: bool, replacement: TransactionFacts | None
) -> None:
    """Write that no node knows the transaction: it goes on with what replaced it, fails, or is looked for again."""
    if replacement is not None and speeds_up(payment, replacement):
        follow_replacement(payment, look.claim_id, replacement, look.now)
        return
    is_known_to_differ = replacement is not None and replacement.block is not None
    refused = Refused(FailureCode.TRANSACTION_REPLACED, _REPLACED)
    if (
        replacement is not None
        and is_known_to_differ
        and not look.finality.is_reached(replacement, look.snapshot.head)
    ):
        # Until then a reorganisation can put the payment's own transaction back in its place.
        _keep_waiting(payment, NotYet(_REPLACED, likely=refused), None, look)
        return
    # Where no node tells what replaced it, the page is given time to submit it.
    if is_known_to_differ or (is_replaced and payment.attempts >= patience.LOOKS_FOR_REPLACEMENT):
        outcomes.fail(payment, look.claim_id, refused.code, refused.message, look.now)
        return
    _not_found(payment, look.claim_id, look.now)


def _keep_waiting(
    payment: Payment, verdict: NotYet, facts: TransactionFacts | None, look: Look, quote: Quote | None = None
) -> None:
    next_look = look.now + patience.about_a_block(payment.chain.block_time_ms)
    outcomes.keep_waiting(
        payment,
        look.claim_id,
        verdict,
        facts,
        look.finality,
        next_look=next_look,
        now=look.now,
        quote=quote,
    )


def _with_used_up_nonces(client: ChainClient, payments: Sequence[Payment]) -> set[str]:
    """Return the payments, seen waiting and missed once since, whose sender has another transaction mined by now.

    If such a payment is still unknown to the nodes when it is looked up next, it was replaced.
    """
    missed = {
        payment.pk: (payment.from_address, payment.nonce)
        for payment in payments
        if payment.nonce is not None and payment.attempts >= 1 and not payment.has_delivery
    }
    if not missed:
        return set()
    try:
        counts = client.transaction_counts(sorted({sender for sender, _ in missed.values()}))
    except ChainError:
        return set()  # a guess that can wait; the look itself must not
    return {pk for pk, (sender, nonce) in missed.items() if counts.get(sender, 0) > nonce}


def _not_found(payment: Payment, claim_id: uuid.UUID, now: datetime) -> None:
    """Use one of the ten retries, or give up after the last."""
    if payment.attempts >= patience.MAX_RETRIES_OF_LOOKS:
        outcomes.fail_as_not_found(payment, claim_id, now)
        return
    outcomes.look_again_for_missing(payment, claim_id, now + patience.before_next_try(payment.attempts))


def postpone_unanswered(payment: Payment, claim_id: uuid.UUID, error: ChainError, now: datetime) -> None:
    """Ask again later without using a retry: a node's fault is never the payment's."""
    pause = patience.before_asking_again(payment.unanswered_looks, error.retry_after)
    outcomes.keep_unanswered(payment, claim_id, next_look=now + pause, now=now)
