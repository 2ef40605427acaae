"""The queue of lookups, and leases on payments: two workers never verify the same payment at once.

A block that arrives during a check makes the payment due again (`payments.waking.on_new_heads`). The check may have
queried its nodes before that block, so its outcome must not postpone the payment past it. `lock_held` therefore returns
the stored times.
"""

import uuid
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from config.due_work.leases import Lease
from config.due_work.queue import Queue
from config.due_work.statements import read_statements
from payments.models import Payment
from payments.requests.transitions import start_processing

BATCH = 400
OPEN = "status IN ('pending', 'processing') AND NOT is_simulated"
WAITS_FOR_PROVIDER = "(destination_transaction_hash = '' AND is_bridging)"

# The columns and conditions are those of the index `payment_due_in_turns`.
LOOKUPS = Queue(
    model=Payment,
    due="next_check_at",
    owner="merchant_id",
    waiting=f"{OPEN} AND NOT {WAITS_FOR_PROVIDER}",
    lane="lookup_chain_id",
    statements=read_statements(Path(__file__).with_name("lookups.sql")),
)


def chains_with_open_payments() -> list[int]:
    """Return the ids of the chains on which open payments are looked up."""
    with connection.cursor() as cursor:
        cursor.execute(LOOKUPS.sql["open_lanes"])
        return [chain_id for (chain_id,) in cursor.fetchall()]


def claim_due(now: datetime, chain_id: int) -> tuple[Lease, list[Payment]]:
    """Lease due payments that are looked up on this chain, and mark them as processing."""
    return claim(LOOKUPS, now, BATCH, chain_id)


def claim(queue: Queue, now: datetime, most: int, lane: Any) -> tuple[Lease, list[Payment]]:
    """Lease due payments of the lane and mark them as processing; the longest overdue come first."""
    with transaction.atomic():
        lease = queue.claim(now, most, lane)
        leased = Payment.objects.filter(pk__in=lease.keys).order_by("next_check_at").select_related("request")
        # Prefetched, not joined: a batch has few chains.
        payments = list(leased.prefetch_related("chain", "request__chain"))
        start_processing(payments)
    return lease, payments


def lock_held(ids: Collection[str], claim_id: uuid.UUID) -> dict[str, datetime | None]:
    """Lock those of the payments that the claim still holds; return their stored next checks by id."""
    held = Payment.objects.filter(pk__in=ids, claim_id=claim_id, status=Payment.Status.PROCESSING)
    rows = held.select_for_update(no_key=True).order_by("pk")
    return dict(rows.values_list("pk", "next_check_at"))
