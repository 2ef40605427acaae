"""Payments that the engine credits without a chain: the verdict is made up, everything that it stores is real."""

import secrets
import uuid
from datetime import datetime
from typing import Any

from django.utils import timezone

from chains.client import Block, TransactionFacts, Transfer
from payments.evaluation.binding import Bound
from payments.evaluation.verdicts import Finality, Paid
from payments.models import FailureCode, Payment, PaymentRequest
from payments.requests.transitions import note_creation
from payments.verification import outcomes

SENDER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


def processing(request: PaymentRequest, **columns: Any) -> tuple[Payment, uuid.UUID]:
    """Return a payment that is being verified, and the claim that holds it."""
    claim_id = uuid.uuid4()
    payment = Payment.objects.create(
        request=request,
        chain=request.chain,
        transaction_hash=f"0x{secrets.token_hex(32)}",
        status=Payment.Status.PROCESSING,
        submitted_publicly=False,
        claim_id=claim_id,
        **columns,
    )
    note_creation(request, payment=payment, actor="test")
    return payment, claim_id


def credit(request: PaymentRequest, units: int, *, at: datetime | None = None, **columns: Any) -> Payment:
    """Credit a new payment of `units` base units that was mined at `at`; return it as stored."""
    request = PaymentRequest.objects.get(pk=request.pk)
    payment, claim_id = processing(request, **columns)
    block = Block(100, "0x" + "cd" * 32, at or timezone.now())
    transfer = Transfer(
        "0", request.token.contract_address, SENDER, request.recipient_address, units, made_by=SENDER
    )
    facts = TransactionFacts(
        payment.transaction_hash, SENDER, 7, block, succeeded=True, transfers=(transfer,)
    )
    by = Payment.BoundBy.MANUAL if columns.get("accepted_by") else Payment.BoundBy.REFERENCE
    verdict = Paid(Bound((transfer,), by), block, 64)
    assert outcomes.complete(payment, claim_id, verdict, facts, Finality(confirmations=1), timezone.now())
    return Payment.objects.select_related("request").get(pk=payment.pk)


def revert(request: PaymentRequest) -> Payment:
    """Fail a new payment whose transaction was reverted."""
    request = PaymentRequest.objects.get(pk=request.pk)
    payment, claim_id = processing(request)
    code, message = FailureCode.TRANSACTION_REVERTED, "The transaction was reverted."
    assert outcomes.fail(payment, claim_id, code, message, timezone.now())
    return payment
