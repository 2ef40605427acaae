"""Credit a completed payment again after its transaction was reorganised away: with another transaction, or with the
same one that pays otherwise in its new block.
"""

import logging
from collections.abc import Sequence
from typing import Any

from django.db.models import Q, Sum

from chains.client import Snapshot, Transfer
from payments.evaluation.verdicts import Finality, Paid, evaluate
from payments.models import ConsumedTransfer, Lookup, Payment, PaymentRequest
from payments.prices.values import revalued
from payments.stats.values import note_late_values
from payments.verification.consumption import plan_credits, store_credits
from payments.verification.evidence import collect_evidence
from payments.verification.outcomes import verified_detail
from payments.verification.quote_evidence import quotes_of

logger = logging.getLogger(__name__)


def is_uncredited(lookup: Lookup) -> bool:
    """Whether the completed payment was credited with other transactions only."""
    credited = set(lookup.payment.consumed_transfers.values_list("transaction_hash", flat=True))
    return bool(credited) and lookup.credit_key not in credited


def paying_transfers(lookup: Lookup, snapshot: Snapshot, finality: Finality) -> tuple[Transfer, ...]:
    """Return the transfers by which the lookup's transaction pays the request. Evaluate it like any other."""
    chain, payment = lookup.chain, lookup.payment
    inputs = collect_evidence([lookup], chain, snapshot, quotes_of({payment.request_id}, chain))
    facts = snapshot.transactions.get(lookup.transaction_hash)
    verdict = evaluate(inputs[payment.pk].terms, chain.pk, facts, snapshot.head, finality)
    return tuple(verdict.bound.transfers) if isinstance(verdict, Paid) else ()


def replace_credit(
    request: PaymentRequest,
    lookup: Lookup,
    transfers: Sequence[Transfer],
    columns: dict[str, Any] | None = None,
) -> bool:
    """Credit these transfers in place of the removed ones. Write the `columns` to the payment. Return False and
    change nothing if they can't be credited.

    The request must be locked, and the payment must be `reorged`.
    """
    payment = Payment.objects.get(pk=lookup.payment_id)
    credit = plan_credits([(lookup, transfers)], replacing=payment.pk)[payment.pk]
    # The payment may be credited with other transactions too. They were final already, so their transfers stay.
    credited = ConsumedTransfer.objects.filter(payment=payment)
    own = Q() if is_uncredited(lookup) else Q(transaction_hash=lookup.credit_key)
    replaced, beside = credited.filter(own), credited.exclude(own) if own else credited.none()
    received = credit.received + int(beside.aggregate(total=Sum("amount"))["total"] or 0)
    paid = request.amount_paid + received - (payment.amount_received or 0)
    if not credit.received:
        return False
    if request.status == PaymentRequest.Status.COMPLETED and paid < request.amount:
        # A completed request must stay paid in full. So the payment stays `reorged`.
        logger.error("payment %s was paid again, by %s, but with less", payment.pk, lookup.transaction_hash)
        return False
    # Release the first transfers, which have paid nothing.
    replaced.delete()
    store_credits([credit])
    detail = verified_detail(payment, request, received, after_price=payment.after_price)
    changed: dict[str, Any] = {"amount_received": received, "status_detail": detail}
    if payment.quote_id is None:
        changed["amount"] = received
    if received != payment.amount_received:
        changed["value"] = revalued(payment, received)
        note_late_values([payment])
    Payment.objects.filter(pk=payment.pk).update(**changed, **(columns or {}))
    PaymentRequest.objects.filter(pk=request.pk).update(amount_paid=paid)
    return True
