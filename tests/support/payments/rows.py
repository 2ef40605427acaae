"""Store a payment's rows directly: the payment, its lookup, its swap, and the delivery's lookup."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Manager, QuerySet
from django.utils import timezone

from config.due_work.leases import Lease
from payments.models import Lookup, Payment, Swap, delivery_of, swap_of
from payments.requests.transitions import start_processing
from payments.verification.leasing import LOOKUPS, with_payments


def _columns_of(model: Any) -> set[str]:
    return {field.attname for field in model._meta.fields} - {
        "id",
        "of_payment_id",
        "of_swap_id",
        "payment_id",
    }


_OF_PAYMENT = _columns_of(Payment)
_OF_LOOKUP = _columns_of(Lookup) - _OF_PAYMENT
_OF_SWAP = _columns_of(Swap) - _OF_PAYMENT - _OF_LOOKUP
# The lookup has these columns too.
_IN_BOTH = {"chain", "chain_id", "transaction_hash", "is_simulated"}


def new_payment(**columns: Any) -> Payment:
    """Store a payment; each column goes into the row that has it. An open payment is due."""
    return new_payments([columns])[0]


def new_payments(rows: Iterable[dict[str, Any]]) -> list[Payment]:
    """Store many payments with these columns."""
    given = [dict(each) for each in rows]
    looked_up = [_taken(each, _OF_LOOKUP) for each in given]
    swaps = [_taken(each, {*_OF_SWAP, *_DELIVERY}) for each in given]
    payments = Payment.objects.bulk_create(Payment(**each) for each in given)
    now = timezone.now()
    Lookup.objects.bulk_create(
        Lookup(
            of_payment=payment,
            chain_id=payment.chain_id,
            merchant_id=payment.request.merchant_id,
            transaction_hash=payment.transaction_hash or f"address:{payment.deposit_sequence}",
            is_simulated=payment.is_simulated,
            **{"next_check_at": now if payment.is_open else None, **columns},
        )
        for payment, columns in zip(payments, looked_up, strict=True)
    )
    for payment, columns in zip(payments, swaps, strict=True):
        _change_swap([payment.pk], columns)
    return payments


def change(payments: Payment | QuerySet[Payment] | Manager[Payment], **columns: Any) -> None:
    """Change the payments' columns; each goes into the row that has it."""
    query = Payment.objects.filter(pk=payments.pk) if isinstance(payments, Payment) else payments.all()
    ids = list(query.values_list("pk", flat=True))
    looked_up = _taken(columns, _OF_LOOKUP)
    _change_swap(ids, _taken(columns, {*_OF_SWAP, *_DELIVERY}))
    looked_up |= {name: columns[name] for name in _IN_BOTH & columns.keys()}
    if looked_up:
        Lookup.objects.filter(of_payment__in=ids).update(**looked_up)
    if columns:
        Payment.objects.filter(pk__in=ids).update(**columns)


# The names that tests use for the columns of a delivery's lookup.
_DELIVERY = {
    "delivery_hash": "transaction_hash",
    "delivery_confirmations": "confirmations",
    "delivery_block_number": "block_number",
    "delivery_next_check_at": "next_check_at",
    "delivery_seen_at": "seen_at",
}


def _change_swap(ids: list[str], columns: dict[str, Any]) -> None:
    delivery = {_DELIVERY[name]: columns.pop(name) for name in _DELIVERY.keys() & columns.keys()}
    for payment in (
        Payment.objects.filter(pk__in=ids).select_related("request") if columns or delivery else ()
    ):
        swap, _ = Swap.objects.update_or_create(payment=payment, defaults=columns)
        if delivery:
            place = {"chain_id": payment.request.chain_id, "merchant_id": payment.request.merchant_id}
            Lookup.objects.update_or_create(of_swap=swap, defaults={**place, **delivery})


def _taken(columns: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: columns.pop(name) for name in set(names) & columns.keys()}


def add_lookup(payment: Payment, **columns: Any) -> Lookup:
    """Store the lookup of a payment that has none."""
    return Lookup.objects.create(
        of_payment=payment,
        chain_id=payment.chain_id,
        merchant_id=payment.request.merchant_id,
        transaction_hash=payment.transaction_hash or f"address:{payment.deposit_sequence}",
        is_simulated=payment.is_simulated,
        **columns,
    )


def bring_forward(at: datetime) -> None:
    """Make all lookups and polls of open payments due at this time."""
    Lookup.objects.filter(next_check_at__isnull=False).update(next_check_at=at)
    Swap.objects.filter(next_poll_at__isnull=False).update(next_poll_at=at)


def assert_one_thing_is_due() -> None:
    """Check that each open payment has exactly one due lookup or poll, and each decided one has none."""
    for payment in Payment.objects.select_related("lookup", "swap__delivery"):
        places = (payment.lookup, delivery_of(payment))
        times = [each.next_check_at for each in places if each is not None]
        times += [payment.swap.next_poll_at] if swap_of(payment) else []
        due = [each for each in times if each is not None]
        assert len(due) == payment.is_open, (payment.pk, payment.status, due)


def delivery_depth(payment: Payment) -> int | None:
    """Return the reported delivery's confirmations, or None if no node has seen it."""
    delivery = Lookup.objects.filter(of_swap=payment.pk, seen_at__isnull=False).first()
    return delivery.confirmations if delivery is not None else None


def delivery_hash(payment: Payment) -> str:
    """Return the hash of the delivery that the provider reports, or ""."""
    delivery = Lookup.objects.filter(of_swap=payment.pk).first()
    return delivery.transaction_hash if delivery is not None else ""


def lease_alone(payment_id: str) -> tuple[Lease, list[Lookup]]:
    """Lease one payment's lookups, as a worker that leases nothing else."""
    with transaction.atomic():
        due = Lookup.of([payment_id]).filter(next_check_at__isnull=False)
        lease = LOOKUPS.lease(timezone.now(), list(due.values_list("pk", flat=True)))
        lookups = list(Lookup.objects.filter(pk__in=lease.keys))
        start_processing(with_payments(lookups))
    return lease, lookups
