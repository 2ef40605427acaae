"""The verification engine: lease due payments, look them up chain by chain, evaluate them and store the results.

1. Lease: due rows are locked with SKIP LOCKED and given a claim id and a lease. Two workers never share one.
2. Look up: one batch of node calls per chain, whatever the number of payments, outside any transaction. A heartbeat
   (`config.due_work.leases`) keeps renewing the leases, however slow the node is.
3. Evaluate: `payments.evaluation.verdicts`, pure.
4. Store: `payments.verification.storing`, many payments in one transaction. Every write is guarded by the claim id: a
   worker whose lease expired changes nothing.

After a crash the leases expire within seconds, and the next sweep verifies the payments again.

A swap is looked up twice: the customer's transaction first, then the delivery that the provider reports
(`payments.swaps.following`), on the request's chain and by the same rules as a direct payment.
"""

import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.models import Chain
from config.api.log_context import log_context
from config.due_work import leases
from config.due_work.leases import Lease
from config.tracing.recording import traced
from payments.evaluation.verdicts import WRONG_CHAIN, Finality
from payments.models import FailureCode, Payment, Quote
from payments.verification.attempts import SwapHandler, outcome_of
from payments.verification.evidence import ChainCheck, collect_evidence
from payments.verification.leasing import claim_due
from payments.verification.outcomes import UNUSABLE, Failed, Outcome, unanswered
from payments.verification.quote_evidence import pinned_contracts, quotes_of
from payments.verification.replacements import find_replacements
from payments.verification.storing import store_all

logger = logging.getLogger(__name__)

Client = Callable[[Chain], ChainClient]


def verify_due(
    chain_id: int,
    *,
    swaps: SwapHandler,
    client: Client = get_client,
    now: Callable[[], datetime] = timezone.now,
) -> int:
    """Verify a batch of the payments that are due on this chain; return how many there were."""
    lease, payments = claim_due(now(), chain_id)
    if payments:
        with (
            log_context(chain_id=chain_id),
            traced("verify payments", about=partial(_subjects, payments)),
            leases.kept(lease),
        ):
            verify_on_chain(payments[0].counted_chain, payments, lease, swaps=swaps, client=client, now=now)
    return len(payments)


def _subjects(payments: Sequence[Payment]) -> list[dict[str, str]]:
    """Return the ids of the payments, for their traces."""
    return [{"payment_id": each.pk, "payment_request_id": str(each.request_id)} for each in payments]


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
        chain_client = client(chain)
        # Nonces first: a transaction mined between the two calls must not count as replaced by itself.
        used_up = _with_used_up_nonces(chain_client, payments)
        payments = _still_held(payments, lease)
        if not payments:
            return
        hashes = sorted({payment.counted_hash for payment in payments})
        snapshot = chain_client.look_up(
            hashes, with_finality=finality.tag is not None, mentioning=pinned_contracts(chain)
        )
        check = ChainCheck(lease.claim_id, snapshot, finality, now())
        held = _still_held(payments, lease)
        replacements = find_replacements(chain_client, chain, held, snapshot)
    except ChainError as error:
        time = now()
        store_all([unanswered(payment, error, time) for payment in payments], lease.claim_id, time)
        return
    unsearched = replacements.unsearched | ({p.pk for p in payments} - {p.pk for p in held})
    inputs = collect_evidence(payments, chain, check.snapshot, quotes)
    outcomes: list[Outcome] = []
    for payment in payments:
        with log_context(payment_id=payment.pk, payment_request_id=payment.request_id):
            try:
                outcome = outcome_of(
                    payment,
                    inputs[payment.pk],
                    check,
                    swaps=swaps,
                    is_replaced=payment.pk in used_up,
                    replacement=replacements.by_payment.get(payment.pk),
                    is_unsearched=payment.pk in unsearched,
                )
            except Exception:
                # A failure of one payment must not delay the others. Postponing it lets it time out after a day.
                logger.exception("payment %s could not be evaluated", payment.pk)
                outcome = unanswered(payment, UNUSABLE, check.now)
        outcomes.append(outcome)
    store_all(outcomes, check.claim_id, check.now)


def _still_held(payments: Sequence[Payment], lease: Lease) -> list[Payment]:
    """Return the payments whose lease is still valid; only these are looked up."""
    held = [payment for payment in payments if lease.holds(payment.pk)]
    if len(held) < len(payments):
        logger.warning("lost the leases of %d payments before their check ended", len(payments) - len(held))
    return held


def _without_strays(
    payments: Sequence[Payment], claim_id: uuid.UUID, quotes: Iterable[Quote], now: Callable[[], datetime]
) -> list[Payment]:
    """Fail payments on a chain that was not requested, unless they may be swaps; return the others.

    They fail at once, since no reorganisation changes the chain that a hash was submitted for.
    """
    may_swap = {quote.route.request_id for quote in quotes}
    strays, others = [], []
    for payment in payments:
        if payment.crosses_chains and not payment.has_delivery and payment.request_id not in may_swap:
            strays.append(Failed(payment, FailureCode.WRONG_CHAIN, WRONG_CHAIN))
        else:
            others.append(payment)
    store_all(strays, claim_id, now())
    return others


def _with_used_up_nonces(client: ChainClient, payments: Sequence[Payment]) -> set[str]:
    """Return the ids of payments whose nonce was used by a mined transaction.

    Only payments that a node has seen unmined and that were missing at least once since are checked. If no node knows
    such a payment at its next lookup, it was replaced.
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
        return set()  # can wait for the next check; the lookup itself must not
    return {pk for pk, (sender, nonce) in missed.items() if counts.get(sender, 0) > nonce}
