"""Reopen failed payments."""

from typing import Any

from django.utils import timezone

from config.database.notifications import Channel, notify
from payments.models import FailureCode, Payment
from payments.requests.transitions import move_payment
from payments.verification.columns import NO_DELIVERY

# Failures after which a transaction can still appear. Any other failure would only repeat.
GIVEN_UP = frozenset(
    {
        FailureCode.TRANSACTION_NOT_FOUND,
        FailureCode.TRANSACTION_REPLACED,
        FailureCode.VERIFICATION_TIMED_OUT,
    }
)


def is_given_up(payment: Payment) -> bool:
    """Whether the payment failed because its transaction was missing, replaced or undecided."""
    return payment.status == Payment.Status.FAILED and payment.failure_code in GIVEN_UP


def reopen(payment: Payment, *, actor: str, reason: str, **fields: Any) -> None:
    """Verify the failed payment again, with its attempts reset. The caller holds the lock of the request.

    A swap starts over with the customer's transaction.
    """
    now = timezone.now()
    move_payment(
        payment,
        Payment.Status.PENDING,
        actor=actor,
        reason=reason[:500],
        attempts=0,
        unanswered_looks=0,
        unanswered_since=None,
        failure_code="",
        failure_message="",
        failed_at=None,
        finality_check_at=None,
        status_detail="Checking it again.",
        verifying_since=now,
        next_check_at=now,
        claim_id=None,
        lease_until=None,
        is_bridging=False,
        bridge_looks=0,
        **NO_DELIVERY,
        **fields,
    )
    notify(Channel.PAYMENTS, str(payment.chain_id))
