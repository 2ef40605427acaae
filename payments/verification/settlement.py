"""Write what one look at a chain means for one payment.

What only swaps need is passed in as a `SwapHandler`: a direct payment enters no code of swaps.
"""

import uuid
from datetime import datetime
from typing import Protocol

from chains.client import ChainError, TransactionFacts
from payments.evaluation.verdicts import (
    Departed,
    NotFound,
    NotYet,
    Paid,
    Refused,
    Terms,
    Verdict,
    departed_here,
    evaluate,
    evaluate_departure,
)
from payments.models import FailureCode, Payment, Quote
from payments.verification import outcomes, retry_policy
from payments.verification.evidence import Case
from payments.verification.looks import Look
from payments.verification.replacements import follow_replacement, speeds_up

_REPLACED = "The wallet sent another transaction in its place. If that one pays too, submit its hash."


class SwapHandler(Protocol):
    """What verification needs from swaps. `payments.swaps.deliveries` provides it."""

    def start_bridging(
        self, payment: Payment, verdict: Departed, facts: TransactionFacts | None, quote: Quote, look: Look
    ) -> None:
        """Store that the customer's transaction is mined and starts the swap of `quote`."""

    def settle_delivery(self, payment: Payment, terms: Terms, look: Look) -> None:
        """Evaluate the transaction that the provider reports as the delivery, and store the result."""


def settle(
    payment: Payment,
    case: Case,
    look: Look,
    *,
    swaps: SwapHandler,
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
        swaps.settle_delivery(payment, case.terms, look)
        return
    facts = look.snapshot.transactions.get(payment.transaction_hash)
    match verdict := verdict_of(payment, case, look):
        case Departed() if case.quote is not None:
            swaps.start_bridging(payment, verdict, facts, case.quote, look)
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
            if is_unsearched and is_replaced and payment.attempts >= retry_policy.LOOKS_FOR_REPLACEMENT:
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
        return evaluate_departure(case.terms, facts, head, look.finality)
    verdict = evaluate(case.terms, payment.chain_id, facts, head, look.finality)
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
    if is_known_to_differ or (is_replaced and payment.attempts >= retry_policy.LOOKS_FOR_REPLACEMENT):
        outcomes.fail(payment, look.claim_id, refused.code, refused.message, look.now)
        return
    _not_found(payment, look.claim_id, look.now)


def _keep_waiting(
    payment: Payment, verdict: NotYet, facts: TransactionFacts | None, look: Look, quote: Quote | None = None
) -> None:
    next_look = look.now + retry_policy.about_a_block(payment.chain.block_time_ms)
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


def _not_found(payment: Payment, claim_id: uuid.UUID, now: datetime) -> None:
    """Use one of the ten retries, or give up after the last."""
    if payment.attempts >= retry_policy.MAX_RETRIES_OF_LOOKS:
        outcomes.fail_as_not_found(payment, claim_id, now)
        return
    outcomes.look_again_for_missing(payment, claim_id, now + retry_policy.before_next_try(payment.attempts))


def postpone_unanswered(payment: Payment, claim_id: uuid.UUID, error: ChainError, now: datetime) -> None:
    """Ask again later without using a retry: a node's fault is never the payment's."""
    pause = retry_policy.before_asking_again(payment.unanswered_looks, error.retry_after)
    outcomes.keep_unanswered(payment, claim_id, next_look=now + pause, now=now)
