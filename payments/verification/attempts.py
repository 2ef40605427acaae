"""Evaluate a payment by the results of a chain check. The outcome is stored by `payments.verification.storing`.

The caller passes in a `SwapHandler` for swaps, so that a direct payment never runs code for swaps.
"""

from typing import Protocol

from chains.client import ChainError, TransactionFacts
from payments.evaluation.authorized import being_sent, is_undecided
from payments.evaluation.retry_policy import CHECKS_UNTIL_REPLACED, CHECKS_UNTIL_UNREADABLE
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
from payments.models import FailureCode, Lookup, Payment, Quote, live_authorization
from payments.verification.evidence import ChainCheck, EvaluationInput
from payments.verification.outcomes import (
    UNKNOWN_FORM,
    Attached,
    Completed,
    Failed,
    Followed,
    Outcome,
    Postponed,
    Unexecuted,
    missing,
    refused,
    unanswered,
    waiting,
)
from payments.verification.replacements import speeds_up

_REPLACED = Refused(
    FailureCode.TRANSACTION_REPLACED,
    "The wallet sent another transaction in its place. If that one pays too, submit its hash.",
)


class SwapHandler(Protocol):
    """Verification calls these functions for swaps."""

    def started(
        self,
        lookup: Lookup,
        verdict: SwapStarted,
        facts: TransactionFacts | None,
        quote: Quote,
        check: ChainCheck,
    ) -> Postponed:
        """The customer's transaction is mined and started the swap of `quote`."""

    def delivered(self, lookup: Lookup, terms: Terms, check: ChainCheck) -> Completed | Failed | Postponed:
        """Evaluate the transaction that the provider reports as the delivery."""


def outcome_of(
    lookup: Lookup,
    evaluation_input: EvaluationInput,
    check: ChainCheck,
    *,
    swaps: SwapHandler,
    is_replaced: bool = False,
    replacement: TransactionFacts | None = None,
    is_unsearched: bool = False,
) -> Outcome:
    """Evaluate a lookup by the results of the chain check.

    - `is_replaced`: another mined transaction of the sender has the payment's nonce.
    - `replacement`: that transaction, if known.
    - `is_unsearched`: the search for that transaction could not be completed.
    """
    if lookup.transaction_hash in check.snapshot.contradicted:
        return unanswered(lookup, ChainError("the nodes contradict each other"), check.now)
    if lookup.is_delivery:
        return swaps.delivered(lookup, evaluation_input.terms, check)
    facts, quote = check.snapshot.transactions.get(lookup.transaction_hash), evaluation_input.quote
    verdict = verdict_of(lookup, evaluation_input, check)
    if (authorization := live_authorization(lookup.payment)) is not None and is_undecided(verdict):
        return waiting(lookup, being_sent(authorization), None, check)
    match verdict:
        case SwapStarted():
            if quote is None:
                raise ValueError("a transaction that starts a swap names its quote")
            return swaps.started(lookup, verdict, facts, quote, check)
        case Paid():
            return Completed(lookup, verdict, facts, check.finality, quote)
        case Refused():
            if _may_become_readable(lookup, facts):
                error = ChainError("the transaction has an unknown form")
                return unanswered(lookup, error, check.now, UNKNOWN_FORM)
            return refused(lookup, verdict, facts, check.now)
        case NotFound():
            if is_unsearched and is_replaced and lookup.payment.attempts >= CHECKS_UNTIL_REPLACED:
                error = ChainError("no node could be searched for the replacement")
                return unanswered(lookup, error, check.now)
            return _missing(lookup, check, is_replaced, replacement)
        case NotYet():
            is_at_address = verdict.bound is not None and verdict.bound.by == Payment.BoundBy.ADDRESS
            if is_at_address and evaluation_input.difference is not None and facts is not None:
                return Attached(lookup, facts)
            return waiting(lookup, verdict, facts, check, quote)


def verdict_of(lookup: Lookup, evaluation_input: EvaluationInput, check: ChainCheck) -> Verdict | SwapStarted:
    """Evaluate the customer's transaction, which may pay, or start a swap."""
    facts, head = check.snapshot.transactions.get(lookup.transaction_hash), check.snapshot.head
    if lookup.chain_id != evaluation_input.terms.chain_id:
        return evaluate_swap_start(evaluation_input.terms, facts, head, check.finality)
    verdict = evaluate(evaluation_input.terms, lookup.chain_id, facts, head, check.finality)
    return evaluate_possible_swap_start(evaluation_input.terms, verdict, facts, head, check.finality)


def _may_become_readable(lookup: Lookup, facts: TransactionFacts | None) -> bool:
    """Whether to check a transaction of unknown form again. At first, its form may be an error of the nodes."""
    is_unknown_form = facts is not None and not facts.is_readable and not facts.is_known_form
    return is_unknown_form and lookup.payment.unanswered_looks < CHECKS_UNTIL_UNREADABLE


def _missing(
    lookup: Lookup, check: ChainCheck, is_replaced: bool, replacement: TransactionFacts | None
) -> Outcome:
    """No node knows the transaction: follow its replacement, fail the payment, or check again."""
    payment = lookup.payment
    if lookup.proposal_id:
        return Unexecuted(lookup)
    if replacement is not None and speeds_up(payment, replacement):
        return Followed(lookup, replacement)
    is_known_to_differ = replacement is not None and replacement.block is not None
    if (
        replacement is not None
        and is_known_to_differ
        and not check.finality.is_reached(replacement, check.snapshot.head)
    ):
        # A reorganisation can restore the payment's own transaction, until the replacement is deep enough.
        return waiting(lookup, NotYet(_REPLACED.message, likely=_REPLACED), None, check)
    # If the replacement is unknown, wait for some checks, so that the checkout can submit the replacement's
    # hash.
    if is_known_to_differ or (is_replaced and payment.attempts >= CHECKS_UNTIL_REPLACED):
        return refused(lookup, _REPLACED, None, check.now)
    return missing(lookup, check.now)
