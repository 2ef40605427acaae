"""Finish one verification attempt: evaluate a payment against a chain check and store the result.

The handling of swaps is passed in as a `SwapHandler`, so that a direct payment never enters swap code.
"""

import uuid
from datetime import datetime
from typing import Protocol

from chains.client import ChainError, TransactionFacts
from payments.evaluation.verdicts import (
    NotFound,
    NotYet,
    Paid,
    Refused,
    SwapStarted,
    Terms,
    Verdict,
    evaluate,
    evaluate_possible_swap_start,
    evaluate_swap_start,
)
from payments.models import FailureCode, Payment, Quote
from payments.verification import outcomes, retry_policy
from payments.verification.checks import ChainCheck
from payments.verification.evidence import EvaluationInput
from payments.verification.replacements import follow_replacement, speeds_up

_REPLACED = "The wallet sent another transaction in its place. If that one pays too, submit its hash."


class SwapHandler(Protocol):
    """What verification needs from swaps. `payments.swaps.deliveries` provides it."""

    def start_bridging(
        self,
        payment: Payment,
        verdict: SwapStarted,
        facts: TransactionFacts | None,
        quote: Quote,
        check: ChainCheck,
    ) -> None:
        """Store that the customer's transaction is mined and has started the swap of `quote`."""

    def verify_delivery(self, payment: Payment, terms: Terms, check: ChainCheck) -> None:
        """Evaluate the transaction that the provider reports as the delivery, and store the result."""


def finish_attempt(
    payment: Payment,
    evaluation_input: EvaluationInput,
    check: ChainCheck,
    *,
    swaps: SwapHandler,
    is_replaced: bool = False,
    replacement: TransactionFacts | None = None,
    is_unsearched: bool = False,
) -> None:
    """Evaluate one payment against the chain check and store the result.

    `is_replaced`: the sender had another transaction mined with the payment's nonce. `replacement` is that
    transaction, if known. `is_unsearched`: the nodes could not be searched for it.
    """
    if payment.counted_hash in check.snapshot.contradicted:
        error = ChainError("the nodes contradict each other")
        postpone_unanswered(payment, check.claim_id, error, check.now)
        return
    if payment.has_delivery:
        swaps.verify_delivery(payment, evaluation_input.terms, check)
        return
    facts = check.snapshot.transactions.get(payment.transaction_hash)
    match verdict := verdict_of(payment, evaluation_input, check):
        case SwapStarted() if evaluation_input.quote is not None:
            swaps.start_bridging(payment, verdict, facts, evaluation_input.quote, check)
        case Paid():
            outcomes.complete(
                payment,
                check.claim_id,
                verdict,
                facts,
                check.finality,
                check.now,
                quote=evaluation_input.quote,
            )
        case Refused():
            outcomes.fail(
                payment,
                check.claim_id,
                verdict.code,
                verdict.message,
                check.now,
                facts=facts,
                arrived=verdict.arrived,
            )
        case NotFound():
            if is_unsearched and is_replaced and payment.attempts >= retry_policy.CHECKS_UNTIL_REPLACED:
                error = ChainError("no node could be searched for the replacement")
                postpone_unanswered(payment, check.claim_id, error, check.now)
            else:
                _finish_missing(payment, check, is_replaced, replacement)
        case NotYet():
            _keep_waiting(payment, verdict, facts, check, evaluation_input.quote)


def verdict_of(
    payment: Payment, evaluation_input: EvaluationInput, check: ChainCheck
) -> Verdict | SwapStarted:
    """Evaluate the payment's own transaction."""
    facts, head = check.snapshot.transactions.get(payment.transaction_hash), check.snapshot.head
    if payment.crosses_chains:
        return evaluate_swap_start(evaluation_input.terms, facts, head, check.finality)
    verdict = evaluate(evaluation_input.terms, payment.chain_id, facts, head, check.finality)
    return evaluate_possible_swap_start(evaluation_input.terms, verdict, facts, head, check.finality)


def _finish_missing(
    payment: Payment, check: ChainCheck, is_replaced: bool, replacement: TransactionFacts | None
) -> None:
    """Handle a transaction that no node knows: follow its replacement, fail, or check again later."""
    if replacement is not None and speeds_up(payment, replacement):
        follow_replacement(payment, check.claim_id, replacement, check.now)
        return
    is_known_to_differ = replacement is not None and replacement.block is not None
    refused = Refused(FailureCode.TRANSACTION_REPLACED, _REPLACED)
    if (
        replacement is not None
        and is_known_to_differ
        and not check.finality.is_reached(replacement, check.snapshot.head)
    ):
        # Until the replacement is deep enough, a reorganisation can bring the payment's own transaction back.
        _keep_waiting(payment, NotYet(_REPLACED, likely=refused), None, check)
        return
    # If no node names the replacement, the checkout gets time to submit it.
    if is_known_to_differ or (is_replaced and payment.attempts >= retry_policy.CHECKS_UNTIL_REPLACED):
        outcomes.fail(payment, check.claim_id, refused.code, refused.message, check.now)
        return
    _retry_or_fail(payment, check.claim_id, check.now)


def _keep_waiting(
    payment: Payment,
    verdict: NotYet,
    facts: TransactionFacts | None,
    check: ChainCheck,
    quote: Quote | None = None,
) -> None:
    outcomes.keep_waiting(
        payment,
        check.claim_id,
        verdict,
        facts,
        check.finality,
        next_check=next_check_for_confirmations(payment, check),
        now=check.now,
        quote=quote,
    )


def next_check_for_confirmations(payment: Payment, check: ChainCheck) -> datetime:
    """Return when a transaction that needs more confirmations is looked up again."""
    return check.now + retry_policy.pause_for_confirmations(payment.chain.block_time_ms)


def _retry_or_fail(payment: Payment, claim_id: uuid.UUID, now: datetime) -> None:
    """Use one of the ten retries, or fail the payment after the last."""
    if payment.attempts >= retry_policy.MAX_MISSED_CHECKS:
        outcomes.fail_as_not_found(payment, claim_id, now)
        return
    outcomes.retry_missing(payment, claim_id, now + retry_policy.pause_after_miss(payment.attempts))


def postpone_unanswered(payment: Payment, claim_id: uuid.UUID, error: ChainError, now: datetime) -> None:
    """Check again later without using a retry: an unavailable node is not the payment's fault."""
    pause = retry_policy.pause_after_no_answer(payment.unanswered_looks, error.retry_after)
    outcomes.keep_unanswered(payment, claim_id, next_check=now + pause, now=now)
