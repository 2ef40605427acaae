"""Store a payment for native coin that is new at a deposit address."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chains.client import TransactionFacts
from config.due_work.leases import FREE
from config.due_work.listening import Channel, notify
from payments.coins.lookups import Reading
from payments.coins.sums import accounted, is_unread
from payments.evaluation.arrivals import coins_to
from payments.models import Lookup, Payment, PaymentRequest
from payments.requests.lifecycle import lock_request
from payments.requests.new_payments import create_payment
from payments.requests.transitions import note

FOUND = "Found on the network at its deposit address."
_ACTOR = "discovery"


def differences_of(request: PaymentRequest) -> QuerySet[Payment]:
    """Return the request's payments of native coin at its deposit address, in their order, with their lookups."""
    own = Payment.objects.filter(request=request, deposit_sequence__isnull=False)
    return own.select_related("lookup").order_by("deposit_sequence")


def record_reading(request_id: UUID, reading: Reading) -> bool:
    """Store a payment for what the address received by this block and no payment accounts for; return whether it did.

    A payment of a submitted transaction that sent coin to the address becomes this payment.
    """
    with transaction.atomic():
        request = lock_request(request_id)
        payments = list(differences_of(request))
        amount = reading.received - accounted(payments)
        if amount <= 0 or _expects(payments, amount):
            return False
        sequence = 1 + max((each.deposit_sequence or 0 for each in payments), default=0)
        _store(request, payments, reading, amount, sequence)
    return True


def difference_with(request: PaymentRequest, facts: TransactionFacts) -> Payment | None:
    """Return the payment that has the coin which this mined transaction sent to the request's address, if there is one.

    It is the first whose block is not before the transaction's.
    """
    if facts.block is None or not coins_to(request.deposit_address or "", facts):
        return None
    seen = differences_of(request).filter(lookup__block_number__gte=facts.block.number)
    return seen.exclude(status=Payment.Status.FAILED).first()


def attach(payment: Payment, facts: TransactionFacts, *, actor: str) -> None:
    """Give the payment of the locked request this transaction if it sent all of the coin, and no other one is known.

    A stranger's transaction that sent a part must not make the stranger the payer of the whole.
    """
    sent = sum(each.amount for each in coins_to(payment.request.deposit_address or "", facts))
    if sent < (payment.amount or 0):
        return
    columns = {"transaction_hash": facts.hash, "from_address": facts.sender, "network_fee": facts.network_fee}
    unknown = Payment.objects.filter(pk=payment.pk, transaction_hash__isnull=True)
    if unknown.update(**columns):
        for name, value in columns.items():
            setattr(payment, name, value)
        note(payment, f"sent by {facts.hash}", actor=actor)


def _expects(payments: Sequence[Payment], amount: int) -> bool:
    """Whether an earlier payment is to be checked instead, because a reorganisation removed its coin."""
    now = timezone.now()
    unread = [each for each in payments if is_unread(each)]
    if unread:
        Lookup.objects.filter(of_payment__in=unread).update(next_check_at=now)
        notify(Channel.PAYMENTS, str(unread[0].chain_id))
        return True
    reversed_ones = [each for each in payments if each.reorged and (each.amount_received or 0) <= amount]
    Lookup.objects.filter(of_payment__in=reversed_ones).update(finality_check_at=now)
    return bool(reversed_ones)


def _store(
    request: PaymentRequest, payments: Sequence[Payment], reading: Reading, amount: int, sequence: int
) -> None:
    block = reading.block
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
    submitted = _submitted(request, payments, block.number, amount)
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
    # A running check of the transaction stores nothing any more. Workers lock the lookup first as well.
    again = {**looked_up, "next_check_at": timezone.now(), **FREE}
    Lookup.objects.filter(of_payment=submitted).update(**again)
    # Its coin may be in another transaction after a reorganisation, so nothing replaces it.
    Payment.objects.filter(pk=submitted.pk).update(**columns, nonce=None, effect="")
    note(submitted, "seen at the deposit address", actor=_ACTOR)
    notify(Channel.PAYMENTS, str(submitted.chain_id))


def _submitted(
    request: PaymentRequest, payments: Sequence[Payment], height: int, amount: int
) -> Payment | None:
    """Return the open payment of the first transaction up to this block that sent this amount to the address.

    Payments of transactions that sent a part of it are joined to the new payment when they are verified.
    """
    known = max((each.lookup.block_number or 0 for each in payments), default=0)
    waiting = Payment.objects.filter(
        request=request,
        chain=request.chain_id,
        status__in=Payment.OPEN,
        deposit_sequence__isnull=True,
        bound_by=Payment.BoundBy.ADDRESS,
        is_in_flight=True,
        lookup__block_number__gt=known,
        lookup__block_number__lte=height,
        amount=amount,
    )
    return waiting.order_by("lookup__block_number", "created_at").first()
