"""Evaluate a transaction that a provider reports as a swap's delivery. The rules of a direct payment apply."""

import logging
from dataclasses import replace
from functools import partial

from chains.client import TransactionFacts
from payments.evaluation.verdicts import NotFound, NotYet, Paid, Refused, SwapStarted, Terms, evaluate
from payments.models import FailureCode, Lookup, Quote
from payments.providers.registry import provider_name
from payments.swaps import outcomes as swap_outcomes
from payments.swaps.status import Unproved
from payments.verification.evidence import ChainCheck
from payments.verification.outcomes import Completed, Failed, Postponed, waiting

logger = logging.getLogger(__name__)

_ALREADY_CREDITED = "The money that reached the recipient has already been credited."
_UNKNOWN = "The network does not know this transaction."


def started(
    lookup: Lookup, verdict: SwapStarted, facts: TransactionFacts | None, quote: Quote, check: ChainCheck
) -> Postponed:
    """The customer's transaction is mined and started the swap of `quote`."""
    return swap_outcomes.started(lookup, verdict, facts, quote, provider_name(quote.provider), check.now)


def delivered(lookup: Lookup, terms: Terms, check: ChainCheck) -> Completed | Failed | Postponed:
    """Evaluate the transaction that a provider reports as the delivery.

    The report only says which transaction to look up. If our nodes don't confirm the delivery, a retry is used and
    the provider is polled again. If the transaction is the customer's own, the payment fails at once instead.
    """
    chain = lookup.chain
    facts = check.snapshot.transactions.get(lookup.transaction_hash)
    match verdict := evaluate(terms, chain.pk, facts, check.snapshot.head, check.finality):
        case Paid():
            taken = partial(_unproved, lookup, FailureCode.TRANSACTION_ALREADY_USED, _ALREADY_CREDITED, check)
            return Completed(lookup, verdict, facts, check.finality, if_used=taken)
        case NotFound():
            removed = lookup if lookup.first_block_time is not None else None
            return _unproved(lookup, FailureCode.TRANSACTION_NOT_FOUND, _UNKNOWN, check, removed)
        case Refused():
            return _unproved(lookup, verdict.code, verdict.message, check)
        case NotYet():
            state = "Reported" if verdict.likely else "Delivered"
            shown = replace(verdict, detail=f"{state} on {chain.name}. {verdict.detail}")
            return waiting(lookup, shown, facts, check)


def _unproved(
    lookup: Lookup, code: FailureCode, message: str, check: ChainCheck, removed: Lookup | None = None
) -> Failed | Postponed:
    payment = lookup.payment
    if code in (FailureCode.TRANSACTION_ALREADY_USED, FailureCode.TRANSACTION_AMBIGUOUS):
        # Two requests claim the same money. An operator must decide which of them was paid.
        logger.error("payment %s: another payment claims its delivery; check both by hand", payment.pk)
    name, hash_ = provider_name(payment.swap.provider), lookup.transaction_hash
    why = Unproved(code, f"{name} reports {hash_} on {lookup.chain.name} as the delivery. {message}")
    return swap_outcomes.unproved(payment, why, check.now, is_final=lookup.is_customers_own, removed=removed)
