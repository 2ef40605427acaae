"""Store a payment when a deposit address has received native coin."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from chains.client import TransactionFacts
from config.due_work.leases import FREE
from config.due_work.listening import Channel, notify
from payments.coins.lookups import Reading
from payments.coins.sums import Part, accounted, parts_of
from payments.evaluation.arrivals import coins_to
from payments.models import Lookup, Payment, PaymentRequest
from payments.requests.lifecycle import lock_request
from payments.requests.new_payments import create_payment
from payments.requests.transitions import note

FOUND = "Found on the network at its deposit address."
_ACTOR = "discovery"


def differences_of(request: PaymentRequest) -> QuerySet[Payment]:
    """Return the payments of native coin that were found at the request's deposit address. Oldest first."""
    own = Payment.objects.filter(request=request, deposit_sequence__isnull=False)
    return own.select_related("lookup").order_by("deposit_sequence")


def record_reading(request_id: UUID, reading: Reading) -> bool:
    """Store a payment for the coin that the address received and that belongs to no payment yet.

    If the customer already submitted the transaction that sent the coin, store the coin in that transaction's
    payment. Return True if there was new coin.
    """
    with transaction.atomic():
        request = lock_request(request_id)
        parts = parts_of([request_id]).get(request_id, ())
        amount = reading.received - accounted(parts)
        if amount <= 0 or _expects(request, parts, amount):
            return False
        _store(request, parts, reading, amount)
    return True


def difference_with(request: PaymentRequest, facts: TransactionFacts) -> Payment | None:
    """Return the payment that was found by balance and includes this transaction's coin, or None.

    This is the first payment that was found by balance in the transaction's block or a later block.
    """
    if facts.block is None or not coins_to(request.deposit_address or "", facts):
        return None
    seen = differences_of(request).filter(lookup__block_number__gte=facts.block.number)
    return seen.exclude(status=Payment.Status.FAILED).first()


def attach(payment: Payment, facts: TransactionFacts, *, actor: str) -> None:
    """Store this transaction in a payment that was found by balance, unless the payment already has a transaction.

    The request must be locked. The transaction must have sent the whole amount. Otherwise, the sender of a small part
    in the same block could be shown as the payer of the whole amount.
    """
    sent = sum(transfer.amount for transfer in coins_to(payment.lookup.credit_key, facts))
    if sent < (payment.amount or 0):
        return
    columns = {"transaction_hash": facts.hash, "from_address": facts.sender, "network_fee": facts.network_fee}
    unknown = Payment.objects.filter(pk=payment.pk, transaction_hash__isnull=True)
    if unknown.update(**columns):
        for name, value in columns.items():
            setattr(payment, name, value)
        note(payment, f"sent by {facts.hash}", actor=actor)


def _expects(request: PaymentRequest, parts: Sequence[Part], amount: int) -> bool:
    """Return True if the coin may belong to a payment whose block a reorganisation removed. Make that payment's check
    due now.
    """
    now = timezone.now()
    unread = [part.payment_id for part in parts if part.is_unread]
    if unread:
        Lookup.objects.filter(of_payment__in=unread).update(next_check_at=now)
        notify(Channel.PAYMENTS, str(request.chain_id))
        return True
    reversed_ones = [part.payment_id for part in parts if part.reorged and (part.received or 0) <= amount]
    Lookup.objects.filter(of_payment__in=reversed_ones).update(finality_check_at=now)
    return bool(reversed_ones)


def _store(request: PaymentRequest, parts: Sequence[Part], reading: Reading, amount: int) -> None:
    block, sequence = reading.block, 1 + max((part.sequence for part in parts), default=0)
    columns: dict[str, Any] = {
        "deposit_sequence": sequence,
        "amount": amount,
        "token": request.token,
        "bound_by": Payment.BoundBy.ADDRESS,
        "is_in_flight": True,
        "status_detail": FOUND,
    }
    looked_up: dict[str, Any] = {
        "transaction_hash": f"{request.deposit_address}:{sequence}",
        "block_number": block.number,
        "block_hash": block.hash,
        "block_time": block.time,
        "received": reading.received,
    }
    submitted = _submitted(request, parts, block.number, amount)
    if submitted is None:
        first = {"first_block_number": block.number, "first_block_time": block.time}
        create_payment(
            request,
            request.chain,
            None,
            actor=_ACTOR,
            seen_at=timezone.now(),
            submitted_publicly=False,
            looked_up={**looked_up, **first},
            **columns,
        )
        return
    # Another worker may be checking this payment. That worker can't store its result after the lease is cleared.
    # Lock the lookup before the payment, as workers do.
    again = {**looked_up, "next_check_at": timezone.now(), **FREE}
    Lookup.objects.filter(of_payment=submitted).update(**again)
    # After a reorganisation, another transaction may have sent the coin. Clear `nonce` and `effect`, so that
    # verification never treats this payment's transaction as replaced.
    Payment.objects.filter(pk=submitted.pk).update(**columns, nonce=None, effect="")
    note(submitted, "seen at the deposit address", actor=_ACTOR)
    notify(Channel.PAYMENTS, str(submitted.chain_id))


def submitted_to(request_ids: Collection[UUID]) -> QuerySet[Payment]:
    """Return open payments whose mined transaction sent native coin to these requests' deposit addresses."""
    return Payment.objects.filter(
        request__in=request_ids,
        chain=F("request__chain"),
        status__in=Payment.OPEN,
        deposit_sequence__isnull=True,
        bound_by=Payment.BoundBy.ADDRESS,
        is_in_flight=True,
    )


def _submitted(request: PaymentRequest, parts: Sequence[Part], height: int, amount: int) -> Payment | None:
    """Return the earliest open payment whose transaction sent all of the new coin. The transaction must have been
    mined up to block `height`.
    """
    known = max((part.block or 0 for part in parts), default=0)
    waiting = submitted_to([request.pk]).filter(
        lookup__block_number__gt=known,
        lookup__block_number__lte=height,
        amount__gte=amount,
    )
    return waiting.order_by("lookup__block_number", "created_at").first()
