"""A swap's delivery: what its provider says that it delivered by, held to the rules of every payment."""

from payments import outcomes, patience
from payments.judging import NotFound, NotYet, Paid, Refused, Terms, judge
from payments.looks import Look
from payments.models import FailureCode, Payment
from payments.swaps import outcomes as swap_outcomes
from payments.swaps.status import Unproved, provider_name

_TAKEN = "What it brought to the recipient was credited already."


def settle_delivery(payment: Payment, terms: Terms, look: Look) -> None:
    """Judge the transaction that a provider names as the delivery of `payment`, and write what follows.

    The provider's word counts for nothing but where to look. What no node bears out uses a retry, and the provider is
    asked again; only where it names the customer's own transaction, there is nothing more to be said.
    """
    chain = payment.counted_chain
    facts = look.snapshot.transactions.get(payment.counted_hash)
    match verdict := judge(terms, chain.pk, facts, look.snapshot.head, look.finality):
        case Paid():
            try:
                outcomes.complete(payment, look.claim_id, verdict, facts, look.finality, look.now)
            except outcomes.DeliveryTaken:
                _refute(payment, FailureCode.TRANSACTION_ALREADY_USED, _TAKEN, look)
        case NotFound():
            _refute(payment, FailureCode.TRANSACTION_NOT_FOUND, "The network does not know it.", look)
        case Refused():
            _refute(payment, verdict.code, verdict.message, look)
        case NotYet():
            waiting = NotYet(
                f"Delivered on {chain.name}. {verdict.detail}",
                verdict.block,
                verdict.confirmations,
                verdict.bound,
            )
            next_look = look.now + patience.about_a_block(chain.block_time_ms)
            outcomes.keep_waiting(
                payment, look.claim_id, waiting, facts, look.finality, next_look=next_look, now=look.now
            )


def _refute(payment: Payment, code: FailureCode, message: str, look: Look) -> None:
    name, chain = provider_name(payment.provider), payment.counted_chain
    why = Unproved(code, f"{name} names {payment.counted_hash} on {chain.name} as the delivery. {message}")
    swap_outcomes.refute(payment, look.claim_id, why, look.now, is_final=payment.names_itself)
