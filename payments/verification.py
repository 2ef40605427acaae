"""The verification engine: due payments are claimed, looked up chain by chain, judged, and the verdict written.

1. Claim: due rows are locked with SKIP LOCKED, given a claim id and a lease. Two workers never share one.
2. Look: for each chain one batch of questions, however many payments; outside any transaction.
3. Judge: `payments.judging`, pure.
4. Write: one transaction for each payment, guarded by the claim id. A worker that was too slow changes nothing.

A crash at any point leaves a row whose lease runs out; the next sweep asks again.
"""

import logging
import random
import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chains.clients import get_client
from chains.clients.base import ChainClient, ChainError, Snapshot
from chains.models import Chain
from payments import outcomes
from payments.claims import terms_of
from payments.judging import WRONG_CHAIN, Finality, NotFound, NotYet, Paid, Refused, Terms, judge
from payments.models import FailureCode, Payment
from payments.transitions import start_processing

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=90)
BATCH = 400
MAX_NOT_FOUND_RETRIES = 10
FIRST_RETRY_SECONDS = 5
LONGEST_UNANSWERED_PAUSE_SECONDS = 300
SHORTEST_LOOK_SECONDS = 1.0

Client = Callable[[Chain], ChainClient]


@dataclass(frozen=True)
class Look:
    """One look at a chain: the claim under which results are written, what was seen, and when."""

    claim_id: uuid.UUID
    snapshot: Snapshot
    finality: Finality
    now: datetime


def verify_due(*, client: Client = get_client, now: Callable[[], datetime] = timezone.now) -> int:
    """Look at every payment that is due; return how many. `client` gives the chain's client, `now` the time."""
    claim_id, claimed = claim_due(now())
    by_chain: dict[int, list[Payment]] = defaultdict(list)
    for payment in claimed:
        by_chain[payment.chain_id].append(payment)
    for payments in by_chain.values():
        try:
            verify_on_chain(payments, claim_id, client=client, now=now)
        except SoftTimeLimitExceeded:
            raise
        except Exception:
            # One chain's trouble must not keep the others waiting; the leases bring its payments back.
            logger.exception("verification on chain %s stopped", payments[0].chain_id)
    return len(claimed)


def claim_due(now: datetime) -> tuple[uuid.UUID, list[Payment]]:
    """Return the due payments, leased under one new claim id. Their verification has then started."""
    claim_id = uuid.uuid4()
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    due = Payment.objects.filter(
        free, is_simulated=False, status__in=Payment.OPEN, next_check_at__lte=now
    ).order_by("next_check_at")
    with transaction.atomic():
        payments = list(
            due.select_for_update(skip_locked=True, of=("self",)).select_related("chain", "request")[:BATCH]
        )
        Payment.objects.filter(pk__in=[payment.pk for payment in payments]).update(
            claim_id=claim_id, lease_until=now + LEASE
        )
        start_processing(payments)
    return claim_id, payments


def verify_on_chain(
    payments: Sequence[Payment], claim_id: uuid.UUID, *, client: Client, now: Callable[[], datetime]
) -> None:
    """Look up, judge and write these claimed payments of one chain."""
    chain = payments[0].chain
    for payment in payments:
        if payment.request.chain_id != chain.pk:
            # Known without asking anybody, and said at once (contract 6).
            outcomes.fail(payment, claim_id, FailureCode.WRONG_CHAIN, WRONG_CHAIN, now())
    payments = [payment for payment in payments if payment.request.chain_id == chain.pk]
    if not payments:
        return
    finality = Finality.parse(chain.confirmations)
    hashes = sorted({payment.transaction_hash for payment in payments})
    try:
        asked = client(chain)
        # Nonces first: a transaction mined between the two questions must not be called replaced by itself.
        used_up = _with_used_up_nonces(asked, payments)
        look = Look(claim_id, asked.look_up(hashes, with_finality=finality.tag is not None), finality, now())
    except ChainError as error:
        for payment in payments:
            postpone_unanswered(payment, claim_id, error, now())
        return
    terms = terms_of(payments, look.snapshot)
    for payment in payments:
        try:
            settle(payment, terms[payment.pk], look, is_replaced=payment.pk in used_up)
        except SoftTimeLimitExceeded:
            raise
        except Exception:
            # One payment's trouble must not keep the others waiting; its lease brings it back.
            logger.exception("payment %s could not be settled", payment.pk)


def settle(payment: Payment, terms: Terms, look: Look, *, is_replaced: bool = False) -> None:
    """Judge one payment by what the chain said, and write what follows."""
    if payment.transaction_hash in look.snapshot.contradicted:
        error = ChainError("the nodes contradict each other")
        postpone_unanswered(payment, look.claim_id, error, look.now)
        return
    facts = look.snapshot.transactions.get(payment.transaction_hash)
    verdict = judge(terms, payment.chain_id, facts, look.snapshot.head, look.finality)
    match verdict:
        case Paid():
            outcomes.complete(payment, look.claim_id, verdict, facts, look.finality, look.now)
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
        case NotFound() if is_replaced:
            message = "The wallet sent another transaction in its place; submit that one's hash."
            outcomes.fail(payment, look.claim_id, FailureCode.TRANSACTION_REPLACED, message, look.now)
        case NotFound():
            _not_found(payment, look.claim_id, look.now)
        case NotYet():
            pause = max(payment.chain.block_time_ms / 1000, SHORTEST_LOOK_SECONDS)
            next_look = look.now + timedelta(seconds=pause)
            outcomes.keep_waiting(
                payment, look.claim_id, verdict, facts, look.finality, next_look=next_look, now=look.now
            )


def _with_used_up_nonces(client: ChainClient, payments: Sequence[Payment]) -> set[str]:
    """Return the payments, seen waiting and missed once since, whose sender has another transaction mined by now.

    If such a one is still unknown to the nodes when it is looked up next, it was replaced.
    """
    missed = {
        payment.pk: (payment.from_address, payment.nonce)
        for payment in payments
        if payment.nonce is not None and payment.attempts >= 1
    }
    if not missed:
        return set()
    try:
        counts = client.transaction_counts(sorted({sender for sender, _ in missed.values()}))
    except ChainError:
        return set()  # a guess that can wait; the look itself must not
    return {pk for pk, (sender, nonce) in missed.items() if counts.get(sender, 0) > nonce}


def _not_found(payment: Payment, claim_id: uuid.UUID, now: datetime) -> None:
    """Use one of the retries of spec 3.2, or give up after the last."""
    if payment.attempts >= MAX_NOT_FOUND_RETRIES:
        outcomes.fail_as_not_found(payment, claim_id, now)
        return
    pause = FIRST_RETRY_SECONDS * 2**payment.attempts * random.uniform(1, 1.1)  # noqa: S311 - jitter
    outcomes.look_again_for_missing(payment, claim_id, now + timedelta(seconds=pause))


def postpone_unanswered(payment: Payment, claim_id: uuid.UUID, error: ChainError, now: datetime) -> None:
    """Ask again later without using a retry: a node's fault is never the payment's."""
    pause = min(2 ** min(payment.unanswered_looks, 16), LONGEST_UNANSWERED_PAUSE_SECONDS)
    pause_seconds = max(pause, min(error.retry_after or 0, LONGEST_UNANSWERED_PAUSE_SECONDS))
    outcomes.keep_unanswered(payment, claim_id, next_look=now + timedelta(seconds=pause_seconds), now=now)
