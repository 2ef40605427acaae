"""Drop signed transfers that were not sent, after their request was cancelled or another payment came."""

from datetime import datetime

from payments.models import Authorization, FailureCode, Lookup, Payment, PaymentRequest
from payments.requests import events
from payments.requests.transitions import move_payment

DROPPED = "The merchant cancelled the request before the signed transfer was sent. Nothing was paid."


def drop_unsent(
    request: PaymentRequest, now: datetime, *, actor: str = "cancellation", message: str = DROPPED
) -> None:
    """Fail the locked request's payments whose signed transfer was not sent to any node.

    A transaction is stored before it is sent. So if no transaction is stored, none was sent.
    """
    rows = Authorization.objects.filter(request=request, signed_at__isnull=False, ended_at__isnull=True)
    unsent = rows.filter(relays__isnull=True).select_related("payment")
    for authorization in unsent.select_for_update(of=("self",), no_key=True):
        payment = authorization.payment
        if payment is None or not payment.is_open or payment.transaction_hash:
            continue
        Lookup.objects.filter(of_payment=payment).update(next_check_at=None)
        code = FailureCode.AUTHORIZATION_EXPIRED
        columns = {
            "failure_code": code,
            "failure_message": message,
            "status_detail": message,
            "is_in_flight": False,
            "is_bound_unmined": False,
            "failed_at": now,
        }
        if move_payment(payment, Payment.Status.FAILED, actor=actor, reason=code.value, **columns):
            events.record_failed(request, payment)
        Authorization.objects.filter(pk=authorization.pk).update(ended_at=now, cost=0)
