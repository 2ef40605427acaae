"""Store new payments."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from chains.models import Chain
from config.due_work.listening import Channel, notify
from payments.models import Lookup, Payment, PaymentRequest
from payments.requests.transitions import note_creation

# The status detail while other signers still have to execute the payment's proposal.
AWAITED = "Waiting for the other signers"


def create_payment(
    request: PaymentRequest,
    chain: Chain,
    transaction_hash: str | None,
    *,
    actor: str,
    seen_at: datetime | None = None,
    next_check_at: datetime | None = None,
    proposed_by: str = "",
    looked_up: Mapping[str, Any] | None = None,
    **columns: Any,
) -> Payment:
    """Store a payment of the locked request, and the lookup of its transaction. The lookup is due now by default.

    If the transaction is a proposal, `transaction_hash` is the proposal's id, and `proposed_by` is the account that
    will execute it. `looked_up` sets further columns of the lookup, and overrides its usual values. A simulated
    payment marks its request as simulated.
    """
    now = timezone.now()
    due: dict[str, Any] = {"next_check_at": next_check_at or now, "transaction_hash": transaction_hash}
    if proposed_by:
        due |= {"proposal_id": transaction_hash, "proposal_account": proposed_by, "proposal_check_at": now}
        due["next_check_at"] = None
    payment = Payment.objects.create(
        request=request, chain=chain, transaction_hash=transaction_hash, **columns
    )
    Lookup.objects.create(
        of_payment=payment,
        chain=chain,
        merchant_id=request.merchant_id,
        is_simulated=payment.is_simulated,
        seen_at=seen_at,
        **{**due, **(looked_up or {})},
    )
    note_creation(payment, actor=actor)
    if payment.is_simulated:
        mark_simulated(request)
    else:
        notify(Channel.PAYMENTS, str(chain.pk))
    return payment


def mark_simulated(request: PaymentRequest) -> None:
    """Mark the locked request as simulated. Marking it again changes nothing."""
    PaymentRequest.objects.filter(pk=request.pk, is_simulated=False).update(is_simulated=True)
    request.is_simulated = True
