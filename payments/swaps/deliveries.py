"""Evaluate a swap's delivery: the transaction that its provider reports, by the rules of a direct payment."""

import logging
from dataclasses import replace
from functools import partial

from chains.client import TransactionFacts
from payments.evaluation.verdicts import NotFound, NotYet, Paid, Refused, SwapStarted, Terms, evaluate
from payments.models import FailureCode, Payment, Quote
from payments.providers.registry import provider_name
from payments.swaps import outcomes as swap_outcomes
from payments.swaps.status import Unproved
from payments.verification.evidence import ChainCheck
from payments.verification.outcomes import Completed, Failed, Postponed, waiting

logger = logging.getLogger(__name__)

_ALREADY_CREDITED = "The money that reached the recipient has already been credited."
_UNKNOWN = "The network does not know this transaction."


def started(
    payment: Payment, verdict: SwapStarted, facts: TransactionFacts | None, quote: Quote, check: ChainCheck
) -> Postponed:
    """Return the outcome of a mined transaction of the customer that started the swap of `quote`."""
    return swap_outcomes.started(payment, verdict, facts, quote, provider_name(quote.provider), check.now)


def delivered(payment: Payment, terms: Terms, check: ChainCheck) -> Completed | Failed | Postponed:
    """Evaluate the transaction that a provider reports as the delivery of `payment`.

    The report only says which transaction to look up. If our nodes don't confirm it, a retry is used and the provider
    is polled again, unless it reports the customer's own transaction: then the rejection is final.
    """
    chain = payment.counted_chain
    facts = check.snapshot.transactions.get(payment.counted_hash)
    match verdict := evaluate(terms, chain.pk, facts, check.snapshot.head, check.finality):
        case Paid():
            taken = partial(
                _unproved, payment, FailureCode.TRANSACTION_ALREADY_USED, _ALREADY_CREDITED, check
            )
            return Completed(payment, verdict, facts, check.finality, if_used=taken)
        case NotFound():
            return _unproved(payment, FailureCode.TRANSACTION_NOT_FOUND, _UNKNOWN, check)
        case Refused():
            return _unproved(payment, verdict.code, verdict.message, check)
        case NotYet():
            state = "Reported" if verdict.likely else "Delivered"
            shown = replace(verdict, detail=f"{state} on {chain.name}. {verdict.detail}")
            return waiting(payment, shown, facts, check)


def _unproved(payment: Payment, code: FailureCode, message: str, check: ChainCheck) -> Failed | Postponed:
    if code in (FailureCode.TRANSACTION_ALREADY_USED, FailureCode.TRANSACTION_AMBIGUOUS):
        # Two requests claim the same money: an operator has to decide which of them was paid.
        logger.error("payment %s: another payment claims its delivery; check both by hand", payment.pk)
    name, chain = provider_name(payment.provider), payment.counted_chain
    why = Unproved(code, f"{name} reports {payment.counted_hash} on {chain.name} as the delivery. {message}")
    return swap_outcomes.unproved(payment, why, check.now, is_final=payment.names_itself)
