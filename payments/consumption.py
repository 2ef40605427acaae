"""Consuming transfers: each counts once in the whole system, and no account is credited with more than it gained.

A unique constraint on (chain, transaction, slot) decides the first. The second concerns Solana, where several transfers
of one transaction can go to one account: the credits of one transaction are made one after the other.
"""

from collections.abc import Iterable

from django.db import IntegrityError, connection, transaction
from django.db.models import Sum

from chains.clients.base import Transfer
from payments.models import ConsumedTransfer, Payment


def consume(payment: Payment, transfers: Iterable[Transfer]) -> int:
    """Take the transfers for this payment, inside the transaction that credits it; return how many base units it got.

    A transfer that was credited before gives nothing.
    """
    return sum(_consume(payment, transfer) for transfer in transfers)


def _consume(payment: Payment, transfer: Transfer) -> int:
    amount = transfer.amount
    if transfer.gain is not None:
        amount = min(amount, transfer.gain - _credited(payment, transfer))
    if amount <= 0:
        return 0
    try:
        with transaction.atomic():
            ConsumedTransfer.objects.create(
                chain=payment.counted_chain,
                transaction_hash=payment.counted_hash,
                slot=transfer.slot,
                account=transfer.account,
                payment=payment,
                amount=amount,
            )
    except IntegrityError:
        return 0
    return amount


def _credited(payment: Payment, transfer: Transfer) -> int:
    """Return what payments were credited with of this account's gain, holding back all others until this one commits.

    Credits from before slots were instruction paths (`mint:owner`) took an owner's whole gain of a mint.
    """
    with connection.cursor() as cursor:
        key = f"consume {payment.counted_chain.pk} {payment.counted_hash}"
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
    credited = ConsumedTransfer.objects.filter(
        chain=payment.counted_chain, transaction_hash=payment.counted_hash
    )
    if credited.filter(slot=f"{transfer.token}:{transfer.recipient}").exists():
        return transfer.gain or 0
    return credited.filter(account=transfer.account).aggregate(total=Sum("amount"))["total"] or 0
