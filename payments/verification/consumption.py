"""Consume transfers: each counts only once in the whole system, and no account is credited with more than it gained.

A unique constraint on (chain, transaction, slot) guarantees that each counts once. The gain matters on Solana, where
several transfers of one transaction can go to one account. An advisory lock serialises the credits of a transaction.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.db import connection

from chains.client import Transfer
from payments.models import ConsumedTransfer, Lookup

_ROWS_AT_ONCE = 2000
# Locks are taken in the order of their numbers, so that transactions that credit several payments never deadlock.
_LOCK_IN_ORDER = """
    SELECT pg_advisory_xact_lock(number) FROM (
        SELECT DISTINCT hashtextextended(key, 0) AS number FROM unnest(%s::text[]) AS key ORDER BY number
    ) AS ordered
"""


@dataclass(frozen=True)
class Consumption:
    """The transfers of one lookup's transaction to credit to its payment, each with the amount that counts.

    `beside` has the transfers of other transactions that are credited to the same payment.
    """

    lookup: Lookup
    transfers: tuple[Transfer, ...]
    beside: tuple["Consumption", ...] = ()

    @property
    def received(self) -> int:
        """The sum of all these transfers in base units."""
        return sum(transfer.amount for part in self.parts for transfer in part.transfers)

    @property
    def parts(self) -> tuple["Consumption", ...]:
        return (self, *self.beside)

    def rows(self) -> list[ConsumedTransfer]:
        return [
            ConsumedTransfer(
                chain_id=part.lookup.chain_id,
                transaction_hash=part.lookup.credit_key,
                slot=transfer.slot,
                account=transfer.account,
                payment=self.lookup.payment,
                amount=transfer.amount,
            )
            for part in self.parts
            for transfer in part.transfers
        ]


def plan_credits(wanted: Sequence[tuple[Lookup, Sequence[Transfer]]]) -> dict[str, Consumption]:
    """Return, by payment id, the transfers to credit to each payment. Those that were credited before are left out.

    The payments must have different transactions. Call this inside the database transaction that stores the
    rows, because it locks the credits of each chain transaction until the commit.
    """
    if not wanted:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_IN_ORDER, [[_lock_key(lookup) for lookup, _ in wanted]])
    stored = ConsumedTransfer.objects.filter(
        chain__in={lookup.chain_id for lookup, _ in wanted},
        transaction_hash__in={lookup.credit_key for lookup, _ in wanted},
    )
    # Leave out reversed payments of native coin: the amount that their address received no longer includes them.
    stored = stored.exclude(payment__reorged=True, payment__deposit_sequence__isnull=False)
    earlier: dict[tuple[int, str], list[tuple[str, str, int]]] = defaultdict(list)
    rows = stored.values_list("chain_id", "transaction_hash", "slot", "account", "amount")
    for chain_id, transaction_hash, slot, account, amount in rows:
        earlier[chain_id, transaction_hash].append((slot, account, amount))
    return {
        lookup.payment_id: Consumption(
            lookup, _countable(transfers, earlier[lookup.chain_id, lookup.credit_key])
        )
        for lookup, transfers in wanted
    }


def _countable(
    transfers: Sequence[Transfer], earlier: Iterable[tuple[str, str, int]]
) -> tuple[Transfer, ...]:
    """Return each unused transfer once, reduced so that no account is credited with more than its gain.

    `earlier` are the slots, accounts and amounts that were credited before. The oldest rows have the slot `mint:owner`
    and consumed the owner's whole gain.
    """
    used: set[str] = set()
    spent: Counter[str] = Counter()
    for slot, account, amount in earlier:
        used.add(slot)
        spent[account] += amount
    counted = []
    for transfer in sorted(transfers, key=lambda t: t.gain is None):
        amount = transfer.amount
        if transfer.gain is not None:
            is_spent = f"{transfer.token}:{transfer.recipient}" in used
            amount = 0 if is_spent else min(amount, transfer.gain - spent[transfer.account])
        if amount > 0 and transfer.slot not in used:
            used.add(transfer.slot)
            spent[transfer.account] += amount
            counted.append(replace(transfer, amount=amount))
    return tuple(counted)


def store_credits(consumptions: Sequence[Consumption]) -> None:
    """Store the transfers as consumed. Raises IntegrityError if another payment consumed one of them in between."""
    rows = [row for consumption in consumptions for row in consumption.rows()]
    ConsumedTransfer.objects.bulk_create(rows, batch_size=_ROWS_AT_ONCE)


def _lock_key(lookup: Lookup) -> str:
    return f"consume {lookup.chain_id} {lookup.credit_key}"
