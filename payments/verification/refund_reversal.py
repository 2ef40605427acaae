"""Take back a completed refund whose block vanished from the chain."""

from django.utils import timezone

from payments.models import ConsumedTransfer, FailureCode, Payment, PaymentRequest
from payments.requests import events
from payments.requests.transitions import move_payment, move_request

_MESSAGE = "The block of the transaction was reorganised away, and the network has it in no other one."
_ACTOR = "finality"


def undo_refund(carrier: PaymentRequest, payment: Payment | None) -> None:
    """Fail the locked carrier's completed payment, free its transfers, and open the carrier again.

    The refund is then `failed`. Its transaction may still be mined again: it is found by its reference, or can be
    submitted, and counts then as if for the first time. Changes nothing if the payment is no longer completed.
    """
    if payment is None or payment.status != Payment.Status.COMPLETED:
        return
    received = payment.amount_received or 0
    ConsumedTransfer.objects.filter(payment=payment).delete()
    move_payment(
        payment,
        Payment.Status.FAILED,
        actor=_ACTOR,
        reason="its block was reorganised away",
        failure_code=FailureCode.TRANSACTION_NOT_FOUND,
        failure_message=_MESSAGE,
        status_detail=_MESSAGE,
        failed_at=timezone.now(),
        completed_at=None,
        amount_received=None,
        block_number=None,
        block_hash="",
        block_time=None,
        confirmations=0,
        finality_check_at=None,
        claim_id=None,
        lease_until=None,
    )
    carrier.amount_paid -= received
    left = {"amount_paid": carrier.amount_paid}
    if carrier.status == PaymentRequest.Status.COMPLETED and carrier.amount_paid < carrier.amount:
        reason = "its block was reorganised away"
        move_request(
            carrier, PaymentRequest.Status.ACTIVE, actor=_ACTOR, reason=reason, completed_at=None, **left
        )
    else:
        PaymentRequest.objects.filter(pk=carrier.pk).update(**left)
    events.record_failed(carrier, payment)
