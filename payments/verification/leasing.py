"""The queue of lookups, and the leases on them. Two workers never verify the same payment at one time.

If a block arrives during a check, the lookup becomes due again (`payments.waking.on_new_heads`). The nodes may have
been queried before that block, so the outcome of the check must not postpone the lookup. To detect such a block,
`lock_held` returns the stored time at which each lookup is due.
"""

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from django.db import connection, transaction

from config.due_work.leases import Lease
from config.due_work.queue import Queue
from config.due_work.statements import read_statements
from payments.models import Lookup, Payment, Swap
from payments.requests.transitions import start_processing

BATCH = 400

# Columns and conditions must be those of the index `lookup_due_in_turns`.
LOOKUPS = Queue(
    model=Lookup,
    due="next_check_at",
    owner="merchant_id",
    waiting="NOT is_simulated AND next_check_at IS NOT NULL",
    lane="chain_id",
    statements=read_statements(Path(__file__).with_name("lookups.sql")),
)


def chains_with_open_payments() -> list[int]:
    """Return the ids of chains that have open payments to look up."""
    with connection.cursor() as cursor:
        cursor.execute(LOOKUPS.sql["open_lanes"])
        return [chain_id for (chain_id,) in cursor.fetchall()]


def claim_due(now: datetime, chain_id: int) -> tuple[Lease, list[Lookup]]:
    """Lease the chain's due lookups, the longest overdue first. The payments of these lookups become
    `processing`.
    """
    with transaction.atomic():
        lease = LOOKUPS.claim(now, BATCH, chain_id)
        lookups = list(Lookup.objects.filter(pk__in=lease.keys).order_by("next_check_at"))
        start_processing(with_payments(lookups))
    return lease, lookups


def with_payments(lookups: Sequence[Lookup]) -> list[Payment]:
    """Read and return the payments of these lookups, with all related rows that verification needs."""
    payments = Payment.objects.select_related("request", "lookup", "swap__delivery")
    # Prefetch instead of a join, because the payments of a batch have few chains.
    by_id = payments.prefetch_related("chain", "request__chain").in_bulk(
        [each.payment_id for each in lookups]
    )
    for lookup in lookups:
        payment = by_id[lookup.payment_id]
        if lookup.is_delivery:
            lookup.of_swap, lookup.chain = payment.swap, payment.request.chain
        else:
            lookup.of_payment, lookup.chain = payment, payment.chain
    return list(by_id.values())


def lock_held(ids: Collection[str], claim_id: uuid.UUID) -> dict[str, datetime | None]:
    """Lock payments that are being verified and whose lookup or swap this claim still holds.

    Return the stored time at which each lookup is due, by payment id. The time is None for a leased swap. Lookups and
    swaps are locked before payments, as in `claim_due`, so that this function and `claim_due` can't deadlock.
    """
    lookups = Lookup.of(ids).filter(claim_id=claim_id).select_for_update(no_key=True).order_by("pk")
    rows = lookups.values_list("of_payment_id", "of_swap_id", "next_check_at")
    held: dict[str, datetime | None] = {of_payment or of_swap: due for of_payment, of_swap, due in rows}
    others = set(ids) - held.keys()
    if others:
        swaps = Swap.objects.filter(pk__in=others, claim_id=claim_id).select_for_update(no_key=True)
        held |= dict.fromkeys(swaps.order_by("pk").values_list("pk", flat=True))
    verified = Payment.objects.filter(pk__in=held, status=Payment.Status.PROCESSING)
    payments = verified.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True)
    return {pk: held[pk] for pk in payments}
