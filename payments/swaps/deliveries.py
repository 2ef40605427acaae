"""A swap's delivery: the transaction that its provider reports, held to the rules of every payment."""

import logging
from dataclasses import replace

from chains.client import TransactionFacts
from payments.evaluation.verdicts import Departed, NotFound, NotYet, Paid, Refused, Terms, evaluate
from payments.models import FailureCode, Payment, Quote
from payments.providers.registry import provider_name
from payments.swaps import outcomes as swap_outcomes
from payments.swaps.status import Unproved
from payments.verification import outcomes, retry_policy
from payments.verification.looks import Look

logger = logging.getLogger(__name__)

_TAKEN = "What it brought to the recipient has already been credited."


def start_bridging(
    payment: Payment, verdict: Departed, facts: TransactionFacts | None, quote: Quote, look: Look
) -> None:
    """Store that the customer's transaction is mined and starts the swap of `quote`; its provider is asked at once."""
    name = provider_name(quote.provider)
    swap_outcomes.start_bridging(payment, look.claim_id, verdict, facts, quote, name, look.now)


def settle_delivery(payment: Payment, terms: Terms, look: Look) -> None:
    """Evaluate the transaction that a provider reports as the delivery of `payment`, and write what follows.

    The report only says where to look. What our nodes do not confirm uses a retry, and the provider is asked again;
    where it reports the customer's own transaction, there is nothing more to ask.
    """
    chain = payment.counted_chain
    facts = look.snapshot.transactions.get(payment.counted_hash)
    match verdict := evaluate(terms, chain.pk, facts, look.snapshot.head, look.finality):
        case Paid():
            try:
                outcomes.complete(payment, look.claim_id, verdict, facts, look.finality, look.now)
            except outcomes.DeliveryTaken:
                _reject(payment, FailureCode.TRANSACTION_ALREADY_USED, _TAKEN, look)
        case NotFound():
            _reject(payment, FailureCode.TRANSACTION_NOT_FOUND, "The network does not know it.", look)
        case Refused():
            _reject(payment, verdict.code, verdict.message, look)
        case NotYet():
            found_on = "Reported" if verdict.likely else "Delivered"
            waiting = replace(verdict, detail=f"{found_on} on {chain.name}. {verdict.detail}")
            next_look = look.now + retry_policy.about_a_block(chain.block_time_ms)
            outcomes.keep_waiting(
                payment, look.claim_id, waiting, facts, look.finality, next_look=next_look, now=look.now
            )


def _reject(payment: Payment, code: FailureCode, message: str, look: Look) -> None:
    if code in (FailureCode.TRANSACTION_ALREADY_USED, FailureCode.TRANSACTION_AMBIGUOUS):
        # Two requests claim the same money: only a person can say which of them was paid.
        logger.error(
            "payment %s: its delivery is claimed by another payment, which needs attention", payment.pk
        )
    name, chain = provider_name(payment.provider), payment.counted_chain
    why = Unproved(code, f"{name} reports {payment.counted_hash} on {chain.name} as the delivery. {message}")
    swap_outcomes.reject_delivery(payment, look.claim_id, why, look.now, is_final=payment.names_itself)
