"""The outcomes of a simulated swap: a delivery, or a failure that its provider reports."""

from typing import Any

from payments.evaluation.binding import Delivery, Evidence, Taken
from payments.models import Lookup, Payment, PaymentRequest, Swap
from payments.providers.base import SwapState, SwapStatus
from payments.sandbox import facts
from payments.sandbox.attempts import Attempt, lease, write, write_lookup
from payments.sandbox.outcomes import Outcome
from payments.swaps import outcomes as swap_outcomes
from payments.swaps.status import Ended, Journey, read_status

_ENDS = {
    Outcome.SWAP_PARTIAL: SwapState.DELIVERED_OTHER_TOKEN,
    Outcome.SWAP_FAILED: SwapState.FAILED,
    Outcome.BRIDGE_REFUNDED: SwapState.REFUNDED,
}


def deliver(request: PaymentRequest, amount: int, why: str, payment: Payment | None) -> Payment:
    """Complete a swap: its delivery of `amount` base units is verified."""
    destination = facts.new_hash(request)
    attempt = _start(request, amount, why, payment)
    swap = attempt.payment.swap
    swap.provider_status, swap.reported_amount = "delivered", amount
    swap.save(update_fields=["provider_status", "reported_amount"])
    lookup = attempt.payment.lookup
    Lookup.objects.create(
        of_swap=swap,
        chain_id=lookup.chain_id,
        merchant_id=lookup.merchant_id,
        transaction_hash=destination,
        is_simulated=True,
        claim_id=attempt.claim_id,
    )
    evidence = Evidence(reference=bytes(request.reference), delivery=Delivery(amount, Taken()))
    delivered = facts.mined(request, destination, attempt.now, facts.transfer(request, amount, ()))
    return attempt.finish({destination: delivered}, evidence=evidence)


def end(request: PaymentRequest, outcome: Outcome, why: str, payment: Payment | None) -> Payment:
    """Fail a swap: its provider reports a failure or another result."""
    attempt = _start(request, request.amount_remaining or request.amount, why, payment)
    status = SwapStatus(_ENDS[outcome], raw=_ENDS[outcome].value)
    ended = read_status(status, _journey(request))
    if not isinstance(ended, Ended):
        raise TypeError(f"{outcome} does not end a swap")
    return attempt.decide(swap_outcomes.ended(attempt.payment, ended, status))


def _start(request: PaymentRequest, amount: int, why: str, payment: Payment | None) -> Attempt:
    """Lease a payment and make it a swap. The customer's own transaction is mined."""
    attempt = lease(request, why, payment)
    columns: dict[str, Any] = {
        "type": Payment.Type.SWAP,
        "token": request.token,
        "amount": amount,
        "from_address": facts.payer_of(request),
    }
    write(attempt.payment, **columns)
    write_lookup(
        attempt.payment,
        seen_at=attempt.now,
        block_number=0,
        block_hash=facts.ACTOR,
        block_time=attempt.now,
        confirmations=1,
        confirmations_required=1,
    )
    Swap.objects.update_or_create(payment=attempt.payment, defaults={"provider": facts.ACTOR})
    return attempt


def _journey(request: PaymentRequest) -> Journey:
    return Journey(
        provider="The bridge",
        from_chain=request.chain.name,
        to_chain=request.chain.name,
        chain_id=request.chain_id,
        chain_type=request.chain.chain_type,
        symbol=request.token.symbol,
        token=request.token.contract_address,
        recipient=request.recipient_address,
    )
