"""Consume transfers: each counts once in the whole system, and no account is credited with more than it gained.

A unique constraint on (chain, transaction, slot) guarantees the first. The second matters on Solana, where several
transfers of one transaction can go to one account: an advisory lock serialises the credits of a transaction.
"""

from collections.abc import Sequence
from dataclasses import replace

from django.db import IntegrityError, connection, transaction
from django.db.models import Sum

from chains.client import Transfer
from payments.models import ConsumedTransfer, Payment

_ROWS_AT_ONCE = 2000


def consume(payment: Payment, transfers: Sequence[Transfer]) -> int:
    """Consume the transfers for this payment and return the sum in base units.

    A transfer that was credited before adds nothing. Call it inside the transaction that credits the payment.
    """
    limited = [transfer for transfer in transfers if transfer.gain is not None]
    unlimited = [transfer for transfer in transfers if transfer.gain is None]
    return sum(_consume_within_gain(payment, t, t.gain or 0) for t in limited) + _insert(payment, unlimited)


def _consume_within_gain(payment: Payment, transfer: Transfer, gain: int) -> int:
    amount = min(transfer.amount, gain - _credited(payment, transfer))
    return _insert(payment, [replace(transfer, amount=amount)])


def _insert(payment: Payment, transfers: Sequence[Transfer]) -> int:
    """Store the consumed transfers in bulk and return the sum of those that were not consumed before.

    One transaction can hold tens of thousands of transfers, and its request is locked until they are stored.
    """
    chain, hash_ = payment.counted_chain, payment.counted_hash
    stored = ConsumedTransfer.objects.filter(chain=chain, transaction_hash=hash_)
    while True:
        # A conflict means that another worker committed one of them in the meantime: the next pass sees it.
        taken = set(stored.values_list("slot", flat=True))
        free = {t.slot: t for t in transfers if t.slot not in taken and t.amount > 0}
        rows = [
            ConsumedTransfer(
                chain=chain,
                transaction_hash=hash_,
                slot=slot,
                account=transfer.account,
                payment=payment,
                amount=transfer.amount,
            )
            for slot, transfer in free.items()
        ]
        try:
            with transaction.atomic():
                ConsumedTransfer.objects.bulk_create(rows, batch_size=_ROWS_AT_ONCE)
        except IntegrityError:
            if not free.keys() & set(stored.values_list("slot", flat=True)):
                raise
        else:
            return sum(transfer.amount for transfer in free.values())


def _credited(payment: Payment, transfer: Transfer) -> int:
    """Return how much of this account's gain was credited, and lock the transaction's credits until commit.

    Rows from before slots were instruction paths have the slot `mint:owner` and consumed the owner's whole gain.
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
