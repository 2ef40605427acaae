"""The verification engine: lease due payments, look them up chain by chain, evaluate them and store the results.

1. Lease: due rows are locked with SKIP LOCKED and given a claim id and a lease. Two workers never share one.
2. Look up: for each chain one batch of questions, however many payments, outside any transaction. A heartbeat renews
   the leases (`config.leases`) meanwhile, however slow the node is.
3. Evaluate: `payments.evaluation.verdicts`, pure.
4. Store: one transaction for each payment, guarded by the claim id. A worker whose lease expired changes nothing.

After a crash the leases expire within seconds, and the next sweep verifies the payments again.

A swap is looked up twice: the customer's transaction first, then the delivery that the provider reports
(`payments.swaps.following`), on the chain of the request and by the same rules as every payment.
"""

import logging
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from celery.exceptions import SoftTimeLimitExceeded
from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.models import Chain
from config import leases
from config.leases import Lease
from payments.evaluation.verdicts import WRONG_CHAIN, Finality
from payments.models import FailureCode, Payment, Quote
from payments.verification import outcomes
from payments.verification.evidence import cases_of
from payments.verification.leasing import claim_due
from payments.verification.looks import Look
from payments.verification.quote_evidence import pinned_contracts, quotes_of
from payments.verification.replacements import find_replacements
from payments.verification.settlement import SwapHandler, postpone_unanswered, settle

logger = logging.getLogger(__name__)

Client = Callable[[Chain], ChainClient]


def verify_due(
    *, swaps: SwapHandler, client: Client = get_client, now: Callable[[], datetime] = timezone.now
) -> int:
    """Verify every payment that is due; return how many. `client` returns a chain's client, `now` the time."""
    lease, claimed = claim_due(now())
    by_chain: dict[Chain, list[Payment]] = defaultdict(list)
    for payment in claimed:
        by_chain[payment.counted_chain].append(payment)
    with leases.kept(lease):
        for chain, payments in by_chain.items():
            try:
                verify_on_chain(chain, payments, lease, swaps=swaps, client=client, now=now)
            except SoftTimeLimitExceeded:
                raise
            except Exception:
                # One chain's trouble must not keep the others waiting; the leases bring its payments back.
                logger.exception("verification on chain %s stopped", chain.pk)
    return len(claimed)


def verify_on_chain(
    chain: Chain,
    payments: Sequence[Payment],
    lease: Lease,
    *,
    swaps: SwapHandler,
    client: Client,
    now: Callable[[], datetime],
) -> None:
    """Look up and evaluate these leased payments on `chain`, and store the results."""
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
                swaps=swaps,
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
