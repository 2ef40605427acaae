"""The verification engine: lease due lookups, query each chain's nodes, evaluate the payments, store the results.

1. Lease due rows: lock them with SKIP LOCKED, and give them a claim id. Two workers never lease the same row.
2. Look up the transactions outside any database transaction, in one batch of calls per chain. Meanwhile the leases are
   renewed (`config.due_work.leases`), even if a node is slow.
3. Evaluate the payments (`payments.evaluation.verdicts`, pure functions).
4. Store many payments in one transaction (`payments.verification.storing`). Each write requires the claim id, so a
   worker whose lease has expired changes nothing.

If a worker crashes, its leases expire within seconds, and another worker verifies the payments.

A swap has two lookups: the customer's transaction, and later the delivery that the provider reports
(`payments.swaps.following`). The delivery is verified on the request's chain, by the rules of a direct payment.
"""

import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.health import finality_still_since
from chains.models import Chain
from config.api.log_context import log_context
from config.due_work import leases
from config.due_work.leases import Lease
from config.tracing.recording import traced
from payments.coins.lookups import look_up
from payments.evaluation.messages import WRONG_CHAIN
from payments.evaluation.verdicts import Finality
from payments.models import FailureCode, Lookup, Quote
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
    """Verify a batch of the chain's due lookups. Return the number of lookups."""
    lease, lookups = claim_due(now(), chain_id)
    if lookups:
        with (
            log_context(chain_id=chain_id),
            traced("verify payments", about=partial(_subjects, lookups)),
            leases.kept(lease),
        ):
            verify_on_chain(lookups[0].chain, lookups, lease, swaps=swaps, client=client, now=now)
    return len(lookups)


def _subjects(lookups: Sequence[Lookup]) -> list[dict[str, str]]:
    """Return the payments' ids, for tracing."""
    payments = [lookup.payment for lookup in lookups]
    return [{"payment_id": each.pk, "payment_request_id": str(each.request_id)} for each in payments]


def verify_on_chain(
    chain: Chain,
    lookups: Sequence[Lookup],
    lease: Lease,
    *,
    swaps: SwapHandler,
    client: Client,
    now: Callable[[], datetime],
) -> None:
    """Look up these transactions, evaluate their payments, and store the results. The lookups must be leased."""
    quotes = quotes_of({lookup.payment.request_id for lookup in lookups}, chain)
    lookups = _still_held(_without_strays(lookups, lease.claim_id, quotes.values(), now), lease)
    if not lookups:
        return
    still_since = finality_still_since(chain, now())
    finality = Finality.parse(chain.confirmations, chain.confirmations_fallback, still_since)
    try:
        chain_client = client(chain)
        # Read the nonces before the transactions. If the transactions were read first, a transaction that is
        # mined between the two calls would seem to be replaced.
        used_up = _with_used_up_nonces(chain_client, lookups)
        lookups = _still_held(lookups, lease)
        if not lookups:
            return
        snapshot = look_up(
            chain_client,
            lookups,
            with_finality=finality.tag is not None,
            mentioning=pinned_contracts(chain),
        )
        check = ChainCheck(lease.claim_id, snapshot, finality, now())
        held = _still_held(lookups, lease)
        replacements = find_replacements(chain_client, chain, held, snapshot)
    except ChainError as error:
        time = now()
        store_all([unanswered(lookup, error, time) for lookup in lookups], lease.claim_id, time)
        return
    unsearched = replacements.unsearched | {each.payment_id for each in {*lookups} - {*held}}
    inputs = collect_evidence(lookups, chain, check.snapshot, quotes)
    # Credit an address's earlier payments of native coin first, because its later balances include them.
    lookups = sorted(lookups, key=lambda each: each.payment.deposit_sequence or 0)
    outcomes: list[Outcome] = []
    for lookup in lookups:
        payment = lookup.payment
        with log_context(payment_id=payment.pk, payment_request_id=payment.request_id):
            try:
                outcome = outcome_of(
                    lookup,
                    inputs[payment.pk],
                    check,
                    swaps=swaps,
                    is_replaced=payment.pk in used_up,
                    replacement=replacements.by_payment.get(payment.pk),
                    is_unsearched=payment.pk in unsearched,
                )
            except Exception:
                # The failure of one payment must not delay the others. Postpone its check: the payment times
                # out after a day.
                logger.exception("payment %s could not be evaluated", payment.pk)
                outcome = unanswered(lookup, UNUSABLE, check.now)
        outcomes.append(outcome)
    store_all(outcomes, check.claim_id, check.now)


def _still_held(lookups: Sequence[Lookup], lease: Lease) -> list[Lookup]:
    """Return the lookups whose lease is still valid."""
    held = [lookup for lookup in lookups if lease.holds(lookup.pk)]
    if len(held) < len(lookups):
        logger.warning("lost the leases of %d payments before their check ended", len(lookups) - len(held))
    return held


def _without_strays(
    lookups: Sequence[Lookup], claim_id: uuid.UUID, quotes: Iterable[Quote], now: Callable[[], datetime]
) -> list[Lookup]:
    """Fail payments on another chain than the requested one, unless they may be swaps. Return the other lookups.

    A payment on another chain fails immediately: a reorganisation can't change the chain of a submitted hash.
    """
    may_swap = {quote.route.request_id for quote in quotes}
    strays, others = [], []
    for lookup in lookups:
        request = lookup.payment.request
        if lookup.chain_id != request.chain_id and request.pk not in may_swap:
            strays.append(Failed(lookup.payment, FailureCode.WRONG_CHAIN, WRONG_CHAIN))
        else:
            others.append(lookup)
    store_all(strays, claim_id, now())
    return others


def _with_used_up_nonces(client: ChainClient, lookups: Sequence[Lookup]) -> set[str]:
    """Return the ids of payments whose nonce was used by a mined transaction.

    A payment is checked only if its unmined transaction was seen once and then missed by a lookup. If the next lookup
    misses it too, the transaction was replaced.
    """
    missed = {
        lookup.payment_id: (lookup.payment.from_address, nonce)
        for lookup in lookups
        if (nonce := lookup.payment.nonce) is not None
        and lookup.payment.attempts >= 1
        and not lookup.is_delivery
    }
    if not missed:
        return set()
    try:
        counts = client.transaction_counts(sorted({sender for sender, _ in missed.values()}))
    except ChainError:
        return set()  # Continue without the nonces. The nonces can wait for the next check, the lookup can't.
    return {pk for pk, (sender, nonce) in missed.items() if counts.get(sender, 0) > nonce}
