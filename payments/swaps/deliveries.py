"""Verify a swap's delivery: the transaction that its provider reports, by the rules of a direct payment."""

import logging
from dataclasses import replace

from chains.client import TransactionFacts
from payments.evaluation.verdicts import NotFound, NotYet, Paid, Refused, SwapStarted, Terms, evaluate
from payments.models import FailureCode, Payment, Quote
from payments.providers.registry import provider_name
from payments.swaps import outcomes as swap_outcomes
from payments.swaps.status import Unproved
from payments.verification import outcomes, retry_policy
from payments.verification.checks import ChainCheck

logger = logging.getLogger(__name__)

_ALREADY_CREDITED = "The money that reached the recipient has already been credited."


def start_bridging(
    payment: Payment, verdict: SwapStarted, facts: TransactionFacts | None, quote: Quote, check: ChainCheck
) -> None:
    """Store that the customer's transaction is mined and started the swap of `quote`; poll its provider at once."""
    name = provider_name(quote.provider)
    swap_outcomes.start_bridging(payment, check.claim_id, verdict, facts, quote, name, check.now)


def verify_delivery(payment: Payment, terms: Terms, check: ChainCheck) -> None:
    """Evaluate the transaction that a provider reports as the delivery of `payment`, and store the result.

    The report only says which transaction to look up. If our nodes don't confirm it, a retry is used and the provider
    is polled again, unless it reports the customer's own transaction: then the rejection is final.
    """
    chain = payment.counted_chain
    facts = check.snapshot.transactions.get(payment.counted_hash)
    match verdict := evaluate(terms, chain.pk, facts, check.snapshot.head, check.finality):
        case Paid():
            try:
                outcomes.complete(payment, check.claim_id, verdict, facts, check.finality, check.now)
            except outcomes.DeliveryTaken:
                _reject(payment, FailureCode.TRANSACTION_ALREADY_USED, _ALREADY_CREDITED, check)
        case NotFound():
            _reject(
                payment,
                FailureCode.TRANSACTION_NOT_FOUND,
                "The network does not know this transaction.",
                check,
            )
        case Refused():
            _reject(payment, verdict.code, verdict.message, check)
        case NotYet():
            state = "Reported" if verdict.likely else "Delivered"
            waiting = replace(verdict, detail=f"{state} on {chain.name}. {verdict.detail}")
            next_check = check.now + retry_policy.pause_for_confirmations(chain.block_time_ms)
            outcomes.keep_waiting(
                payment, check.claim_id, waiting, facts, check.finality, next_check=next_check, now=check.now
            )


def _reject(payment: Payment, code: FailureCode, message: str, check: ChainCheck) -> None:
    if code in (FailureCode.TRANSACTION_ALREADY_USED, FailureCode.TRANSACTION_AMBIGUOUS):
        # Two requests claim the same money: an operator has to decide which of them was paid.
        logger.error("payment %s: another payment claims its delivery; check both by hand", payment.pk)
    name, chain = provider_name(payment.provider), payment.counted_chain
    why = Unproved(code, f"{name} reports {payment.counted_hash} on {chain.name} as the delivery. {message}")
    swap_outcomes.reject_delivery(payment, check.claim_id, why, check.now, is_final=payment.names_itself)
