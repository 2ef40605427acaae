"""Consume transfers: each counts once in the whole system, and no account is credited with more than it gained.

A unique constraint on (chain, transaction, slot) guarantees the first. The second matters on Solana, where several
transfers of one transaction can go to one account: an advisory lock serialises the credits of a transaction.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import IntegrityError, connection, transaction
from django.db.models import Sum

from chains.client import Transfer
from payments.models import ConsumedTransfer, Payment

_ROWS_AT_ONCE = 2000
# In the order of the locks' own numbers, so that transactions that credit several payments never deadlock.
_LOCK_IN_ORDER = """
    SELECT pg_advisory_xact_lock(number) FROM (
        SELECT DISTINCT hashtextextended(key, 0) AS number FROM unnest(%s::text[]) AS key ORDER BY number
    ) AS ordered
"""


@dataclass(frozen=True)
class Consumption:
    """The transfers that a payment is to be credited with, each with the amount that counts."""

    payment: Payment
    transfers: tuple[Transfer, ...]

    @property
    def received(self) -> int:
        """Their sum in base units."""
        return sum(transfer.amount for transfer in self.transfers)

    def rows(self) -> list[ConsumedTransfer]:
        """Return the rows to store."""
        return [_row(self.payment, transfer) for transfer in self.transfers]


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
        rows = [_row(payment, transfer) for transfer in free.values()]
        try:
            with transaction.atomic():
                ConsumedTransfer.objects.bulk_create(rows, batch_size=_ROWS_AT_ONCE)
        except IntegrityError:
            if not free.keys() & set(stored.values_list("slot", flat=True)):
                raise
        else:
            return sum(transfer.amount for transfer in free.values())


def _row(payment: Payment, transfer: Transfer) -> ConsumedTransfer:
    return ConsumedTransfer(
        chain=payment.counted_chain,
        transaction_hash=payment.counted_hash,
        slot=transfer.slot,
        account=transfer.account,
        payment=payment,
        amount=transfer.amount,
    )


def plan_first_credits(wanted: Sequence[tuple[Payment, Sequence[Transfer]]]) -> list[Consumption]:
    """Return what to consume for payments whose transactions no payment was credited with yet; leave out the others.

    The payments must have different transactions. Call it inside the transaction that stores the rows: it locks the
    credits of each transaction with limited gains until the commit.
    """
    limited = [payment for payment, transfers in wanted if any(t.gain is not None for t in transfers)]
    if limited:
        with connection.cursor() as cursor:
            cursor.execute(_LOCK_IN_ORDER, [[_lock_key(payment) for payment in limited]])
    hashes = {payment.counted_hash for payment, _ in wanted}
    chains = {payment.counted_chain for payment, _ in wanted}
    stored = ConsumedTransfer.objects.filter(chain__in=chains, transaction_hash__in=hashes)
    credited = set(stored.values_list("chain_id", "transaction_hash"))
    return [
        Consumption(payment, _countable(transfers))
        for payment, transfers in wanted
        if (payment.counted_chain.pk, payment.counted_hash) not in credited
    ]


def _countable(transfers: Sequence[Transfer]) -> tuple[Transfer, ...]:
    """Return each transfer once, reduced so that those to one account sum to at most the account's gain."""
    spent: Counter[str] = Counter()
    counted: dict[str, Transfer] = {}
    # The limited ones first, as `consume` does.
    for transfer in sorted(transfers, key=lambda t: t.gain is None):
        amount = transfer.amount
        if transfer.gain is not None:
            amount = min(amount, transfer.gain - spent[transfer.account])
        if amount > 0 and transfer.slot not in counted:
            spent[transfer.account] += amount
            counted[transfer.slot] = replace(transfer, amount=amount)
    return tuple(counted.values())


def store_credits(consumptions: Sequence[Consumption]) -> None:
    """Store the consumed transfers; raises IntegrityError if another payment was credited with one meanwhile."""
    # Two transactions that insert the same rows in different orders would deadlock.
    ordered = sorted(
        consumptions, key=lambda each: (each.payment.counted_chain.pk, each.payment.counted_hash)
    )
    rows = [row for each in ordered for row in each.rows()]
    ConsumedTransfer.objects.bulk_create(rows, batch_size=_ROWS_AT_ONCE)


def _lock_key(payment: Payment) -> str:
    return f"consume {payment.counted_chain.pk} {payment.counted_hash}"


def _credited(payment: Payment, transfer: Transfer) -> int:
    """Return how much of this account's gain was credited, and lock the transaction's credits until commit.

    Rows from before slots were instruction paths have the slot `mint:owner` and consumed the owner's whole gain.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [_lock_key(payment)])
    credited = ConsumedTransfer.objects.filter(
        chain=payment.counted_chain, transaction_hash=payment.counted_hash
    )
    if credited.filter(slot=f"{transfer.token}:{transfer.recipient}").exists():
        return transfer.gain or 0
    return credited.filter(account=transfer.account).aggregate(total=Sum("amount"))["total"] or 0
