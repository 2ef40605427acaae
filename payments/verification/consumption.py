"""Consume transfers: each counts once in the whole system, and no account is credited with more than it gained.

A unique constraint on (chain, transaction, slot) ensures that each counts once. The gain matters on Solana, where
one transaction can send several transfers to one account. An advisory lock lets only one process at a time credit a
transaction.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.db import connection

from chains.client import Transfer
from payments.models import ConsumedTransfer, Lookup

_ROWS_AT_ONCE = 2000
# Take the locks in the order of their numbers. Then processes that credit several payments can't deadlock.
_LOCK_IN_ORDER = """
    SELECT pg_advisory_xact_lock(number) FROM (
        SELECT DISTINCT hashtextextended(key, 0) AS number FROM unnest(%s::text[]) AS key ORDER BY number
    ) AS ordered
"""


@dataclass(frozen=True)
class Consumption:
    """The transfers to credit to a lookup's payment, each with the amount that counts.

    `beside` has the transfers of other transactions that are credited to the same payment.
    """

    lookup: Lookup
    transfers: tuple[Transfer, ...]
    beside: tuple["Consumption", ...] = ()

    @property
    def received(self) -> int:
        """The sum of all transfers, in base units."""
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


def plan_credits(
    wanted: Sequence[tuple[Lookup, Sequence[Transfer]]], *, replacing: str | None = None
) -> dict[str, Consumption]:
    """Return the transfers to credit to each payment, by payment id. Transfers that were credited before are left
    out, except those of the payment `replacing`, whose credits the new ones replace.

    The payments must have different transactions. Call this in the database transaction that stores the rows: until
    the commit, this function locks the credits of each chain transaction.
    """
    if not wanted:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_IN_ORDER, [[_lock_key(lookup) for lookup, _ in wanted]])
    stored = ConsumedTransfer.objects.filter(
        chain__in={lookup.chain_id for lookup, _ in wanted},
        transaction_hash__in={lookup.credit_key for lookup, _ in wanted},
    )
    # Leave out reversed payments of native coin: the total that their address received doesn't include them any more.
    stored = stored.exclude(payment__reorged=True, payment__deposit_sequence__isnull=False)
    if replacing is not None:
        stored = stored.exclude(payment=replacing)
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
    """Return each unused transfer once. Reduce amounts, so that no account is credited with more than its gain.

    `earlier` has (slot, account, amount) of earlier credits. In the oldest rows, the slot is `mint:owner`, and the
    owner's whole gain was credited.
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
    """Store the transfers as consumed. Raises IntegrityError if another payment has just consumed one of them."""
    rows = [row for consumption in consumptions for row in consumption.rows()]
    ConsumedTransfer.objects.bulk_create(rows, batch_size=_ROWS_AT_ONCE)


def _lock_key(lookup: Lookup) -> str:
    return f"consume {lookup.chain_id} {lookup.credit_key}"
