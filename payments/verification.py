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
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chains.clients import get_client
from chains.clients.base import ChainClient, ChainError, Snapshot
from chains.models import Chain, Token
from payments import outcomes
from payments.judging import Finality, NotFound, NotYet, Paid, Refused, Terms, judge
from payments.models import Payment, PaymentRequest
from payments.transitions import start_processing

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=90)
BATCH = 200
MAX_NOT_FOUND_RETRIES = 10
FIRST_RETRY_SECONDS = 5
LONGEST_UNANSWERED_PAUSE_SECONDS = 300
SHORTEST_LOOK_SECONDS = 1.0

Client = Callable[[Chain], ChainClient]


def verify_due(*, client: Client = get_client, now: Callable[[], datetime] = timezone.now) -> int:
    """Look at every payment that is due; return how many. `client` gives the chain's client, `now` the time."""
    claim_id, claimed = claim_due(now())
    by_chain: dict[int, list[Payment]] = defaultdict(list)
    for payment in claimed:
        by_chain[payment.chain_id].append(payment)
    for payments in by_chain.values():
        verify_on_chain(payments, claim_id, client=client, now=now)
    return len(claimed)


def claim_due(now: datetime) -> tuple[uuid.UUID, list[Payment]]:
    """Return the due payments, leased under one new claim id. Their verification has then started."""
    claim_id = uuid.uuid4()
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    due = Payment.objects.filter(free, status__in=Payment.OPEN, next_check_at__lte=now).order_by(
        "next_check_at"
    )
    with transaction.atomic():
        payments = list(due.select_for_update(skip_locked=True, of=("self",)).select_related("chain")[:BATCH])
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
    finality = Finality.parse(chain.confirmations)
    hashes = sorted({payment.transaction_hash for payment in payments})
    try:
        snapshot = client(chain).look_up(hashes, with_finality=finality.tag is not None)
    except ChainError as error:
        for payment in payments:
            postpone_unanswered(payment, claim_id, error, now())
        return
    terms = _terms([payment.request_id for payment in payments], chain)
    for payment in payments:
        try:
            settle(payment, claim_id, terms[payment.request_id], snapshot, finality, now())
        except Exception:
            # One payment's trouble must not keep the others waiting; its lease brings it back.
            logger.exception("payment %s could not be settled", payment.pk)


def settle(
    payment: Payment, claim_id: uuid.UUID, terms: Terms, snapshot: Snapshot, finality: Finality, now: datetime
) -> None:
    """Judge one payment by what the chain said, and write what follows."""
    facts = snapshot.transactions.get(payment.transaction_hash)
    verdict = judge(terms, payment.chain_id, facts, snapshot.head, finality)
    match verdict:
        case Paid():
            outcomes.complete(payment, claim_id, verdict, facts, finality, now)
        case Refused():
            outcomes.fail(payment, claim_id, verdict.code, verdict.message, now)
        case NotFound():
            _not_found(payment, claim_id, now)
        case NotYet():
            pause = max(payment.chain.block_time_ms / 1000, SHORTEST_LOOK_SECONDS)
            next_look = now + timedelta(seconds=pause)
            outcomes.keep_waiting(payment, claim_id, verdict, facts, finality, next_look=next_look, now=now)


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


def _terms(request_ids: Sequence[uuid.UUID], chain: Chain) -> dict[uuid.UUID, Terms]:
    """Return what each request asks for."""
    symbols = dict(Token.objects.filter(chain=chain).values_list("contract_address", "symbol"))
    requests = PaymentRequest.objects.filter(pk__in=request_ids).select_related("token")
    return {
        request.pk: Terms(
            chain_id=request.chain_id,
            token=request.token.contract_address,
            symbol=request.token.symbol,
            decimals=request.token.decimals,
            recipient=request.recipient_address,
            reference=bytes(request.reference) if request.references else None,
            created_at=request.created_at,
            known_tokens=symbols,
        )
        for request in requests
    }
