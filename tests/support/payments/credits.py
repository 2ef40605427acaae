"""Payments that the engine credits without a chain. The verdict is invented, but all stored rows are real."""

import secrets
import uuid
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from chains.client import Block, TransactionFacts, Transfer
from payments.evaluation.binding import Bound
from payments.evaluation.verdicts import Finality, Paid
from payments.models import FailureCode, Payment, PaymentRequest, Refund
from payments.refunds.services import create_refund
from payments.requests.lifecycle import expire_due
from payments.requests.transitions import move_payment, note_creation
from payments.verification.outcomes import Completed, Failed
from payments.verification.storing import store
from tests.support.payments.rows import change, new_payment

SENDER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
CUSTOMER = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
PRICE = {"currency": "EUR", "amount": "10.00"}
UNIT = 1_050_000
"""A tenth of the amount of `make`, in base units."""


def processing(request: PaymentRequest, **columns: Any) -> Payment:
    """Return a new payment in the status processing."""
    payment = new_payment(
        request=request,
        chain=request.chain,
        transaction_hash=f"0x{secrets.token_hex(32)}",
        status=Payment.Status.PROCESSING,
        submitted_publicly=False,
        claim_id=uuid.uuid4(),
        **columns,
    )
    note_creation(payment, actor="test")
    return payment


def credit(request: PaymentRequest, units: int, *, at: datetime | None = None, **columns: Any) -> Payment:
    """Credit a new payment of `units` base units, mined at `at`; return it from the database."""
    return complete(processing(PaymentRequest.objects.get(pk=request.pk), **columns), units, at=at)


def complete(payment: Payment, units: int, *, at: datetime | None = None) -> Payment:
    """Credit a processing payment with `units` base units; return it from the database."""
    request = payment.request
    block = Block(100, "0x" + "cd" * 32, at or timezone.now())
    transfer = Transfer(
        "0", request.token.contract_address, SENDER, request.recipient_address, units, made_by=SENDER
    )
    facts = TransactionFacts(
        payment.transaction_hash, SENDER, 7, block, succeeded=True, transfers=(transfer,)
    )
    by = Payment.BoundBy.MANUAL if payment.accepted_by else Payment.BoundBy.REFERENCE
    verdict = Paid(Bound((transfer,), by), block, 64)
    assert payment.lookup.claim_id is not None
    outcome = Completed(payment.lookup, verdict, facts, Finality(confirmations=1))
    assert store([outcome], payment.lookup.claim_id, timezone.now()) == {payment.pk}
    return Payment.objects.select_related("request").get(pk=payment.pk)


def complete_again(payment: Payment, units: int, *, at: datetime | None = None) -> Payment:
    """Lease a pending payment and credit it."""
    payment = Payment.objects.select_related("request").get(pk=payment.pk)
    assert move_payment(payment, Payment.Status.PROCESSING, actor="test")
    change(payment, claim_id=uuid.uuid4())
    return complete(payment, units, at=at)


def fail(request: PaymentRequest, code: FailureCode = FailureCode.TRANSACTION_REVERTED) -> Payment:
    payment = processing(PaymentRequest.objects.get(pk=request.pk))
    assert payment.lookup.claim_id is not None
    outcome = Failed(payment, code, "It failed in a test.")
    assert store([outcome], payment.lookup.claim_id, timezone.now()) == {payment.pk}
    payment.refresh_from_db()
    return payment


def pay_tenths(request: PaymentRequest, tenths: int, **columns: Any) -> Payment:
    """Credit a payment of this many tenths of the default amount."""
    return credit(request, tenths * UNIT, **columns)


def expire(request: PaymentRequest, minutes: float = 10) -> datetime:
    """Set the request's expiry to this many minutes ago."""
    end = timezone.now() - timedelta(minutes=minutes)
    PaymentRequest.objects.filter(pk=request.pk).update(expires_at=end, expiry_check_at=end)
    expire_due()
    return end


def refund(request: PaymentRequest) -> Refund:
    """Create a refund of everything that can be refunded."""
    return create_refund(
        request.pk, amount=None, recipient_address=CUSTOMER, payment_id=None, reason=None, actor="test"
    ).refund
